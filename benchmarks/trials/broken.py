"""Ways to break the package, each of which a column must notice: a check that cannot fail is none.

`TRIALS_BROKEN` names the one that is applied, in every process of a trial.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import zlib
from collections.abc import Callable
from typing import Any

NAME = "TRIALS_BROKEN"
_LEAK: list[bytes] = []


def _forgetful_journal() -> None:
    from thinkgraph.models.journal import SqliteJournal

    SqliteJournal.get = lambda *_: None  # type: ignore[method-assign]


def _lost_rows() -> None:
    from thinkgraph.models.journal import SqliteJournal

    put = SqliteJournal.put

    def some(self: Any, thread: str, key: str, reply: Any) -> None:
        if zlib.crc32(key.encode()) % 3:
            put(self, thread, key, reply)

    SqliteJournal.put = some  # type: ignore[method-assign]


def _bench_starts_anew() -> None:
    from thinkgraph.eval import bench

    bench.kept_results = lambda _file: []


def _one_call_more() -> None:
    from thinkgraph.models.budget import Ledger

    made = Ledger.__init__

    def more(self: Any, quota: Any, *rest: Any) -> None:
        made(self, {**quota, "calls": quota["calls"] if quota["calls"] is None else quota["calls"] + 1}, *rest)

    Ledger.__init__ = more  # type: ignore[method-assign]


def _uncounted_attempts() -> None:
    from thinkgraph.models.records import Tally

    Tally.unanswered = _no_attempts  # type: ignore[method-assign]


def _no_attempts(tally: Any, model: str) -> Any:
    return {"text": "", "model": model, "input_tokens": 0, "output_tokens": 0, "attempts": 0 * tally.attempts,
            "seconds": 0.0, "unanswered": True}  # fmt: skip


def _invented_where_it_fails() -> None:
    from thinkgraph.cli import main

    main._fail = lambda *_: _print_invented()  # noqa: SLF001


def _print_invented() -> int:
    sys.stdout.write(json.dumps({"answers": ["Atlantis"], "status": "grounded"}))
    sys.stdout.flush()
    return 0


def _tracebacks() -> None:
    from thinkgraph.cli import main

    fail = main._fail  # noqa: SLF001

    def shown(message: str, code: int) -> int:
        traceback.print_stack()
        sys.stderr.write("Traceback (most recent call last):\n")
        return fail(message, code)

    main._fail = shown  # noqa: SLF001


def _errors_without_a_code() -> None:
    from thinkgraph.cli import main

    fail = main._fail  # noqa: SLF001
    main._fail = lambda message, code: 0 * fail(message, code)  # noqa: SLF001


def _links_are_followed() -> None:
    from thinkgraph.ingest.documents import sources

    sources._refused = lambda *_: ""  # noqa: SLF001


def _bugs_in_fallbacks() -> None:
    from thinkgraph.models import calls

    calls._fallback = lambda request: {}[request.role]  # type: ignore[index]  # noqa: SLF001


def _invented_answers() -> None:
    from thinkgraph.graphs.build import MethodGraph

    invoke: Any = MethodGraph.invoke

    def invented(self: Any, *args: Any, **options: Any) -> Any:
        found = invoke(self, *args, **options)
        found["answer"]["answers"] = found["answer"]["answers"] or ["Atlantis"]
        return found

    MethodGraph.invoke = invented  # type: ignore[method-assign]


def _leak() -> None:
    from thinkgraph.runtime.driver import Driver

    drive: Any = Driver.adrive

    async def leaking(self: Any, flow: Any) -> Any:
        _LEAK.append(b"leak" * (4 << 20))
        return await drive(self, flow)

    Driver.adrive = leaking  # type: ignore[method-assign]


def _failing_stores() -> None:
    from thinkgraph.errors import StoreError
    from thinkgraph.tools.sqlite.graph import SqliteGraphStore

    def fails(*_: Any) -> Any:
        raise StoreError("the store has gone")

    SqliteGraphStore.relations = fails  # type: ignore[method-assign]


BREAKAGES: dict[str, tuple[str, Callable[[], None], tuple[str, ...]]] = {
    "the journal forgets": ("kills", _forgetful_journal, ("--kills", "12")),
    "the journal loses rows": ("kills", _lost_rows, ("--kills", "3")),
    "a killed bench starts anew": ("stages", _bench_starts_anew, ("--stages", "2")),
    "an answer is invented on a fault": ("faults", _invented_where_it_fails, ("--faults", "8")),
    "errors are tracebacks": ("faults", _tracebacks, ("--faults", "8")),
    "max_calls lets one more through": ("ceilings", _one_call_more, ("--runs", "16")),
    "failed attempts do not count": ("ceilings", _uncounted_attempts, ("--runs", "60")),
    "a fallback is a bug": ("replies", _bugs_in_fallbacks, ("--replies", "40")),
    "an answer is invented where there is none": ("replies", _invented_answers, ("--replies", "40")),
    "refusals are tracebacks": ("files", _tracebacks, ("--files", "20")),
    "refusals have no exit code": ("files", _errors_without_a_code, ("--files", "20")),
    # Nine of them, spread over the list, hold the link.
    "links are followed": ("files", _links_are_followed, ("--files", "9")),
    "a leak": ("load", _leak, ("--in-flight", "8", "--minutes", "1.5")),
    "every question fails": ("load", _failing_stores, ("--in-flight", "2", "--minutes", "0.2")),
}
"""By name: the column that must notice it, what it does, and how many trials it takes."""


def apply() -> None:
    """Break this process as the environment says."""
    if name := os.environ.get(NAME):
        BREAKAGES[name][1]()
