"""What outlives the server: a checkpointer and a store for `{"path": …}` of a langgraph.json.

By itself `langgraph dev` writes both down now and then, and kill -9 loses what came since. With
`"checkpointer": {"path": "./thinkgraph/integrations/langgraph/checkpoints.py:sqlite"}` every step is on disk before the next one starts, with
`"store": {"path": "./thinkgraph/integrations/langgraph/checkpoints.py:sqlite_store"}` every reply of a step before it is read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from thinkgraph.graphs.checkpoints import strict
from thinkgraph.graphs.sqlite_checkpoints import AsyncSqliteCheckpoints

VARIABLE = "THINKGRAPH_CHECKPOINTS"
DEFAULT = ".langgraph_api/thinkgraph.sqlite"
"""Beside what the server keeps itself, in its working directory."""
STORE = "store.sqlite"
"""In the folder of the checkpoints, in a file of its own: neither waits for the other's writes."""


@asynccontextmanager
async def sqlite() -> AsyncIterator[AsyncSqliteSaver]:
    """Checkpoints in the SQLite file that THINKGRAPH_CHECKPOINTS names."""
    async with AsyncSqliteCheckpoints.from_conn_string(str(await _file())) as saver:
        yield strict(saver)


@asynccontextmanager
async def sqlite_store() -> AsyncIterator[AsyncSqliteStore]:
    """The server's store, which holds the journal, beside the checkpoints."""
    path = await _file()
    async with AsyncSqliteStore.from_conn_string(str(path.with_name(STORE))) as store:
        await store.conn.execute("PRAGMA journal_mode=WAL")
        await store.conn.execute("PRAGMA synchronous=NORMAL")
        await store.setup()
        yield store


async def _file() -> Path:
    path = Path(os.environ.get(VARIABLE) or DEFAULT)
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    return path
