from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.conftest import ANSWER, MODEL, PROGRAM, QUESTION, Run, environment, use_server
from graphs.cases import ROWS
from model_server import ModelServer
from replies import Fault, Hang

from thinkgraph.cli.runs import RunOptions, RunRow, RunStore
from thinkgraph.errors import RunError
from thinkgraph.ingest.build import build_kb


def _stopped(ask: Run, monkeypatch: pytest.MonkeyPatch, served: ModelServer, thread: str, *arguments: str) -> None:
    """Leave a run unfinished on a thread."""
    with ModelServer([Fault(401, "no")]) as broken:
        use_server(broken, monkeypatch)
        assert ask(QUESTION, "--thread", thread, *arguments).code == 4
    use_server(served, monkeypatch)


def test_resume_of_a_finished_run_shows_its_answer(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(QUESTION, "--thread", "t", "--json")
    before = len(served.calls)
    # Neither model nor knowledge is needed for it.
    monkeypatch.delenv("OPENAI_BASE_URL")
    again = cli("resume", "t", "--json", "--kb", "/nowhere")
    assert again.out == first.out
    assert "this run is finished" in again.err
    assert len(served.calls) == before


@pytest.mark.parametrize("thread", ["nope", "../../etc/passwd", "a\x1b[31m", ""])
def test_unknown_threads(cli: Run, thread: str) -> None:
    for command in (["resume", thread], ["runs", "rm", thread], ["runs", "export", thread]):
        done = cli(*command)
        assert done.code == 5
        assert "there is no run" in done.line
        assert "\x1b" not in done.err


def test_resume_with_another_model_is_refused(
    ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    _stopped(ask, monkeypatch, served, "t")
    for model in ("openai:other", "offline"):
        done = cli("resume", "t", "--model", model)
        assert done.code == 5
        assert f"was started with model {MODEL}, not {model}" in done.line
    assert cli("resume", "t", "--model", MODEL).code == 0


def test_resume_over_another_knowledge_base_is_refused(
    ask: Run, cli: Run, kb: str, served: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _stopped(ask, monkeypatch, served, "t")
    (tmp_path / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS[:-1]), "utf-8")
    build_kb(tmp_path / "other", triples=[tmp_path / "rows.tsv"])
    done = cli("resume", "t", "--kb", str(tmp_path / "other"))
    assert done.code == 5
    assert "was started over knowledge base 'small'" in done.line
    # The same content elsewhere is the same knowledge base.
    (tmp_path / "moved").symlink_to(kb)
    assert cli("resume", "t", "--kb", str(tmp_path / "moved")).code == 0


def test_a_second_question_never_gets_the_first_ones_answer(ask: Run, cli: Run, kb: str, home: Path) -> None:
    assert ask(QUESTION, "--thread", "t").out.splitlines()[0] == ANSWER
    settings = {"ranker": "bm25"}
    own = {"text": None, "trust_embedder": False, "prompts": None, "prices": None}
    options = RunOptions(method="tog2", model=MODEL, kb=kb, settings=settings, **own)
    with RunStore(home) as runs:
        # As a process leaves it that is killed before the question's first checkpoint.
        runs.start("t", "What is the capital of Colombia?", options)
    assert cli("resume", "t").out.splitlines()[0] == "Bogota"
    assert cli("resume", "t").out.splitlines()[0] == "Bogota"


def test_killed_between_the_answer_and_its_note(ask: Run, cli: Run, served: ModelServer, home: Path) -> None:
    ask(QUESTION, "--thread", "t")
    with RunStore(home) as runs:
        runs.finish("t", "unfinished")
    before = len(served.calls)
    assert cli("resume", "t").out.splitlines()[0] == ANSWER
    assert len(served.calls) == before
    with RunStore(home) as runs:
        assert runs.known("t")["status"] == "grounded"


def test_two_processes_on_one_thread(kb: str, cli: Run) -> None:
    words = ["ask", QUESTION, "--kb", kb, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t"]
    with ModelServer([Hang()]) as hanging:
        env = environment({"OPENAI_BASE_URL": hanging.base_url})
        with subprocess.Popen([*PROGRAM, *words], env=env, stderr=subprocess.PIPE) as first:
            try:
                _until(lambda: bool(hanging.calls))
                for command in (words, [*words, "--replace"], ["resume", "t"], ["runs", "rm", "t"]):
                    done = cli(*command)
                    assert done.code == 5
                    assert "run t is being worked on by another process" in done.line
                assert "not 1 that are being worked on" in cli("runs", "prune", "--days", "0", "--unfinished").out
                assert first.poll() is None
            finally:
                first.kill()
    assert "t  " in cli("runs").out


def _until(reached: object) -> None:
    end = time.monotonic() + 30
    while not reached():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def test_list_and_json(ask: Run, cli: Run) -> None:
    assert cli("runs").out == "no runs yet\n"
    assert json.loads(cli("runs", "--json").out) == []
    ask(QUESTION, "--thread", "one")
    ask("What is \x1b[31mthe capital\u202e of\nColombia?", "--thread", "two")
    rows = json.loads(cli("runs", "--json").out)
    assert [row["thread"] for row in rows] == ["two", "one"]
    assert rows[1]["status"] == "grounded"
    listed = cli("runs").out
    assert len(listed.splitlines()) == 2
    assert "\x1b" not in listed
    assert "\u202e" not in listed


def test_remove(ask: Run, cli: Run, home: Path) -> None:
    ask(QUESTION, "--thread", "one")
    ask(QUESTION, "--thread", "two")
    done = cli("runs", "rm", "one", "nope")
    assert done.code == 5
    assert len(json.loads(cli("runs", "--json").out)) == 2
    assert cli("runs", "rm", "one", "one").out == "removed 1 run\n"
    assert [row["thread"] for row in json.loads(cli("runs", "--json").out)] == ["two"]
    assert not (home / "locks" / "one.lock").exists()
    with RunStore(home) as runs:
        assert runs.checkpointer().get_tuple({"configurable": {"thread_id": "one"}}) is None


def test_prune(ask: Run, cli: Run, served: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(QUESTION, "--thread", "done")
    _stopped(ask, monkeypatch, served, "open")
    assert cli("runs", "prune").out == "removed 0 runs\n"
    for days in ("-1", "nan", "inf"):
        assert "--days must be a number of days" in cli("runs", "prune", "--days", days).line
    assert cli("runs", "prune", "--days", "0").out == "removed 1 run\n"
    assert cli("runs", "prune", "--days", "0", "--unfinished").out == "removed 1 run\n"
    assert cli("runs").out == "no runs yet\n"


def test_prune_beside_another_one(ask: Run, cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for thread in ("a", "b", "c"):
        ask(QUESTION, "--thread", thread)
    rows = RunStore.rows

    def then_pruned(runs: RunStore) -> list[RunRow]:
        found = rows(runs)
        runs.remove("b")
        return found

    monkeypatch.setattr(RunStore, "rows", then_pruned)
    done = cli("runs", "prune", "--days", "0")
    assert (done.code, done.out) == (0, "removed 2 runs\n")


def test_export(ask: Run, cli: Run, tmp_path: Path) -> None:
    ask(QUESTION, "--thread", "t")
    whole = json.loads(cli("runs", "export", "t").out)
    assert whole["run"]["question"] == QUESTION
    assert whole["history"][0]["state"]["answer"]["answers"] == [ANSWER]
    assert len(whole["history"]) > 3
    file, link = tmp_path / "t.json", tmp_path / "link"
    link.symlink_to(file)
    for out in (file, link):
        assert cli("runs", "export", "t", "--out", str(out)).code == 0
        assert json.loads(file.read_text("utf-8")) == whole
    assert link.is_symlink()


@pytest.mark.parametrize(
    ("out", "words"),
    [(".", "is a folder; name a file"), ("nowhere/x", "there is no folder"), ("/dev/full", "No space left on device")],
)
def test_export_where_it_cannot_be_written(ask: Run, cli: Run, tmp_path: Path, out: str, words: str) -> None:
    ask(QUESTION, "--thread", "t")
    done = cli("runs", "export", "t", "--out", str(tmp_path / out))
    assert done.code == 2
    assert words in done.line
    assert Path("/dev/full").is_char_device()


def test_export_to_a_full_disk_leaves_the_old_file(ask: Run, process: Run, tmp_path: Path) -> None:
    ask(QUESTION, "--thread", "t")
    file = tmp_path / "t.json"
    file.write_text("mine")
    # A limit of SIZE times 1024 bytes for any file: SQLite needs so much, the export more.
    whole = len(process("runs", "export", "t").out.encode())
    limited = ["bash", "-c", f'ulimit -f {whole // 1024 - 1}; exec "$@"', "-", *PROGRAM]
    done = process("runs", "export", "t", "--out", str(file), program=limited)
    assert done.code == 2
    assert f"the export {file} cannot be written: File too large" in done.line
    assert file.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize("name", ["runs", "journal", "checkpoints"])
@pytest.mark.parametrize("harm", ["garbage", "half"])
def test_damaged_files_are_named(ask: Run, cli: Run, home: Path, name: str, harm: str) -> None:
    ask(QUESTION, "--thread", "t")
    file = home / f"{name}.sqlite"
    body = file.read_bytes()
    file.write_bytes(b"no database at all" * 500 if harm == "garbage" else body[: len(body) // 2])
    for beside in home.glob(f"{name}.sqlite-*"):
        beside.unlink()
    done = ask("What is the capital of Colombia?")
    assert done.code == 5
    assert str(file) in done.line
    assert "it is damaged" in done.line
    assert "move it away" in done.line
    removed = cli("runs", "rm", "t")
    assert removed.code == 5
    assert str(file) in removed.line
    if name != "journal":
        assert str(file) in cli("runs", "export", "t").line
    file.unlink()
    assert ask("What is the capital of Colombia?", "--quiet").out.splitlines()[0] == "Bogota"


@pytest.mark.parametrize(
    "harm",
    [
        "options='{'",
        "options='[]'",
        "options=NULL",
        "question=NULL",
        "question=x'ff00'",
        "status=x'ff'",
        "updated='abc'",
        "updated=1e30",
    ],
)
def test_a_damaged_row_hides_no_other_run(ask: Run, cli: Run, home: Path, harm: str) -> None:
    ask(QUESTION, "--thread", "bad")
    ask(QUESTION, "--thread", "good")
    with contextlib.closing(sqlite3.connect(home / "runs.sqlite")) as db, db:
        db.execute(f"UPDATE run SET {harm} WHERE thread = 'bad'")
    listed = cli("runs")
    assert listed.code == 5
    assert listed.out.startswith("good ")
    assert "'thinkgraph runs rm bad' removes what is left" in listed.line
    assert [row["thread"] for row in json.loads(cli("runs", "--json").out)] == ["good"]
    for command in (["resume", "bad"], ["runs", "export", "bad"], ["ask", QUESTION, "--thread", "bad"]):
        done = cli(*command)
        assert done.code == 5
        assert "has 1 damaged run: " in done.line
    assert cli("runs", "prune", "--days", "0").out == "removed 1 run\n"
    assert "no runs yet" not in cli("runs").out
    assert cli("runs", "rm", "bad").out == "removed 1 run\n"
    assert cli("runs").out == "no runs yet\n"


def test_home_that_cannot_be_used(cli: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("THINKGRAPH_HOME", str(tmp_path / "file"))
    for command in (["ask", "x"], ["runs"], ["resume", "x"]):
        done = cli(*command)
        assert done.code == 5
        assert "set THINKGRAPH_HOME to a folder that can be written" in done.line


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small file system")
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_home_on_a_file_system_that_takes_nothing(process: Run, kb: str, served: ModelServer, kind: str) -> None:
    size = "size=48k" if kind == "full" else "ro"
    mount = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o {size} none /mnt && exec "$@"', "sh"]
    if subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts here")
    env = {"THINKGRAPH_HOME": "/mnt/home", "OPENAI_BASE_URL": served.base_url}
    done = process("ask", QUESTION, "--kb", kb, "--model", MODEL, env=env, program=[*mount, *PROGRAM])
    assert done.code in {1, 5}
    assert "/mnt/home" in done.line
    assert "THINKGRAPH_HOME" in done.line or "check free space" in done.line
    assert done.out == ""


def test_a_store_that_another_program_holds_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a backup: neither space nor permissions are at fault."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0}))
    with RunStore(tmp_path) as runs, contextlib.closing(connect(tmp_path / "runs.sqlite")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RunError, match=r"is locked\): another program holds it"):
            runs.finish("t", "grounded")
