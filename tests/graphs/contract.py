"""What the tests over all methods share."""

from __future__ import annotations

import threading
from typing import Any

from fakes import FakeModel
from graphs.cases import Case
from pydantic import PrivateAttr

import thinkgraph as tg
from thinkgraph.graphs.build import Graph


def make(case: Case, model: FakeModel | None = None, **options: Any) -> tuple[Graph, FakeModel]:
    model = model or FakeModel(case.replies)
    options.setdefault("settings", dict(case.settings))
    options.setdefault("knowledge", case.knowledge())
    return tg.build(case.method, model=model, **options), model


def thread(name: str = "1") -> Any:
    return {"configurable": {"thread_id": name}}


def comparable(answer: Any) -> Any:
    """The answer without what may differ from run to run: seconds, and texts whose vectors an earlier run left in the cache."""
    return {**answer, "usage": {**answer["usage"], "seconds": 0, "encoder_texts": 0}}


class Failing(FakeModel):
    """Fails from the n-th call on, until told otherwise."""

    after: int = 0
    failed: int = 0
    _one_by_one: Any = PrivateAttr(default_factory=threading.Lock)

    def _reply(self, messages: Any) -> Any:
        # Samples ask side by side: counting and asking are one step.
        with self._one_by_one:
            if len(self.asked) >= self.after >= 0:
                self.failed += 1
                raise ConnectionError("the server is gone")
            return super()._reply(messages)
