"""LangGraph's SQLite checkpointers, changed so that a thread's last checkpoint is the one written last.

LangGraph's own take the one with the greatest id, and ids begin with the time of day. If the clock was set back between a run and its
resumption, the steps made since would count as older than those before, and the answer would not be found.
"""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

_LAST = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1"


def _place(config: RunnableConfig) -> tuple[str, str]:
    place = config["configurable"]
    return str(place["thread_id"]), str(place.get("checkpoint_ns", ""))


def _naming(config: RunnableConfig, row: Any) -> RunnableConfig:
    """The configuration of a thread's checkpoint, where it has one."""
    thread, namespace = _place(config)
    named = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": row and row[0]}
    return {"configurable": named} if row else config


class SqliteCheckpoints(SqliteSaver):
    """See above."""

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See BaseCheckpointSaver."""
        if not get_checkpoint_id(config):
            with self.cursor(transaction=False) as cursor:
                config = _naming(config, cursor.execute(_LAST, _place(config)).fetchone())
        return super().get_tuple(config)


class AsyncSqliteCheckpoints(AsyncSqliteSaver):
    """See above."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See BaseCheckpointSaver."""
        if not get_checkpoint_id(config):
            await self.setup()
            async with self.lock, self.conn.execute(_LAST, _place(config)) as cursor:
                config = _naming(config, await cursor.fetchone())
        return await super().aget_tuple(config)
