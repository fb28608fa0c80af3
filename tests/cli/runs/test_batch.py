"""Files of questions in, files of answers out; kills, faults and half lines on the way."""

from __future__ import annotations

import asyncio
import gzip
import json
import signal
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import ANSWER, MODEL, PROGRAM, QUESTION, Run, environment, use_server
from model_server import ModelServer, ServedCall
from replies import Fault, Hang

import thinkgraph
from thinkgraph.errors import ModelError, UsageError
from thinkgraph.eval.batch import BatchItem, finished, read_items, run_batch
from thinkgraph.eval.record import RecordFile
from thinkgraph.models.offline import OfflineChatModel


def _file(folder: Path, *lines: Any) -> str:
    path = folder / "questions.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return str(path)


def _words(file: str, out: Path, kb: str, *more: str) -> list[str]:
    return ["batch", file, "--out", str(out), "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", *more]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_errors_stand_beside_the_answers(cli: Run, tmp_path: Path, kb: str, served: ModelServer) -> None:
    repeated = {"id": "a", "question": "And again?"}
    lines = [{"id": "a", "question": QUESTION}, '{"id": "half', {"id": "b", "question": " "}, '"Who?"', repeated]
    file = _file(tmp_path, *lines)
    out = tmp_path / "out.jsonl"
    done = cli(*_words(file, out, kb))
    assert done.code == 1
    assert "2 answered, 3 failed" in done.err
    found = {record["line"]: record for record in _lines(out)}
    assert found[1]["answer"]["text"] == ANSWER
    assert found[1]["answer"]["evidence"]["triples"]
    assert "line 2: not a whole JSON object" in found[2]["error"]
    assert found[3]["error"] == 'line 3: field "question" is missing or empty'
    assert found[4]["answer"]["question"] == "Who?"
    assert found[5]["error"] == 'line 5: field "id" repeats "a"'
    before = out.read_bytes(), len(served.calls)
    twice = cli(*_words(file, out, kb))
    assert "0 answered, 0 failed, 2 answered before, 3 failed before" in twice.err
    assert twice.code == 1
    assert (out.read_bytes(), len(served.calls)) == before


def test_an_id_that_is_a_number_is_kept(tmp_path: Path) -> None:
    """Tables with a gap in a column make 7.0 of 7: such an id was replaced by the number of its line, without a word."""
    file = _file(tmp_path, *({"id": name, "question": QUESTION} for name in (7.0, 8, None, True)))
    assert [item.id for item in read_items(Path(file))] == ["7.0", "8", "line-3", "line-4"]


def test_an_id_that_is_another_lines_name_takes_no_question_away(tmp_path: Path) -> None:
    """The question without an id was said to repeat one, and so was the one whose id a broken line before it went by: neither was asked."""
    lines = [{"id": "line-2", "question": QUESTION}, {"question": "Who?"}, "{", {"id": "line-3", "question": "Why?"}]
    items = list(read_items(Path(_file(tmp_path, *lines))))
    assert [(item.id, item.question) for item in items] == [
        ("line-2", QUESTION),
        ("line-2", "Who?"),
        ("line-3", ""),
        ("line-3", "Why?"),
    ]
    assert [bool(item.fault) for item in items] == [False, False, True, False]


def test_an_edited_question_is_asked_and_new_lines_too(cli: Run, tmp_path: Path, kb: str, served: ModelServer) -> None:
    out = tmp_path / "out.jsonl"
    first = {"id": "a", "question": QUESTION}
    assert cli(*_words(_file(tmp_path, first), out, kb)).code == 0
    words = _words(_file(tmp_path, {**first, "question": "Who?"}, {"id": "b", "question": QUESTION}), out, kb)
    # The answer to what the line said before does not count.
    assert "2 answered, 0 failed in" in cli(*words).err
    assert [(line["id"], line["question"]) for line in _lines(out)] == [("a", "Who?"), ("b", QUESTION)]
    asked = len(served.calls)
    assert "0 answered, 0 failed, 2 answered before in" in cli(*words).err
    assert len(served.calls) == asked
    # What was paid for stays until its line is answered again.
    assert cli(*_words(_file(tmp_path, {**first, "question": ""}), out, kb)).code == 1
    assert [line["question"] for line in _lines(out) if "answer" in line] == ["Who?", QUESTION]


