"""What runs in the process that gets killed: one run, or its resumption, over SQLite checkpoints and journal."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from graphs.cases import CASES
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import thinkgraph as tg


def work(
    folder: str,
    base_url: str,
    case_name: str,
    *,
    resume: bool,
    asynchronous: bool,
    durability: Any,
    postgres: str = "",
) -> None:
    """Run to the end and write answer.json; `postgres` is the address of a database that keeps all but that."""
    os.environ["OPENAI_BASE_URL"] = base_url
    case = CASES[case_name]
    home = Path(folder)
    config: Any = {"configurable": {"thread_id": home.name}}
    options: dict[str, Any] = {
        "knowledge": case.knowledge(),
        "model": "openai:fake",
        "settings": {**case.settings, **case.busy},
    }

    def start(values: Any) -> Any:
        # Killed before its first checkpoint there is nothing to go on from: the question is asked again.
        return None if resume and values else {"question": case.other_question}

    with ExitStack() as stack:
        options["journal"] = _journal(home, postgres, stack)
        if asynchronous:

            async def run() -> Any:
                async with _async_saver(home, postgres) as saver:
                    graph = tg.build(case.method, checkpointer=saver, **options)
                    values = (await graph.aget_state(config)).values
                    return await graph.ainvoke(start(values), config, durability=durability)

            result = asyncio.run(run())
        else:
            graph = tg.build(case.method, checkpointer=_saver(home, postgres, stack), **options)
            result = graph.invoke(start(graph.get_state(config).values), config, durability=durability)
    (home / "answer.json").write_text(json.dumps(result["answer"]))


def _journal(home: Path, postgres: str, stack: ExitStack) -> Any:
    if not postgres:
        return tg.SqliteJournal(home / "journal.sqlite")
    from langgraph.store.postgres import PostgresStore

    return tg.StoreJournal(stack.enter_context(PostgresStore.from_conn_string(postgres)))


def _saver(home: Path, postgres: str, stack: ExitStack) -> Any:
    if not postgres:
        return SqliteSaver(sqlite3.connect(home / "checkpoints.sqlite", check_same_thread=False))
    from langgraph.checkpoint.postgres import PostgresSaver

    return stack.enter_context(PostgresSaver.from_conn_string(postgres))


def _async_saver(home: Path, postgres: str) -> Any:
    if not postgres:
        return AsyncSqliteSaver.from_conn_string(str(home / "checkpoints.sqlite"))
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    return AsyncPostgresSaver.from_conn_string(postgres)
