"""What runs in the process that gets killed: one run, or its resumption, over SQLite checkpoints and journal."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from graphs.cases import CASES
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import thinkgraph as tg


def work(folder: str, base_url: str, case_name: str, *, resume: bool, asynchronous: bool, durability: Any) -> None:
    """Run to the end and write answer.json."""
    os.environ["OPENAI_BASE_URL"] = base_url
    case = CASES[case_name]
    home = Path(folder)
    config: Any = {"configurable": {"thread_id": "t"}}
    options: dict[str, Any] = {
        "knowledge": case.knowledge(),
        "model": "openai:fake",
        "settings": {**case.settings, **case.busy},
        "journal": tg.SqliteJournal(home / "journal.sqlite"),
    }

    def start(values: Any) -> Any:
        # Killed before its first checkpoint there is nothing to go on from: the question is asked again.
        return None if resume and values else {"question": case.other_question}

    if asynchronous:

        async def run() -> Any:
            async with AsyncSqliteSaver.from_conn_string(str(home / "checkpoints.sqlite")) as saver:
                graph = tg.build(case.method, checkpointer=saver, **options)
                values = (await graph.aget_state(config)).values
                return await graph.ainvoke(start(values), config, durability=durability)

        result = asyncio.run(run())
    else:
        connection = sqlite3.connect(home / "checkpoints.sqlite", check_same_thread=False)
        graph = tg.build(case.method, checkpointer=SqliteSaver(connection), **options)
        result = graph.invoke(start(graph.get_state(config).values), config, durability=durability)
    (home / "answer.json").write_text(json.dumps(result["answer"]))