def test_a_repeated_id_that_is_taken_out_has_its_question_asked(
    cli: Run, tmp_path: Path, kb: str, served: ModelServer
) -> None:
    out = tmp_path / "out.jsonl"
    first = {"id": "a", "question": QUESTION}
    assert cli(*_words(_file(tmp_path, first, {"id": "a", "question": "Who?"}), out, kb)).code == 1
    again = cli(*_words(_file(tmp_path, first, {"question": "Who?"}), out, kb))
    assert (again.code, _lines(out)[-1]["question"]) == (0, "Who?")
    assert "1 answered, 0 failed, 1 answered before in" in again.err


def test_progress_does_not_count_what_a_line_said_before_its_edit(tmp_path: Path) -> None:
    async def ask(question: str, _thread: str) -> Any:
        return {"text": question}

    with RecordFile(tmp_path / "out.jsonl", {}) as file:
        first, old, new = (BatchItem(*words) for words in (("a", "Who?", 1), ("b", "Wher?", 2), ("b", "Where?", 2)))
        told: list[int] = []
        for items in ([first, old], [first, new]):
            told.clear()
            work = run_batch(
                items, ask, file.keep, done=finished(file), progress=lambda _what, count, _all: told.append(count)
            )
            asyncio.run(work)
    assert told == [2]


@pytest.mark.parametrize(
    "line", [b"garbage", b"[1]", b'{"id": "a"}', b'{"id": 1, "question": "x", "answer": 1}', b"\xff"]
)
def test_a_damaged_line_of_answers_is_named(
    cli: Run, tmp_path: Path, kb: str, served: ModelServer, line: bytes
) -> None:
    out = tmp_path / "out.jsonl"
    words = _words(_file(tmp_path, {"id": "a", "question": QUESTION}), out, kb)
    assert cli(*words).code == 0
    whole = out.read_bytes()
    out.write_bytes(whole + line + b"\n")
    assert f"{out}, line 2: not a result of this command" in cli(*words).line
    assert out.read_bytes() == whole + line + b"\n", "nothing is thrown away"
    out.write_bytes(whole)
    Path(f"{out}.run.json").write_text("[]", "utf-8")
    assert "was not begun by this command" in cli(*words).line
    assert served.calls


@pytest.mark.usefixtures("uncollected")
def test_marks_and_depths_in_the_input_cost_one_line_each(
    cli: Run, tmp_path: Path, kb: str, served: ModelServer
) -> None:
    path, out = tmp_path / "questions.jsonl", tmp_path / "out.jsonl"
    lines = [b"\xef\xbb\xbf" + json.dumps({"id": "a", "question": QUESTION}).encode(), b"[" * 100_000, b'"Per\xfa?"']
    path.write_bytes(b"\r\n".join(lines) + b"\r\n")
    assert "1 answered, 2 failed" in cli(*_words(str(path), out, kb)).err
    found = {record["line"]: record for record in _lines(out)}
    assert found[1]["answer"]["text"] == ANSWER
    assert "nested too deep" in found[2]["error"]
    assert found[3]["error"] == "line 3: not UTF-8 text"
    assert served.calls


def test_questions_of_two_bytes_a_letter_are_told_as_such(cli: Run, tmp_path: Path, kb: str) -> None:
    path, out = tmp_path / "questions.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(json.dumps({"question": QUESTION}).encode("utf-16-le"))
    assert "it holds NUL characters, as UTF-16 does: convert it" in cli(*_words(str(path), out, kb)).line


