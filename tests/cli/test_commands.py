"""doctor, bench and kb, and what all commands share."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import MODEL, PROGRAM, ROOT, Run, environment, use_server
from graphs.cases import ROWS
from model_server import ModelServer
from replies import Fault, Hang

from thinkgraph.cli.main import COMMANDS

GOLD = {"id": "1", "question": "What is the capital of Panama?", "answers": ["Panama City"], "type": "1hop"}


def test_help_and_version_import_nothing_heavy(process: Run) -> None:
    script = (
        "import sys; from thinkgraph.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(sorted({'langgraph', 'langchain_core', 'pydantic', 'numpy', 'torch'} & set(sys.modules)), file=sys.stderr)"
    )
    for words in (["--version"], ["--help"], *([command, "--help"] for command in COMMANDS)):
        done = process(*words, program=[sys.executable, "-P", "-c", script])
        assert done.err.splitlines()[-1] == "[]", words
        assert done.out


@pytest.mark.parametrize("command", ["ask", "bench", "ablation"])
def test_help_says_where_a_model_comes_from(cli: Run, command: str) -> None:
    said = " ".join(cli(command, "--help").out.split())
    assert "default THINKGRAPH_MODEL, thinkgraph.toml, else the offline model" in said
    assert "default THINKGRAPH_KB, thinkgraph.toml, else world" in said


def test_help_of_resume_promises_no_other_model(cli: Run) -> None:
    said = " ".join(cli("resume", "--help").out.split())
    assert "default the one that the run was started with" in said
    assert "THINKGRAPH_MODEL" not in said


@pytest.mark.parametrize("words", [[], ["nope"], ["ask"], ["ask", "x", "--nope"], ["ask", "x", "y\x1b[31m"], ["kb"]])
def test_wrong_usage_is_one_line(cli: Run, words: list[str]) -> None:
    done = cli(*words)
    assert done.code == 2
    assert done.line.endswith("--help)")
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    "words", [["ask", "x", "--kb"], ["ask", "x", "--plot"], ["bench", "--data"], ["batch", "--out", "x"]]
)
def test_a_home_of_nobody_is_no_internal_error(cli: Run, words: list[str]) -> None:
    """`~name` stands for a user's home; where there is no such user, the command ended in an internal error."""
    done = cli(*words, "~nobody-here/x.svg")
    assert done.code == 2
    assert "a path begins with ~" in done.line


def test_doctor(cli: Run, kb: str, served: ModelServer) -> None:
    done = cli("doctor", "--kb", kb, "--model", MODEL)
    assert done.code == 0, done.out
    assert "FAIL" not in done.out
    assert "ok   tog2.reason (judge)" in done.out
    assert "tokens a second" in done.out
    assert "ok   schema" in done.out
    assert "not known; a server that refuses a prompt that is too long tells it then" in done.out
    assert f"thinkgraph bench roles --model {MODEL}" in done.out
    assert done.out.endswith("all is well\n")


def test_doctor_finds_every_fault(cli: Run, kb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("doctor", "--kb", "/nowhere", "--model", MODEL)
    assert done.code == 1
    assert "ok   python" in done.out
    assert done.out.count("FAIL") == 3
    assert done.out.endswith("3 of the checks failed\n")
    with ModelServer([Fault(401, "no such key")]) as server:
        use_server(server, monkeypatch)
        done = cli("doctor", "--kb", kb, "--model", MODEL)
        assert done.code == 1
        assert len(server.calls) == 1
    assert "401 - no such key" in done.out
    done = cli("doctor", "--kb", kb, "--model", "nope")
    assert done.code == 1
    assert "must be named provider:name" in done.out
    for flag, said in (
        ("--prices", "cannot read the price table /nowhere"),
        ("--prompts", "prompt folder /nowhere is"),
    ):
        done = cli("doctor", "--no-calls", "--kb", kb, flag, "/nowhere")
        assert done.code == 1
        assert said in done.out
    with ModelServer(["no JSON"]) as server:
        use_server(server, monkeypatch)
        assert cli("doctor", "--kb", kb, "--model", MODEL).out.count("the reply cannot be read") > 3


def test_bench_over_the_bundled_world(cli: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    words = ["bench", "--data", "world", "--limit", "6", "--model", "perfect", "--set", "ranker=bm25"]
    done = cli(*words, "--json", "--out", str(out))
    assert done.code == 0, done.err
    assert done.out.count("\n") == 1
    rows = json.loads(done.out)["rows"]
    assert rows[-1]["type"] == "all"
    assert rows[-1]["n"] == 6
    assert rows[-1]["wrong"] == 0
    assert len(out.read_text("utf-8").splitlines()) == 6
    kept = out.read_bytes()
    again = cli(*words, "--json", "--out", str(out))
    assert (again.code, again.out) == (0, done.out), "the same bench goes on, and there is nothing left to ask"
    assert out.read_bytes() == kept
    other = cli(*words, "--set", "width=5", "--out", str(out))
    assert other.code == 2
    assert "holds other results (they differ in methods)" in other.line
    (tmp_path / "notes.jsonl").write_text("mine\n", "utf-8")
    foreign = cli(*words, "--out", str(tmp_path / "notes.jsonl"))
    assert foreign.code == 2
    assert "exists already and was not begun by this command" in foreign.line
    assert (tmp_path / "notes.jsonl").read_text("utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['{"id": "1", "question": "x"}'], ', line 1: field "answers" is missing'),
        (
            [json.dumps(GOLD), '{"id": "2", "question": "x", "answers": "y"}'],
            ', line 2: field "answers" must be a list',
        ),
        ([json.dumps(GOLD), json.dumps(GOLD)], 'line 2: the id "1" stands there twice, first at line 1'),
        ([json.dumps(GOLD)[:-20]], "line 1: not a whole JSON object"),
        (["[]"], "line 1: not a JSON object"),
        ([""], "holds no questions"),
        ([json.dumps({**GOLD, "gold_path": [["x"]]})], 'field "gold_path", hop 1'),
    ],
)
def test_bench_with_a_wrong_or_half_file(cli: Run, tmp_path: Path, kb: str, lines: list[str], words: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    out = tmp_path / "out.jsonl"
    done = cli("bench", "--data", str(file), "--kb", kb, "--model", MODEL, "--out", str(out))
    assert done.code == 2
    assert str(file) in done.line
    assert words in done.line
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--data", "/nowhere"), 2, "/nowhere: cannot be read (No such file or directory)"),
        (("--limit", "0"), 2, "--limit must be at least 1"),
        (("--limit", "x"), 2, "invalid int value"),
        (("--set", "foo=1"), 2, "none of the methods tog2 has a setting 'foo'"),
        (("--set", "other.width=1"), 2, "has a setting 'other.width'"),
        (("--set", "tog2.width=0"), 2, "setting 'width'"),
        (("--methods", "nope"), 2, "there is no method 'nope'"),
        (("--methods", ","), 2, "argument --methods: ',' names no method"),
        (("--type", "9hop"), 2, "has no question of type 9hop"),
        (("--model", "perfect:2"), 2, "a number from 0 to 1"),
        (("--model", "nope"), 2, "must be named provider:name"),
        (("--kb", "/nowhere"), 3, "there is no knowledge base /nowhere"),
        (("--out", "/nowhere/x"), 2, "there is no folder /nowhere"),
        (("--concurrency", "0"), 2, "--concurrency must be from 1"),
        (("--rate", "0"), 2, "--rate must be a number"),
        (("--gold-entities", "yes"), 2, "no question of this file names its topic entities"),
        (("--report", "/dev/null"), 2, "leave --out out"),
        (("--data", "webqsp"), 2, "needs its file (webqsp:FILE)"),
    ],
)
def test_bench_refuses(cli: Run, tmp_path: Path, kb: str, words: tuple[str, ...], code: int, said: str) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(GOLD) + "\n", "utf-8")
    out = tmp_path / "out.jsonl"
    done = cli("bench", "--data", str(tmp_path / "data.jsonl"), "--kb", kb, "--out", str(out), *words)
    assert done.code == code
    assert said in done.line
    assert not out.exists(), "an empty file left behind would be refused the next time"


