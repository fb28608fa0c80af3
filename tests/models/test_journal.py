"""Journals keep every reply: across threads, processes and kills."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from thinkgraph.errors import RunError
from thinkgraph.models.journal import Journal, MemoryJournal, RawReply, SqliteJournal, StoreJournal

ROOT = Path(__file__).parents[2]


def reply(text: str = "words") -> RawReply:
    return RawReply(text=text, model="m", input_tokens=3, output_tokens=4, attempts=2, seconds=0.5)


@pytest.fixture(params=["memory", "sqlite", "store in memory", "store in sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal()
    elif request.param == "sqlite":
        kept = SqliteJournal(tmp_path / "journal.db")
        yield kept
        kept.close()
    elif request.param == "store in memory":
        yield StoreJournal(InMemoryStore())
    else:
        with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            store.setup()
            yield StoreJournal(store)


def test_a_journal_is_one(journal: Journal) -> None:
    assert isinstance(journal, Journal)


def test_what_is_put_is_got(journal: Journal) -> None:
    assert journal.get("t", "k") is None
    journal.put("t", "k", reply())
    assert journal.get("t", "k") == reply()
    assert journal.get("t", "other") is None
    assert journal.get("other", "k") is None
    journal.put("t", "k", reply("newer"))
    assert journal.get("t", "k") == reply("newer")


FULL: dict[str, Any] = {
    **reply(),
    "tool_calls": [{"name": "search", "args": {"a": 1}, "id": None}],
    "finish": "tools",
    "left_out": 2,
    "shown": {"options": 3, "evidence": 0, "clues": 0, "questions": 0, "unseen": [2]},
}


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "row",
    [
        "{",
        "",
        "null",
        "[" * 100_000,
        "9" * 5000,
        b"\xff",
        None,
        7,
        *(
            json.dumps({**FULL, **change})
            for change in (
                {"input_tokens": 10**30},
                {"output_tokens": -1},
                {"attempts": "2"},
                {"seconds": float("nan")},
                {"seconds": float("inf")},
                {"text": None},
                {"model": 3},
                {"tool_calls": [{"name": "search"}]},
                {"tool_calls": 5},
                {"finish": "never"},
                {"left_out": 1.5},
                {"shown": {"options": 1}},
                {"shown": {**FULL["shown"], "unseen": ["x"]}},
            )
        ),
        json.dumps({"text": "words"}),
    ],
)
def test_a_row_that_cannot_be_used_is_asked_for_again(tmp_path: Path, row: Any) -> None:
    store = InMemoryStore()
    with contextlib.closing(SqliteJournal(tmp_path / "journal.db")) as kept:
        for journal in (kept, StoreJournal(store)):
            journal.put("t", "k", cast("RawReply", FULL))
            assert journal.get("t", "k") == FULL
        kept._db.execute("UPDATE reply SET body = ?", (row,))
        (item,) = store.search(("thinkgraph",))
        store.put(item.namespace, item.key, {"body": row})
        for journal in (kept, StoreJournal(store)):
            assert journal.get("t", "k") is None
            journal.put("t", "k", reply("again"))
            assert journal.get("t", "k") == reply("again")


@pytest.mark.parametrize("text", ["", "日本 🚀", "a\x00b", "x" * 1_000_000, '"\\\n', "half \ud83d"])
def test_any_text_is_kept(journal: Journal, text: str) -> None:
    journal.put("t", "k", reply(text))
    assert journal.get("t", "k") == reply(text)


@pytest.mark.parametrize("other", ["ab", "a_b", "a.b", "A", "a%2Eb", ""])
def test_forgetting_a_thread_leaves_the_others(journal: Journal, other: str) -> None:
    for number in range(102):  # more than one page of a store's
        journal.put("a", f"k{number}", reply("a"))
    journal.put(other, "k101", reply(other))
    journal.forget("a")
    assert journal.get("a", "k0") is None
    assert journal.get("a", "k101") is None
    assert journal.get(other, "k101") == reply(other)
    journal.forget("a")


class ByBeginning(InMemoryStore):
    """A store that compares namespaces as text, as the protocol's word "prefix" allows."""

    def search(self, prefix: tuple[str, ...], /, *, limit: int = 10, offset: int = 0, **_: Any) -> list[Any]:
        spaces = [space for space in self.list_namespaces() if ".".join(space).startswith(".".join(prefix))]
        items = [item for space in spaces for item in super(ByBeginning, self).search(space, limit=1000)]
        return items[offset : offset + limit]


