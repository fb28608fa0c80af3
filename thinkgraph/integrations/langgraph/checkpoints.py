"""A checkpointer that outlives the server: what `"checkpointer": {"path": …}` of a langgraph.json can name.

By itself `langgraph dev` writes its checkpoints down now and then, and kill -9 loses what came since. With
`"checkpointer": {"path": "./thinkgraph/integrations/langgraph/checkpoints.py:sqlite"}` every step is on disk before the next one starts.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from thinkgraph.graphs.checkpoints import strict
from thinkgraph.graphs.sqlite_checkpoints import AsyncSqliteCheckpoints

VARIABLE = "THINKGRAPH_CHECKPOINTS"
DEFAULT = ".langgraph_api/thinkgraph.sqlite"
"""Beside what the server keeps itself, in its working directory."""


@asynccontextmanager
async def sqlite() -> AsyncIterator[AsyncSqliteSaver]:
    """Checkpoints in the SQLite file that THINKGRAPH_CHECKPOINTS names."""
    path = Path(os.environ.get(VARIABLE) or DEFAULT)
    await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
    async with AsyncSqliteCheckpoints.from_conn_string(str(path)) as saver:
        yield strict(saver)
