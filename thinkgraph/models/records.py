"""What is kept of a call: the reply in the journal, the record in the state, and attempts that no reply came of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from thinkgraph.models.journal import RawReply, ShownLines, ToolRequest
from thinkgraph.models.window import FittedPrompt
from thinkgraph.models.wire.forms import ModelReply
from thinkgraph.state.usage import CallRecord


@dataclass
class Tally:
    """The requests made for one reply, those of earlier executions of its node included."""

    attempts: int = 0

    def unanswered(self, model: str) -> RawReply:
        """What the journal keeps where none of them had a reply: they count all the same."""
        return RawReply(
            text="", model=model, input_tokens=0, output_tokens=0, attempts=self.attempts, seconds=0.0, unanswered=True
        )


def answered(reply: ModelReply, written: FittedPrompt, model: str, *, attempts: int, seconds: float) -> RawReply:
    """A reply as the journal keeps it."""
    raw = RawReply(
        text=reply.text,
        model=model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        attempts=attempts,
        seconds=seconds,
    )
    if reply.tool_calls:
        raw["tool_calls"] = [cast("ToolRequest", dict(call)) for call in reply.tool_calls]
    if reply.more:
        raw["more"] = dict(reply.more)
    if reply.finish != "stop":
        raw["finish"] = reply.finish
    if written.left_out:
        shape = written.shape
        raw["left_out"] = written.left_out
        raw["shown"] = ShownLines(
            options=shape.options,
            evidence=shape.evidence,
            clues=shape.clues,
            questions=shape.questions,
            unseen=list(shape.unseen),
        )
    return raw


def call_record(
    key: str, raw: RawReply, price: tuple[float, float] | None, *, role: str, node: str, repair: bool
) -> CallRecord:
    """The record of a call for usage and ceilings.

    Args:
        key: of the reply in the journal.
        raw: the reply, or the attempts that none came of.
        price: US dollars per token in and out of the model that answered, which may be one that the role's falls back to.
        role: of the call.
        node: that made it.
        repair: whether it is the second request after a reply that could not be read.
    """
    price_in, price_out = price or (0.0, 0.0)
    record = CallRecord(
        id=key,
        role=role,
        node=node,
        model=raw["model"],
        attempts=raw["attempts"],
        input_tokens=raw["input_tokens"],
        output_tokens=raw["output_tokens"],
        cost=raw["input_tokens"] * price_in + raw["output_tokens"] * price_out,
        seconds=raw["seconds"],
        repair=repair,
        fallback=False,
    )
    if raw.get("unanswered"):
        record["unanswered"] = True
    if left_out := raw.get("left_out", 0):
        record["left_out"] = left_out
    if (finish := raw.get("finish", "stop")) != "stop":
        record["finish"] = finish
    return record
