"""Questions of one `batch` that several machines answer: who has which, what came of them, and the replies so far, in PostgreSQL."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, suppress
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from thinkgraph.errors import StoreError, UsageError, first_line
from thinkgraph.eval.record import differing
from thinkgraph.models.journal import RawReply, StoreJournal
from thinkgraph.tools.addresses import redacted

if TYPE_CHECKING:
    from psycopg import AsyncConnection

_PLAN = ""
"""The key under which a queue's plan lies; a question's is never empty."""
_SETUP = 0x7468696E6B67
"""The advisory lock of whoever makes the tables."""


class SharedQueue:
    """The questions of one batch in a database. Use as an async context manager.

    A question is taken by an advisory lock of this process's connection: it is free again when the process has ended, however it did.
    """

    def __init__(self, address: str, name: str, plan: Mapping[str, Any]) -> None:
        """Name the queue.

        Args:
            address: postgresql://user@host/database; libpq takes what it lacks from its own variables and files.
            name: of the queue: whoever gives the same one shares the questions.
            plan: what is done, as plain JSON; all who share a queue must do the same.
        """
        self.elsewhere = 0
        """Records that were taken over from other processes."""
        self._address, self._name, self._plan = address, name, dict(plan)
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Connect, and begin the queue or join it.

        Raises:
            StoreError: the database cannot be used.
            UsageError: the extra is not installed, or the queue is of other work.
        """
        try:
            import psycopg
            from langgraph.store.postgres import PostgresStore
        except ImportError as error:
            raise UsageError(
                f"--queue needs PostgreSQL's driver: pip install 'thinkgraph[postgres]' 'psycopg[binary]' ({first_line(error)})"
            ) from None
        # The driver logs what is raised here as well.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        try:
            with self._failing():
                self._db: AsyncConnection[Any] = await self._closing.enter_async_context(
                    await psycopg.AsyncConnection.connect(self._address, autocommit=True)
                )
                store = self._closing.enter_context(PostgresStore.from_conn_string(self._address))
                # Two that make the same table at the same moment would get in each other's way.
                await self._db.execute("SELECT pg_advisory_lock(%s)", (_SETUP,))
                await self._db.execute(
                    "CREATE TABLE IF NOT EXISTS thinkgraph_batch"
                    " (queue text, key text, record text NOT NULL, PRIMARY KEY (queue, key))"
                )
                store.setup()
                await self._db.execute("SELECT pg_advisory_unlock(%s)", (_SETUP,))
                await self._put(_PLAN, self._plan, "NOTHING")
                known = await self._get(_PLAN)
        except BaseException:
            await self._closing.aclose()
            raise
        self.journal = _QueueJournal(self._name, StoreJournal(store), self._failing)
        if names := differing(known, self._plan):
            await self._closing.aclose()
            raise UsageError(
                f"the queue {self._name} holds other results (they differ in {', '.join(names)}); give --out another name"
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import psycopg

        # A connection that the database has ended cannot be closed as it should; that it was ended has been said.
        with self._failing() if error is None else suppress(psycopg.Error):
            await self._closing.aclose()

    path: None = None
    """There is no file of replies that worker processes could share."""

    def forget(self, thread: str) -> None:
        """Drop the replies of a question that is not asked again."""
        self.journal.forget(thread)

    async def take(self, key: str) -> Mapping[str, Any] | bool:
        """What came of a question elsewhere; else whether it is this process's now, until `settle`.

        Raises:
            StoreError: the database cannot be used.
        """
        with self._failing():
            cursor = await self._db.execute("SELECT pg_try_advisory_lock(%s)", (self._lock_of(key),))
            row = await cursor.fetchone()
            if not (row and row[0]):
                return False
            # After the lock was had: nobody can answer it between this look and ours.
            record = await self._get(key)
            if record is None:
                return True
            await self._let_go(key)
        self.elsewhere += 1
        return record

    async def settle(self, key: str, record: Mapping[str, Any] | None) -> None:
        """Keep what came of a question (None: it may be asked again), and let go of it.

        Raises:
            StoreError: the database cannot be used.
        """
        with self._failing():
            if record is not None:
                await self._put(key, record, "UPDATE SET record = excluded.record")
            await self._let_go(key)

    async def _get(self, key: str) -> Mapping[str, Any] | None:
        found = await self._db.execute(
            "SELECT record FROM thinkgraph_batch WHERE queue = %s AND key = %s", (self._name, key)
        )
        row = await found.fetchone()
        record: Mapping[str, Any] | None = json.loads(row[0]) if row else None
        return record

    async def _put(
        self, key: str, record: Mapping[str, Any], otherwise: Literal["NOTHING", "UPDATE SET record = excluded.record"]
    ) -> None:
        await self._db.execute(
            f"INSERT INTO thinkgraph_batch VALUES (%s, %s, %s) ON CONFLICT (queue, key) DO {otherwise}",
            (self._name, key, json.dumps(record)),
        )

    async def _let_go(self, key: str) -> None:
        await self._db.execute("SELECT pg_advisory_unlock(%s)", (self._lock_of(key),))

    def _lock_of(self, key: str) -> int:
        digest = blake2b(f"{self._name}\0{key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn what the driver raises into one line."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise StoreError(
                f"the queue at {redacted(self._address)} failed: {first_line(error)}; the same command goes on from there"
            ) from None


class _QueueJournal:
    """A journal in LangGraph's store, with the replies to the questions of one queue."""

    def __init__(self, name: str, journal: StoreJournal, failing: Callable[[], AbstractContextManager[None]]) -> None:
        self._name, self._journal, self._failing = name, journal, failing

    def get(self, thread: str, key: str) -> RawReply | None:
        with self._failing():
            return self._journal.get(f"{self._name}/{thread}", key)

    def put(self, thread: str, key: str, reply: RawReply) -> None:
        with self._failing():
            self._journal.put(f"{self._name}/{thread}", key, reply)

    def forget(self, thread: str) -> None:
        with self._failing():
            self._journal.forget(f"{self._name}/{thread}")
