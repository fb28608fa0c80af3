"""`thinkgraph runs`, and where the command line keeps its runs: checkpoints, journal, options and locks."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import json
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from thinkgraph.cli.show import json_text, many, write_json, write_line
from thinkgraph.config import absolute, load_config, model_words
from thinkgraph.errors import HELD, RunError, UsageError
from thinkgraph.plot.save import check_place, write_whole
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer
from thinkgraph.tools.addresses import redacted

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from thinkgraph.graphs.sqlite_checkpoints import SqliteCheckpoints
    from thinkgraph.models.journal import SqliteJournal


class RunBusyError(RunError):
    """Another process has the run's lock."""


class UnknownRunError(RunError):
    """There is no such run."""


class RunOptions(TypedDict):
    """What a run was started with, as given on the command line; enough to build its graph again."""

    method: str
    model: str | dict[str, str]
    """One, or by role."""
    kb: str
    text: str | None
    """Passages from elsewhere, None for the knowledge base's own."""
    trust_embedder: bool
    settings: dict[str, Any]
    prompts: str | None
    prices: str | None


def run_options(args: argparse.Namespace, method: str, settings: dict[str, Any]) -> RunOptions:
    """The options of a run, from flags that `configured` has completed."""
    return RunOptions(
        method=method,
        model=args.model,
        kb=absolute("kb", args.kb),
        text=None if args.text is None else absolute("text", args.text),
        trust_embedder=bool(args.trust_embedder),
        settings=settings,
        prompts=absolute("prompts", args.prompts) if args.prompts else None,
        prices=absolute("prices", args.prices) if args.prices else None,
    )


class RunRow(TypedDict):
    """One thread of the command line."""

    thread: str
    question: str
    status: str
    """`unfinished` until the answer is there, then the answer's status."""
    options: RunOptions
    after: str
    """Id of the thread's last checkpoint before the question, "" where it had none: what came later belongs to it."""
    created: float
    updated: float


@functools.cache
def _schema() -> TypeAdapter[RunRow]:
    from pydantic import TypeAdapter

    return TypeAdapter(RunRow)


def _read(values: tuple[Any, ...]) -> RunRow | None:
    """A row of the store; None where it is damaged."""
    row = dict(zip(RunRow.__annotations__, values, strict=True))
    try:
        time.localtime(row["updated"])
        return _schema().validate_python({**row, "options": json.loads(row["options"])}, strict=True)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def state_folder() -> Path:
    """The folder of runs: THINKGRAPH_HOME, else the file's `runs`, else the user's state directory."""
    own = load_config().get("runs")
    if own:
        return Path(own).expanduser()
    import platformdirs

    return Path(platformdirs.user_state_dir("thinkgraph"))


def new_thread() -> str:
    """A short id for a new run."""
    return time.strftime("%y%m%d-", time.gmtime()) + uuid.uuid4().hex[:8]


DAY = 86_400
_THREAD = re.compile(r"\w[\w.@:+-]*")
_LONGEST_THREAD = 200
"""In bytes: a thread's lock is a file of its name."""