def test_a_killed_batch_goes_on(cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, *({"id": str(n), "question": f"{QUESTION} Number {n}."} for n in range(12)))
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel(), latency=0.1) as server:
        use_server(server, monkeypatch)
        words = _words(file, out, kb, "--concurrency", "2")
        process = subprocess.Popen([*PROGRAM, *words], env=environment(), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while (not out.exists() or out.read_bytes().count(b"\n") < 3) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = {record["id"] for record in _lines(out)}
        asked = len(server.calls)
        server.latency = 0.0
        assert cli(*words).code == 0
        later = "\n".join(call.text for call in server.calls[asked:])
    assert 3 <= len(finished) < 12
    assert all(f"Number {name}." not in later for name in finished)
    assert sorted(int(record["id"]) for record in _lines(out)) == list(range(12))


@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=["here", "workers"])
def test_a_kill_pays_for_no_reply_twice(
    cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    file = _file(tmp_path, {"id": "a", "question": QUESTION}, {"id": "b", "question": QUESTION})
    out = tmp_path / "out.jsonl"
    replies = tmp_path / "out.jsonl.replies.sqlite"
    model = OfflineChatModel()
    hanging = True

    def answer(call: ServedCall) -> Any:
        # The first reply of each question arrives, the second never does.
        if hanging and call.text != server.calls[0].text:
            return Hang()
        return str(model.invoke([("system", call.messages[0]["content"]), ("user", call.messages[-1]["content"])]).text)

    with ModelServer(answer) as server:
        use_server(server, monkeypatch)
        words = _words(file, out, kb, *more)
        process = subprocess.Popen([*PROGRAM, *words], env=environment(), stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while len(server.calls) < 4 and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        hanging = False
        before = len(server.calls)
        assert (before, out.read_bytes()) == (4, b"")
        done = cli(*words)
        paid = server.calls[0].text
        assert [call.text for call in server.calls[:before]].count(paid) == 2
        assert not [call for call in server.calls[before:] if call.text == paid]
    assert done.code == 0
    assert "2 answered" in done.err
    assert {record["answer"]["text"] for record in _lines(out)} == {ANSWER}
    assert {record["answer"]["usage"]["total"]["calls"] for record in _lines(out)} == {2}
    assert not replies.exists(), "what nobody needs any more is gone"


def test_an_error_that_may_pass_is_asked_again(
    cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _file(tmp_path, {"id": "a", "question": QUESTION}, {"id": "b", "question": f"{QUESTION} Broken?"})
    out = tmp_path / "out.jsonl"
    model = OfflineChatModel()

    def answer(call: ServedCall) -> Any:
        if "Broken" in call.text:
            return Fault(400, "not today")
        return str(model.invoke([("system", call.messages[0]["content"]), ("user", call.messages[-1]["content"])]).text)

    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        done = cli(*_words(file, out, kb))
        assert done.code == 1
        assert "1 answered, 1 failed" in done.err
    with ModelServer(chat_model=model) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        again = cli(*_words(file, out, kb))
        assert again.code == 0
        assert "1 answered, 0 failed, 1 answered before" in again.err
    assert sorted(record["id"] for record in _lines(out) if "answer" in record) == ["a", "b"]
    assert len(_lines(out)) == 2, "the error is gone"


def test_a_dead_server_ends_the_batch_early(cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, *({"id": str(n), "question": QUESTION} for n in range(200)))
    out = tmp_path / "out.jsonl"
    with ModelServer([]) as server:
        base = server.base_url
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    for _ in range(2):
        done = cli(*_words(file, out, kb, "--set", "call_retries=0", "--concurrency", "4"))
        assert done.code != 0
        assert "20 questions in a row failed" in done.line
        assert 20 <= len(_lines(out)) < 30


def test_a_missing_key_costs_no_question(cli: Run, tmp_path: Path, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    out = tmp_path / "out.jsonl"
    file = _file(tmp_path, {"id": "a", "question": QUESTION})
    for more in ([], ["--workers", "2"]):
        assert "needs OPENAI_API_KEY" in cli(*_words(file, out, kb, *more)).line
        assert out.read_bytes() == b""
    assert "1 answered" in cli("batch", file, "--out", str(out), "--kb", kb, "--model", "offline").err


def test_a_file_that_holds_only_errors_is_taken_over(cli: Run, tmp_path: Path, kb: str) -> None:
    out = tmp_path / "out.jsonl"
    words = ["batch", _file(tmp_path, {"id": "a", "question": QUESTION}), "--out", str(out)]
    with ModelServer([]) as server:
        url = server.base_url
    for said in ("0 answered, 1 failed in", "0 answered, 1 failed in"):
        done = cli(*words, "--url", url)
        assert said in done.err
        assert f"{out}; the first error: the server {url} failed" in done.err
        assert len(_lines(out)) == 1
    words += ["--kb", kb]
    assert "1 answered, 0 failed in" in cli(*words, "--method", "direct").err
    assert ["answer" in line for line in _lines(out)] == [True]
    # An answer is not lost to other work, such as the same without its passages.
    for more in (["--method", "tog2"], ["--method", "direct", "--text", kb]):
        assert "holds other results" in cli(*words, *more).line


def test_lines_of_results_are_dropped_whole_and_under_the_lock(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "link").symlink_to(out)
    with RecordFile(tmp_path / "link", {}) as file:
        for name in "abc":
            file.keep({"id": name})
        out.chmod(0o640)
        file.drop({2})
        with pytest.raises(UsageError, match="is being written by another process"), RecordFile(out, {}):
            pass
        file.keep({"id": "d"})
        whole = out.read_bytes()
        (tmp_path / "out.jsonl.part").mkdir()
        with pytest.raises(UsageError, match="cannot be written anew"):
            file.drop({1})
        assert out.read_bytes() == whole
    assert [line["id"] for line in _lines(out)] == ["a", "c", "d"]
    assert (out.stat().st_mode & 0o777, (tmp_path / "link").is_symlink()) == (0o640, True)


def test_a_packed_file_is_unpacked(cli: Run, tmp_path: Path, kb: str, served: ModelServer) -> None:
    path, out = tmp_path / "questions.jsonl.gz", tmp_path / "out.jsonl"
    packed = gzip.compress(json.dumps({"id": "a", "question": QUESTION}).encode())
    path.write_bytes(packed)
    assert "1 answered, 0 failed" in cli(*_words(str(path), out, kb)).err
    assert served.calls
    path.write_bytes(packed[:-9])
    assert "a damaged gzip file" in cli(*_words(str(path), out, kb)).line


@pytest.mark.parametrize(
    "text", ["id,question\n1,Who?\n", "Who?\n", '[\n{"question": "Who?"}]\n', '[{"question": "Who?"}]']
)
def test_a_file_of_another_form_is_refused(cli: Run, tmp_path: Path, kb: str, text: str) -> None:
    out = tmp_path / "out.jsonl"
    done = cli(*_words(_file(tmp_path, text), out, kb))
    assert (done.code, out.exists()) == (2, False)
    assert 'the file must be JSON Lines, one {"question": "…"} a line' in done.line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("/nowhere.jsonl", "--out", "x.jsonl"), "there is no file /nowhere.jsonl"),
        ((".", "--out", "x.jsonl"), ". is a folder: keep the questions in a file"),
        (("/dev/null", "--out", "x.jsonl"), "/dev/null is a pipe: keep the questions in a file"),
        (("empty.jsonl", "--out", "x.jsonl"), "empty.jsonl: holds no questions"),
        (("{file}", "--out", "{file}"), "--out must be another file"),
        (("{file}", "--out", "/nowhere/x"), "there is no folder /nowhere"),
        (("{file}", "--out", "."), ". cannot be written (Is a directory)"),
        (("{file}", "--out", "x.jsonl", "--concurrency", "0"), "--concurrency must be"),
        (("{file}", "--out", "x.jsonl", "--rate", "1", "--url", "http://x"), "--rate is for questions answered here"),
        (
            ("{file}", "--out", "x.jsonl", "--url", "http://x", "--model", "m", "--kb", "k", "--trust-embedder"),
            "a server has its own knowledge, models and prompts: leave --kb, --trust-embedder, --model or --url out",
        ),
        (
            ("{file}", "--out", "x.jsonl", "--prompts", "p", "--text", "t", "--url", "http://x"),
            "leave --text, --prompts",
        ),
        (("{file}", "--out", "x.jsonl", "--assistant", "a"), "--assistant is a server's: name that with --url"),
        (("{file}", "--out", "x.jsonl", "--set", "nope=1"), "no setting 'nope'"),
        (("{file}", "--out", "x.jsonl", "--method", "nope"), "no method 'nope'"),
    ],
)
def test_batch_refuses(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = _file(tmp_path, {"question": QUESTION})
    Path("empty.jsonl").write_text("\n", "utf-8")
    done = cli("batch", *(word.format(file=file) for word in words))
    assert done.code == 2
    assert said in done.line
    assert not (tmp_path / "x.jsonl").exists()


def test_answers_of_a_model_of_which_something_else_is_known_are_others(
    cli: Run, tmp_path: Path, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = _words(_file(tmp_path, {"question": QUESTION}), tmp_path / "out.jsonl", kb)
    for known, code in (({}, 0), ({"size": "small"}, 2), ({"window": 64_000}, 0)):
        monkeypatch.setenv("THINKGRAPH_MODELS", json.dumps({MODEL: known, "openai:another": {"size": "small"}}))
        done = cli(*words)
        assert done.code == code
        assert ("differ in models" in done.err) == bool(code)


def test_compare_shows_all_methods(cli: Run, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")  # narrower terminals cut the evidence
    done = cli(
        "compare", QUESTION, "--kb", kb, "--model", MODEL, "--methods", "tog2,tog,direct", "--set", "ranker=bm25"
    )
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line[:1].isalpha()}
    assert set(rows) == {"method", "tog2", "tog", "direct"}
    assert ANSWER in rows["tog2"]
    assert ANSWER in rows["tog"]
    assert "unknown" in rows["direct"]
    assert "(Panama) -[capital]-> (Panama City)" in done.out
    told = json.loads(
        cli(
            "compare",
            QUESTION,
            "--kb",
            kb,
            "--model",
            MODEL,
            "--methods",
            "tog2,direct",
            "--json",
            "--set",
            "ranker=bm25",
        ).out
    )
    assert told["tog2"]["answers"] == [ANSWER]


def test_compare_with_a_dead_server(cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([]) as server:
        base = server.base_url
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    done = cli("compare", QUESTION, "--kb", kb, "--model", MODEL, "--methods", "tog2,direct", "--set", "call_retries=0")
    assert done.code == 1
    assert done.out.count("error") == 2
    assert "Traceback" not in done.err


def test_a_server_that_reconnects_is_no_noise(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(question: str, _thread: str) -> Any:
        warnings.warn("Request failed, attempting reconnect to Location: /x", UserWarning, stacklevel=1)
        raise ModelError(f"gone before {question}")

    monkeypatch.setattr("thinkgraph.eval.batch.server_asker", lambda *_: ask)
    out = tmp_path / "out.jsonl"
    words = ["batch", _file(tmp_path, {"id": "a", "question": QUESTION}), "--out", str(out)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = cli(*words, "--url", "http://127.0.0.1:1")
    assert (done.code, _lines(out)[0]["error"]) == (1, f"gone before {QUESTION}")
    wrong = cli(*words, "--url", "127.0.0.1:1")
    assert "--url must begin with http" in wrong.line


def test_a_file_that_was_begun_and_is_empty_is_begun_anew(
    cli: Run, tmp_path: Path, kb: str, served: ModelServer
) -> None:
    out = tmp_path / "out.jsonl"
    out.touch()
    Path(f"{out}.run.json").write_text('{"format": 1, "method": "another"}', "utf-8")
    words = _words(_file(tmp_path, {"id": "a", "question": QUESTION}), out, kb)
    assert "1 answered" in cli(*words).err
    assert "1 answered before" in cli(*words).err
    assert served.calls
    assert "/dev/null is no file" in cli(*_words(words[1], Path("/dev/null"), kb)).line
    assert not Path("/dev/null.run.json").exists()


def test_who_comes_second_leaves_the_plan_alone(cli: Run, tmp_path: Path, kb: str) -> None:
    out, plan = tmp_path / "out.jsonl", {"method": "first"}
    with RecordFile(out, plan) as first:
        words = _words(_file(tmp_path, {"id": "a", "question": QUESTION}), out, kb)
        assert "is being written by another process" in cli(*words).line
        first.keep({"id": "a"})
    with RecordFile(out, plan) as again:
        assert list(again.records()) == [{"id": "a"}]


def test_answers_by_other_prompts_are_other_results(cli: Run, tmp_path: Path, kb: str, served: ModelServer) -> None:
    known = Path(thinkgraph.__file__).parent / "prompts" / "tog2" / "steer.prompt"
    own = tmp_path / "prompts" / "tog2" / "steer.prompt"
    own.parent.mkdir(parents=True)
    changed = known.read_text("utf-8").replace("as short as possible", "in full")
    own.write_text(changed, "utf-8")
    out = tmp_path / "out.jsonl"
    words = _words(_file(tmp_path, {"id": "a", "question": QUESTION}), out, kb)
    assert cli(*words, "--prompts", str(own.parents[1])).code == 0
    asked = len(served.calls)
    assert "1 answered before" in cli(*words, "--prompts", str(own.parents[1])).err
    own.write_text(changed.replace("in full", "whole"), "utf-8")
    for other in (("--prompts", str(own.parents[1])), ()):
        assert "holds other results (they differ in prompts)" in cli(*words, *other).line
    assert len(served.calls) == asked