def test_bench_leaves_at_once_on_ctrl_c(tmp_path: Path, kb: str) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(GOLD) + "\n", "utf-8")
    words = ["bench", "--data", str(tmp_path / "data.jsonl"), "--kb", kb, "--model", MODEL, "--set", "ranker=bm25"]
    with ModelServer([Hang()]) as server:
        env = environment({"OPENAI_BASE_URL": server.base_url})
        with subprocess.Popen([*PROGRAM, *words], env=env, stderr=subprocess.PIPE) as run:
            end = time.monotonic() + 30
            while not server.calls:
                assert time.monotonic() < end
                time.sleep(0.02)
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert err.decode().splitlines()[-1] == "thinkgraph: error: interrupted"


def test_kb_build_and_info(cli: Run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_text("".join("\t".join(row) + "\n" for row in ROWS) + "half\n", "utf-8")
    done = cli("kb", "build", str(tmp_path / "kb"), "--triples", str(rows))
    assert done.code == 0, done.err
    assert "8 triples" in done.out
    assert f"rows.tsv, line {len(ROWS) + 1}" in done.err
    assert json.loads(cli("kb", "info", str(tmp_path / "kb"), "--json").out)["graph"]["triples"] == len(ROWS)
    assert "triples      8" in cli("kb", "info", str(tmp_path / "kb")).out
    for words in (["info", ""], ["index", " "], ["export", "", "--to", "bolt://nowhere"]):
        done = cli("kb", *words)
        assert done.code == 3
        assert "the knowledge base's name is empty" in done.line
    build = ["build", str(tmp_path / "kb2"), "--triples"]
    for words in (["info", "/nowhere"], [*build, "/nowhere"], [*build, str(rows), "--embedder", "/nowhere"]):
        wrong = cli("kb", *words)
        assert wrong.code == 3
        assert "/nowhere" in wrong.line
    assert cli("kb", *build, str(rows), "--embedder", "nobody:nothing").code == 3
    assert not (tmp_path / "kb2").exists()


def test_the_repository_names_the_command() -> None:
    assert 'thinkgraph = "thinkgraph.cli.main:entry"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_one_thing_is_told_in_the_singular(cli: Run, tmp_path: Path) -> None:
    triples, passages, questions, kb = (tmp_path / name for name in ("t.tsv", "p.jsonl", "q.jsonl", "kb"))
    triples.write_text("Ann\tknows\tBob\n", "utf-8")
    passages.write_text('{"id": "p", "title": "Ann", "text": "Ann is here."}\n', "utf-8")
    questions.write_text(json.dumps(GOLD), "utf-8")
    built = cli("kb", "build", str(kb), "--triples", str(triples), "--passages", str(passages)).out
    assert "1 triple, 2 entities, 0 literals, 1 relation\n" in built
    assert "1 passage, about 1 entity, 0 about none" in built
    assert "2 entities, 1 triple, 1 passage (" in cli("doctor", "--no-calls", "--kb", str(kb)).out
    assert cli("bench", "--data", str(questions), "--kb", str(kb)).err.startswith("1 question over kb ")