def _locked(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever removed the run may have taken the file away since it was opened: that lock holds nobody off.
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except (BlockingIOError, FileNotFoundError):
        return False


class RunStore(contextlib.AbstractContextManager["RunStore"]):
    """The runs of one user on one machine."""

    def __init__(self, folder: Path | None = None) -> None:
        """Open or create the store.

        Raises:
            RunError: the folder cannot be used.
        """
        self.folder = folder or state_folder()
        self._closing = contextlib.ExitStack()
        with self.using("locks"):
            (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        with self.using("runs.sqlite"), contextlib.ExitStack() as undo:
            undo.callback(self._closing.close)
            self._db = self._connect("runs.sqlite")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS run (thread TEXT PRIMARY KEY, question TEXT, status TEXT,"
                " options TEXT, after TEXT, created REAL, updated REAL)"
            )
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS event (thread TEXT, number INTEGER, body TEXT, PRIMARY KEY (thread, number))"
            )
            undo.pop_all()

    @contextlib.contextmanager
    def using(self, name: str = "checkpoints.sqlite") -> Iterator[None]:
        """Turn an SQLite error in one of the store's files into a RunError that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            # Python cannot read the words of SQLite where they quote damaged bytes.
            of_file = isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError)
            if of_file and not isinstance(error, sqlite3.OperationalError):
                advice = "it is damaged: move it away, or set THINKGRAPH_HOME to another folder"
            elif "locked" in str(error):
                advice = HELD
            else:
                advice = "check free space and permissions, or set THINKGRAPH_HOME to a folder that can be written"
            raise RunError(f"cannot use {self.folder / name} ({error}): {advice}") from None

    def _connect(self, name: str, *, isolation_level: Literal["DEFERRED"] | None = None) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / name, timeout=30, isolation_level=isolation_level, check_same_thread=False)
        return self._closing.enter_context(contextlib.closing(db))

    def __exit__(self, *_error: object) -> None:
        self._closing.close()

    def keep(self, opened: Any) -> Any:
        """Close `opened` together with the store; returns it."""
        return self._closing.enter_context(contextlib.closing(opened))

    def checkpointer(self) -> SqliteCheckpoints:
        """LangGraph's SQLite checkpointer over this store."""
        from thinkgraph.graphs.checkpoints import strict
        from thinkgraph.graphs.sqlite_checkpoints import SqliteCheckpoints

        with self.using("checkpoints.sqlite"):
            # A step's writes are one transaction: with autocommit every one of them would be forced to disk by itself.
            db = self._connect("checkpoints.sqlite", isolation_level="DEFERRED")
            saver = SqliteCheckpoints(db)
            saver.setup()
            # As the journal: in WAL mode a killed process loses nothing, only a power cut could take the last steps.
            db.execute("PRAGMA synchronous=NORMAL")
        return strict(saver)

    def journal(self) -> SqliteJournal:
        """The journal of replies beside the checkpoints."""
        from thinkgraph.models.journal import SqliteJournal

        journal: SqliteJournal = self.keep(SqliteJournal(self.folder / "journal.sqlite"))
        return journal

    @contextlib.contextmanager
    def lock(self, thread: str) -> Iterator[None]:
        """Lock a thread against other processes; the lock ends with the block, and with the process.

        Raises:
            RunBusyError: another process has the lock.
            RunError: it cannot be a thread id, or the folder cannot be used.
        """
        if not _THREAD.fullmatch(thread) or len(thread.encode()) > _LONGEST_THREAD:
            raise RunError(f"'{thread[:80]}' cannot be a thread id: use letters, digits, '-' and '_'")
        name = f"locks/{thread}.lock"
        path = self.folder / name
        with self.using(name):
            file = path.open("w", encoding="utf-8")
        with file:
            with self.using(name):
                locked = _locked(file.fileno(), path)
            if not locked:
                raise RunBusyError(f"run {thread} is being worked on by another process: wait for it, or stop it")
            yield

    def start(self, thread: str, question: str, options: RunOptions) -> None:
        """Record that a run answers a question on a thread; passwords are left out."""
        now = time.time()
        with self.using():
            last = self.checkpointer().get_tuple({"configurable": {"thread_id": thread}})
        after = str(last.checkpoint["id"]) if last else ""
        with self.using("runs.sqlite"):
            self._db.execute("DELETE FROM event WHERE thread = ?", (thread,))
            self._db.execute(
                "INSERT INTO run VALUES (?, ?, 'unfinished', ?, ?, ?, ?) ON CONFLICT (thread) DO UPDATE SET"
                " question = excluded.question, status = 'unfinished', options = excluded.options, after = excluded.after,"
                " updated = excluded.updated",
                (thread, question, json.dumps({**options, "kb": redacted(options["kb"])}), after, now, now),
            )

    def finish(self, thread: str, status: str) -> None:
        """Record the status of a finished run."""
        with self.using("runs.sqlite"):
            self._db.execute("UPDATE run SET status = ?, updated = ? WHERE thread = ?", (status, time.time(), thread))

    def events(self, thread: str) -> list[dict[str, Any]]:
        """The events that were kept of a run, in their order; none of one that nobody watched."""
        with self.using("runs.sqlite"):
            found = self._db.execute("SELECT body FROM event WHERE thread = ? ORDER BY number", (thread,)).fetchall()
        return [json.loads(body) for (body,) in found]

    def keep_events(self, thread: str, events: Sequence[Mapping[str, Any]], first: int = 0) -> None:
        """Keep events of a run, numbered from `first`, in place of what it had from there on."""
        rows = [(thread, number, json.dumps(event, default=str)) for number, event in enumerate(events, start=first)]
        with self.using("runs.sqlite"), self._db:
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM event WHERE thread = ? AND number >= ?", (thread, first))
            self._db.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)

    def get(self, thread: str) -> RunRow | None:
        """The run of a thread; None where there is none.

        Raises:
            RunError: it is damaged.
        """
        found = self._select("WHERE thread = ?", thread)
        if None in found.values():
            raise self.unreadable([thread])
        return found.get(thread)

    def known(self, thread: str) -> RunRow:
        """The run of a thread.

        Raises:
            RunError: there is none, or it is damaged.
        """
        row = self.get(thread)
        if row is None:
            raise _unknown(thread)
        return row

    def rows(self) -> list[RunRow]:
        """All runs that can be read, newest first."""
        return self.rows_and_damaged()[0]

    def rows_and_damaged(self) -> tuple[list[RunRow], list[str]]:
        """The same, and the threads of those that cannot be read."""
        found = self._select("ORDER BY updated DESC, thread")
        return [row for row in found.values() if row], [thread for thread, row in found.items() if row is None]

    def unreadable(self, threads: Sequence[str]) -> RunError:
        """What is said of damaged runs."""
        found = many(len(threads), "damaged run")
        return RunError(
            f"{self.folder / 'runs.sqlite'} has {found}: 'thinkgraph runs rm {' '.join(threads)}' removes what is left"
        )

    def _select(self, clause: str, *values: str) -> dict[str, RunRow | None]:
        """Runs by their threads; None for one that is damaged."""
        columns = ", ".join(RunRow.__annotations__)
        with self.using("runs.sqlite"):
            found = self._db.execute(f"SELECT {columns} FROM run {clause}", values).fetchall()
        return {str(row[0]): _read(row) for row in found}

    def check(self, thread: str) -> None:
        """Look whether there is such a run, damaged or not.

        Raises:
            RunError: there is none.
        """
        if thread not in self._select("WHERE thread = ?", thread):
            raise _unknown(thread)

    def remove(self, thread: str) -> None:
        """Remove a run, perhaps a damaged one, with its checkpoints and journal.

        Raises:
            RunError: there is no such run, or another process works on it.
        """
        self.check(thread)
        with self.lock(thread):
            with self.using():
                self.checkpointer().delete_thread(thread)
            self.journal().forget(thread)
            with self.using("runs.sqlite"):
                self._db.execute("DELETE FROM run WHERE thread = ?", (thread,))
                self._db.execute("DELETE FROM event WHERE thread = ?", (thread,))
            (self.folder / "locks" / f"{thread}.lock").unlink(missing_ok=True)


