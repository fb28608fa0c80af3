"""A bench under load, killed and continued; the report depends on the answers alone."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import MODEL, PROGRAM, Run, environment, use_server
from model_server import ModelServer

from thinkgraph.models.offline import OfflineChatModel

NAMES = ("Panama", "Colombia", "Costa Rica")
QUESTIONS = [
    {
        "id": f"q{number}",
        "question": f"What is the capital of {NAMES[number % 3]}, asked for the time number {number}?",
        "answers": [["Panama City"], ["Bogota"], ["San Jose"]][number % 3],
        "type": "1hop",
        "topic": [NAMES[number % 3]],
        "gold_path": [[NAMES[number % 3], "capital"]],
    }
    for number in range(12)
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS), "utf-8")
    return str(file)


def _words(data: str, kb: str, *more: str) -> list[str]:
    return ["bench", "--data", data, "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", *more]


def _pages(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith(("report", "accuracy"))}


def test_a_killed_bench_asks_no_finished_question_again(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with ModelServer(chat_model=OfflineChatModel(), latency=0.05) as server:
        use_server(server, monkeypatch)
        words = _words(data, kb, "--concurrency", "3", "--report")
        done = cli(*words, str(whole))
        assert done.code == 0
        assert "report:" in done.err
        begun = len(server.calls)
        process = subprocess.Popen([*PROGRAM, *words, str(broken)], env=environment(), stderr=subprocess.DEVNULL)
        file = broken / "results.jsonl"
        end = time.monotonic() + 60
        while (not file.exists() or file.read_bytes().count(b"\n") < 4) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = {json.loads(line)["id"] for line in file.read_text("utf-8").split("\n")[:-1]}
        assert 4 <= len(finished) < len(QUESTIONS)
        with file.open("a", encoding="utf-8") as out:
            out.write('{"id": "q11", "method": "tog2", "half a li')
        before = len(server.calls)
        assert before > begun
        assert cli(*words, str(broken)).code == 0
        asked = "\n".join(call.text for call in server.calls[before:])
    for question in QUESTIONS:
        if question["id"] in finished:
            assert f"number {str(question['id'])[1:]}?" not in asked
    assert len(file.read_text("utf-8").splitlines()) == len(QUESTIONS)
    assert _pages(whole) == _pages(broken)
    assert {"report.md", "report.html", "accuracy-calls.svg"} <= set(_pages(whole))


def test_questions_run_side_by_side_up_to_the_limit(
    cli: Run, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for concurrency, latency in ((1, 0.05), (4, 0.4)):
        with ModelServer(chat_model=OfflineChatModel(), latency=latency) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            assert cli(*_words(data, kb, "--concurrency", str(concurrency))).code == 0
            assert server.max_in_flight <= concurrency
            assert server.max_in_flight > concurrency / 2


def test_the_rate_holds_over_all_questions(cli: Run, data: str, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(chat_model=OfflineChatModel()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        began = time.monotonic()
        assert cli(*_words(data, kb, "--concurrency", "8", "--rate", "10", "--limit", "6")).code == 0
        # A bucket of ten is full at the start; no faster than ten a second after that.
        assert time.monotonic() - began >= (len(server.calls) - 10) / 10


def test_given_entities_take_the_place_of_linking(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    # The question names one country, its given topic is another: only who is given the topic can answer.
    other = {
        "id": "1",
        "question": "What is the capital of Panama?",
        "answers": ["Bogota"],
        "topic": ["Colombia"],
        "gold_path": [["Colombia", "capital"]],
    }
    Path(data).write_text(json.dumps(other) + "\n", "utf-8")
    words = ["bench", "--data", data, "--kb", kb, "--model", "perfect", "--set", "ranker=bm25", "--json"]

    def hits(*more: str) -> Any:
        return json.loads(cli(*words, *more).out)["rows"][-1]["hits1"]

    assert hits() == 0.0
    assert hits("--gold-entities", "yes") == 1.0
    assert "with model perfect, topics given for 1\n" in cli(*words, "--gold-entities", "yes").err


def test_a_dead_server_ends_the_bench_and_keeps_what_was_answered(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert cli(*_words(data, kb, "--limit", "12", "--out", str(out))).code == 0
    lines = out.read_text("utf-8").splitlines(keepends=True)
    out.write_text("".join(lines[:5]), "utf-8")
    words = _words(data, kb, "--limit", "12", "--out", str(out), "--set", "call_retries=0")
    failed = cli(*words)
    assert failed.code == 2, "other settings are another bench"
    failed = cli(*_words(data, kb, "--limit", "12", "--out", str(out)))
    assert failed.code != 0
    assert "failed" in failed.line
    assert out.read_text("utf-8").splitlines(keepends=True) == lines[:5]
    assert Path(f"{out}.run.json").stat().st_size > 0


def test_two_processes_never_write_one_file(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with ModelServer(chat_model=OfflineChatModel(), latency=0.4) as server:
        use_server(server, monkeypatch)
        words = _words(data, kb, "--out", str(out))
        first = subprocess.Popen([*PROGRAM, *words], env=environment(), stderr=subprocess.DEVNULL)
        while not out.exists() or not out.stat().st_size:
            time.sleep(0.01)
        second = cli(*words)
        first.kill()
        first.wait()
    assert second.code == 2
    assert "is being written by another process" in second.err


def test_gold_ids_are_what_the_graph_calls_them(cli: Run, tmp_path: Path) -> None:
    rows = [
        '<http://x.org/S> <http://www.w3.org/2000/01/rdf-schema#label> "Suriname" .',
        '<http://x.org/P> <http://www.w3.org/2000/01/rdf-schema#label> "Paramaribo" .',
        "<http://x.org/S> <http://x.org/capital> <http://x.org/P> .",
    ]
    (tmp_path / "graph.nt").write_text("\n".join(rows) + "\n", "utf-8")
    kb, out = str(tmp_path / "kb"), tmp_path / "out.jsonl"
    assert cli("kb", "build", kb, "--triples", str(tmp_path / "graph.nt")).code == 0
    bindings = [{"uri": {"type": "uri", "value": "http://x.org/P"}}]
    question = {
        "id": "1",
        "question": [{"language": "en", "string": "What is the capital of Suriname?"}],
        "answers": [{"results": {"bindings": bindings}}],
    }
    (tmp_path / "qald.json").write_text(json.dumps({"questions": [question]}), "utf-8")
    data = f"qald10:{tmp_path / 'qald.json'}"
    done = cli("bench", "--data", data, "--kb", kb, "--methods", "direct", "--out", str(out))
    assert done.code == 0, done.err
    assert json.loads(out.read_text("utf-8"))["gold"] == ["Paramaribo"]


def test_a_damaged_result_is_named(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    out = tmp_path / "out.jsonl"
    words = ("bench", "--data", data, "--kb", kb, "--methods", "direct", "--limit", "2", "--out", str(out))
    assert cli(*words).code == 0
    whole = out.read_bytes()
    result = json.loads(whole.splitlines()[0])
    wrong = [5, {}, {**result, "answer": {}}, {**result, "scores": {**result["scores"], "hits1": "1"}}]
    without = ("type", "gold", "calls", "rouge_l", "evidence")
    wrong += [{key: value for key, value in result.items() if key != name} for name in without]
    for line in (b"\xff\xfe", *(json.dumps(value).encode() for value in wrong)):
        out.write_bytes(whole + line + b"\n")
        assert f"{out}, line 3: not a result of this command" in cli(*words).line
    out.write_bytes(whole)
    assert "2 answered before" in cli(*words).err


def test_a_full_disk_is_one_line_and_loses_nothing(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    words = ("bench", "--data", data, "--kb", kb, "--methods", "direct", "--out", str(out))
    sync, room = os.fsync, [3]

    def fsync(file: int) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    done = cli(*words)
    assert done.code == 2
    assert f"{out} cannot be written (No space left on device)" in done.line
    room[0] = 100
    assert " answered before" in cli(*words).err
    assert sorted(json.loads(line)["id"] for line in out.read_text("utf-8").splitlines()) == sorted(
        str(question["id"]) for question in QUESTIONS
    )


def test_a_perfect_chooser_without_gold_paths_is_refused(cli: Run, tmp_path: Path, kb: str) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_text(json.dumps({"id": "a", "question": "Who?", "answers": ["Ada"]}) + "\n", "utf-8")
    done = cli("bench", "--data", str(file), "--kb", kb, "--model", "perfect:0.1")
    assert done.code == 2
    assert "no question here has a gold path" in done.err


def test_a_perfect_chooser_knows_a_question_that_is_asked_twice(cli: Run, data: str, kb: str) -> None:
    first, other = QUESTIONS[0], QUESTIONS[1]
    bare = {key: first[key] for key in ("question", "answers")} | {"id": "bare"}
    words = ["bench", "--data", data, "--kb", kb, "--model", "perfect", "--set", "ranker=bm25", "--json"]
    for rows in ([first, bare], [bare, first], [first, first | {"id": "again"}]):
        Path(data).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        (*_, row) = json.loads(cli(*words).out)["rows"]
        assert (row["n"], row["hits1"]) == (2, 1.0)
    rows = [first, other | {"question": first["question"]}]
    Path(data).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = cli(*words)
    assert done.code == 2
    assert 'the questions "q0" and "q1" have one text and two gold paths or answers' in done.line


def test_a_gold_path_that_does_not_fit_is_told(cli: Run, data: str, kb: str) -> None:
    words = ("bench", "--data", data, "--kb", kb, "--methods", "direct")
    rows = [QUESTIONS[0], QUESTIONS[1] | {"gold_path": [["Colombia", "capitol"]]}]
    Path(data).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    said = "scores of evidence leave out 1 of 2 gold paths, which the knowledge does not have; the first is of question q1\n"
    assert said in cli(*words).err
    Path(data).write_text(json.dumps(QUESTIONS[0]) + "\n", "utf-8")
    assert "leave out" not in cli(*words).err


def test_a_type_may_be_any_text(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    kinds = (r"price in $\frac$", "\ud83d", "日本語", "t\x1b[31m\n|x")
    rows = [{**row, "type": kind} for row, kind in zip(QUESTIONS, kinds, strict=False)]
    Path(data).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    folder = tmp_path / "report"
    done = cli("bench", "--data", data, "--kb", kb, "--methods", "direct", "--report", str(folder))
    assert done.code == 0, done.err
    assert "Warning" not in done.err
    lines = done.out.splitlines()
    assert len(lines) == 1 + len(kinds) + 1
    assert [line for line in lines if line.startswith("direct  t [31m |x ")]
    assert "| t [31m \\|x | 1 |" in (folder / "report.md").read_text("utf-8")
    assert (folder / "accuracy-kind.svg").stat().st_size


@pytest.mark.parametrize("change", [{"type": "2hop"}, {"gold_passages": ["p1"]}, {"answers": ["Panamá"]}])
def test_results_are_not_those_of_questions_changed_since(
    cli: Run, tmp_path: Path, data: str, kb: str, change: dict[str, Any]
) -> None:
    words = ("bench", "--data", data, "--kb", kb, "--methods", "direct", "--out", str(tmp_path / "out.jsonl"))
    for row, code in ((QUESTIONS[0], 0), (QUESTIONS[0] | change, 2), (QUESTIONS[0], 0)):
        Path(data).write_text(json.dumps(row) + "\n", "utf-8")
        done = cli(*words)
        assert done.code == code
        assert ("differ in questions_digest" in done.err) == bool(code)


def test_results_are_not_those_of_a_model_of_which_something_else_is_known(
    cli: Run, tmp_path: Path, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "bench",
        "--data",
        data,
        "--kb",
        kb,
        "--model",
        MODEL,
        "--methods",
        "direct",
        "--out",
        str(tmp_path / "out"),
    )
    with ModelServer(chat_model=OfflineChatModel()) as server:
        use_server(server, monkeypatch)
        for known, code in (({}, 0), ({"size": "small"}, 2), ({"window": 64_000}, 0)):
            monkeypatch.setenv("THINKGRAPH_MODELS", json.dumps({MODEL: known, "openai:another": {"size": "small"}}))
            done = cli(*words)
            assert done.code == code
            assert ("differ in models" in done.err) == bool(code)
    assert len(server.calls) == len(QUESTIONS), "a window that was corrected goes on"


def test_a_report_of_somebody_elses_is_not_written_over(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    words = ("bench", "--data", data, "--kb", kb, "--methods", "direct", "--report", str(tmp_path))
    (tmp_path / "report.md").write_text("mine", "utf-8")
    done = cli(*words)
    assert done.code == 2
    assert f"{tmp_path / 'report.md'} exists already and was not begun by this command" in done.line
    assert (tmp_path / "report.md").read_text("utf-8") == "mine"
    assert not (tmp_path / "results.jsonl").exists()
    (tmp_path / "report.md").unlink()
    assert [cli(*words).code for _ in range(2)] == [0, 0], "its own is"
    assert f"{len(QUESTIONS)} questions over" in (tmp_path / "report.md").read_text("utf-8")


def test_a_report_of_one_question_says_so(cli: Run, tmp_path: Path, data: str, kb: str) -> None:
    words = ("--data", data, "--kb", kb, "--limit", "1")
    assert cli("bench", *words, "--methods", "direct", "--report", str(tmp_path)).code == 0
    assert "\n1 question over" in (tmp_path / "report.md").read_text("utf-8")
    assert "data 1 question of" in cli("ablation", "tog2-table7", *words, "--model", "perfect").out


@pytest.mark.parametrize(
    "words",
    [
        ("bench", "--data", "world", "--out"),
        ("bench", "--data", "world", "--report"),
        ("bench", "roles", "--out"),
        ("ablation", "tog2-table7", "--out"),
        ("batch", "questions.jsonl", "--out", "out.jsonl", "--queue"),
    ],
)
def test_a_place_for_answers_that_is_empty_is_refused(cli: Run, words: tuple[str, ...]) -> None:
    """An empty variable ("$OUT") stood for none: answers that were paid for were kept nowhere, or shared with nobody."""
    done = cli(*words, "")
    assert done.code == 2
    assert f"argument {words[-1]}: is empty: leave it out, or name a place" in done.line


def test_a_type_that_no_question_has_is_named(cli: Run, data: str, kb: str) -> None:
    done = cli("bench", "--data", data, "--kb", kb, "--methods", "direct", "--type", "1hop", "--type", "2-hop")
    assert done.code == 2
    assert done.line.endswith("has no question of type 2-hop; its types: 1hop")


def test_a_papers_figure_stands_beside_the_metric_it_was_made_with(cli: Run, tmp_path: Path, kb: str) -> None:
    file = tmp_path / "webqsp_test.json"
    gold = {"id": "1", "question": "What is the capital of Panama?", "answers": ["Panama City, Panama", "PTY"]}
    file.write_text(json.dumps([{**gold, "qid_topic_entity": {"Q804": "Panama"}}]), "utf-8")
    folder = tmp_path / "report"
    words = ("bench", "--data", f"webqsp:{file}", "--kb", kb, "--set", "ranker=bm25", "--report", str(folder), "--json")
    (*_, row) = json.loads(cli(*words).out)["rows"]
    assert (row["em"], row["em_contains"]) == (0.0, 1.0), "the answer stands in the gold one"
    lines = (folder / "report.md").read_text("utf-8").splitlines()
    (theirs,) = [line for line in lines if line.startswith("| tog2 | GPT-3.5-turbo | EM |")]
    assert theirs == "| tog2 | GPT-3.5-turbo | EM | 81.1 % | em_contains | 100.0 % | ToG-2, Table 1, section 4.4 |"
    (other,) = [
        line for line in lines if line.startswith("| fiske | Llama3-8B-Instruct, 300 questions | partial match |")
    ]
    assert "| partial | – |" in other, "not run"


def test_an_ablation_heeds_the_prices_that_are_configured(
    cli: Run, tmp_path: Path, data: str, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.json").write_text('{"openai:dear": [1, 2]}', "utf-8")
    monkeypatch.setenv("THINKGRAPH_PRICES", str(tmp_path / "prices.json"))
    words = ("ablation", "tog2-table3", "--data", data, "--kb", kb, "--model", "openai:dear", "--limit", "1")
    done = cli(*words, "--leave-out", "Direct", "--set", "ranker=bm25", "--set", "max_cost=5")
    assert done.code == 0, done.err


def test_an_ablation_heeds_what_is_known_of_a_model(
    cli: Run, data: str, kb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for size in ("standard", "small"):
        monkeypatch.setenv("THINKGRAPH_MODELS", json.dumps({MODEL: {"size": size}}))
        with ModelServer(chat_model=OfflineChatModel()) as server:
            use_server(server, monkeypatch)
            words = ("ablation", "tog2-table3", "--data", data, "--kb", kb, "--model", MODEL, "--limit", "1")
            assert cli(*words, "--leave-out", "Direct", "--set", "ranker=bm25", "--preset", "ours").code == 0
            asked.append([call.messages for call in server.calls])
    assert asked[0] != asked[1]