def test_a_bounded_journal_keeps_the_newest() -> None:
    journal = MemoryJournal(limit=2)
    for key in ("a", "b", "c"):
        journal.put("t", key, reply(key))
    assert [journal.get("t", key) is not None for key in ("a", "b", "c")] == [False, True, True]


def test_threads_share_a_bounded_journal() -> None:
    journal = MemoryJournal(limit=3)

    def write(thread: int) -> None:
        for number in range(5000):
            journal.put(f"t{thread}", str(number), reply("a"))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(write, range(6)))
    finally:
        sys.setswitchinterval(before)
    kept = [journal.get(f"t{thread}", str(number)) for thread in range(6) for number in range(5000)]
    assert len(kept) - kept.count(None) == 3


def test_forgetting_ends_with_a_store_that_finds_more_than_it_was_asked_for() -> None:
    journal = StoreJournal(ByBeginning())
    for name in ("ab", "a", "abc"):
        for number in range(102):
            journal.put(name, f"k{number}", reply(name))
    journal.forget("a")
    found = [[journal.get(name, f"k{number}") is None for number in range(102)] for name in ("ab", "a", "abc")]
    assert found == [[False] * 102, [True] * 102, [False] * 102]


def test_threads_with_like_names_are_apart(journal: Journal) -> None:
    names = ["a.b", "a_b", "a%2Eb", "a%b", "", "%", "_", "langgraph"]
    for name in names:
        journal.put(name, "k", reply(name))
    assert [journal.get(name, "k") for name in names] == [reply(name) for name in names]
    journal.forget("a_b")
    assert [name for name in names if journal.get(name, "k") is None] == ["a_b"]


def test_threads_write_and_forget_side_by_side(journal: Journal) -> None:
    def work(number: int) -> None:
        for at in range(10):
            journal.put(f"t{number}", f"k{at}", reply(f"{number}/{at}"))
            journal.put("gone", f"k{number}/{at}", reply())
            journal.forget("gone")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet wherever they can
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
    for number in range(8):
        assert [journal.get(f"t{number}", f"k{at}") for at in range(10)] == [
            reply(f"{number}/{at}") for at in range(10)
        ]


_WRITER = """
import os, signal, sys
from thinkgraph.models.journal import SqliteJournal
path, name, count, end = sys.argv[1:]
journal = SqliteJournal(path)
for at in range(int(count)):
    journal.put(name, str(at), dict(text=f"{name}/{at}", model="m", input_tokens=1, output_tokens=1, attempts=1, seconds=0.0))
print("done", flush=True)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, int, str], subprocess.Popen[str]]:
    def start(name: str, count: int, end: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _WRITER, str(tmp_path / "journal.db"), name, str(count), end]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    return start


def test_processes_share_a_file_and_a_kill_loses_nothing(
    write: Callable[[str, int, str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    running = [write("a", 60, "exit"), write("b", 60, "exit"), write("c", 60, "kill")]
    ends = [process.communicate(timeout=60) for process in running]
    assert [out for out, _ in ends] == ["done\n"] * 3, ends
    assert [process.returncode for process in running] == [0, 0, -signal.SIGKILL]
    journal = SqliteJournal(tmp_path / "journal.db")
    for name in "abc":
        texts = [(journal.get(name, str(at)) or reply())["text"] for at in range(60)]
        assert texts == [f"{name}/{at}" for at in range(60)]
    journal.close()


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(RunError, match=r"cannot open the journal .*journal\.db.*file is not a database") as raised:
        SqliteJournal(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(RunError, match="cannot open the journal"):
        SqliteJournal(tmp_path / "nowhere" / "journal.db")


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.close()
    with pytest.raises(RunError, match=r"cannot use the journal .* close it when its runs are over"):
        journal.get("t", "k")


def test_a_journal_that_another_program_holds_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a backup."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, **{**options, "timeout": 0}))
    journal = SqliteJournal(tmp_path / "journal.db")
    with contextlib.closing(connect(tmp_path / "journal.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RunError, match=r"database is locked\): another program holds it"):
            journal.put("t", "k", reply("text"))
    journal.close()


def test_a_journals_place_is_the_one_that_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    SqliteJournal("~/journal.sqlite").close()
    assert (tmp_path / "journal.sqlite").is_file()
    with pytest.raises(RunError, match=r"^cannot open the journal .*: there is no folder .*nowhere$"):
        SqliteJournal(tmp_path / "nowhere" / "journal.sqlite")