def _unknown(thread: str) -> UnknownRunError:
    return UnknownRunError(f"there is no run {thread}; 'thinkgraph runs' lists them")


def kept_answer(runs: RunStore, thread: str) -> Answer:
    """The answer of a finished run, which needs neither model nor knowledge.

    Raises:
        RunError: it is gone or damaged.
    """
    from thinkgraph.runtime.state_errors import fault
    from thinkgraph.state.base import RunState

    with runs.using(), whole_checkpoints(thread):
        last = runs.checkpointer().get_tuple({"configurable": {"thread_id": thread}})
        answer: Answer | None = last.checkpoint["channel_values"].get("answer") if last else None
    if answer is None:
        raise RunError(f"the answer of run {thread} is gone from {runs.folder}: ask the question again")
    if said := fault({"answer": answer}, RunState):
        raise RunError(f"the answer of run {thread} is damaged ({said}): ask the question again")
    return answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Flags of `runs`."""
    parser.add_argument("--json", action="store_true", help="print the list as one JSON array")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    remove = actions.add_parser("rm", help="remove runs with their checkpoints and replies")
    remove.add_argument("thread", nargs="+", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    prune = actions.add_parser("prune", help="remove finished runs that are older than so many days")
    prune.add_argument("--days", type=float, default=30.0, metavar="N", help="age in days (default 30)")
    prune.add_argument("--unfinished", action="store_true", help="unfinished runs too")
    export = actions.add_parser("export", help="write a run's question, state and history as JSON")
    export.add_argument("thread", metavar="THREAD", help="the run's id (thinkgraph runs lists them)")
    export.add_argument("--out", metavar="FILE", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    """List runs, or do what the action says."""
    with RunStore() as runs:
        if args.action == "rm":
            threads = list(dict.fromkeys(args.thread))
            for thread in threads:
                runs.check(thread)
            for thread in threads:
                runs.remove(thread)
            write_line(f"removed {many(len(threads), 'run')}")
        elif args.action == "prune":
            _prune(runs, args.days, unfinished=args.unfinished)
        elif args.action == "export":
            _export(runs, args.thread, args.out)
        else:
            rows, damaged = runs.rows_and_damaged()
            _list(rows, as_json=args.json, others=bool(damaged))
            if damaged:
                raise runs.unreadable(damaged)
    return 0


def _list(rows: list[RunRow], *, as_json: bool, others: bool) -> None:
    if as_json:
        write_json(rows)
        return
    if not rows and not others:
        write_line("no runs yet")
    for row in rows:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["updated"]))
        options = row["options"]
        write_line(
            f"{row['thread']:<18} {when}  {row['status']:<10} {options['method']:<8} {one_line(model_words(options['model'])):<22} "
            f"{one_line(row['question'])[:80]}"
        )


def _prune(runs: RunStore, days: float, *, unfinished: bool) -> None:
    # Not "days < 0": nothing is older than no number, and nothing would be removed.
    if not 0 <= days < float("inf"):
        raise UsageError("--days must be a number of days, 0 or more")
    before = time.time() - days * DAY
    old = [row for row in runs.rows() if row["updated"] < before and (unfinished or row["status"] != "unfinished")]
    removed = busy = 0
    for row in old:
        try:
            runs.remove(row["thread"])
            removed += 1
        except RunBusyError:
            busy += 1
        except UnknownRunError:
            # Another process has just removed it.
            continue
    write_line(f"removed {many(removed, 'run')}" + (f", not {busy} that are being worked on" if busy else ""))


@contextlib.contextmanager
def whole_checkpoints(thread: str) -> Iterator[None]:
    """Turn what Python raises over checkpoints of another shape than LangGraph's into a RunError."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RunError(f"a checkpoint of run {thread} is damaged ({error!r:.80}): ask the question again") from error


def _export(runs: RunStore, thread: str, out: str | None) -> None:
    file = check_place(Path(out).expanduser(), "export") if out is not None else None
    row = runs.known(thread)
    saver = runs.checkpointer()
    with runs.using(), whole_checkpoints(thread):
        steps = list(saver.list({"configurable": {"thread_id": thread}}))
        history = [
            {
                "id": found.checkpoint["id"],
                "at": found.checkpoint["ts"],
                "step": dict(found.metadata or {}).get("step"),
                "state": {
                    key: value
                    for key, value in found.checkpoint["channel_values"].items()
                    if not key.startswith(("__", "branch:"))
                },
            }
            for found in steps
        ]
        body = {"run": row, "history": history}
        text = json_text(body, ensure_ascii=False, indent=1)
    if file:
        write_whole(file, f"{text}\n", "export")
    else:
        write_json(body, indent=1)
