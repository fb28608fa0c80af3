"""What the states of all methods share: input, output, manifest, budget, accumulators."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from thinkgraph.state.answer import Answer, Draft, PrunedNote, merge_pruned
from thinkgraph.state.evidence import EvidenceItem, merge_evidence
from thinkgraph.state.usage import CallRecord, WorkRecord, merge_records


class QuestionInput(TypedDict):
    """Input of every method's graph: a question, or messages of which the last is the question.

    Messages that end with a person's win over `question`, so that chat clients work; others are what went before.
    """

    question: NotRequired[str]
    messages: NotRequired[Annotated[list[AnyMessage], add_messages]]


class AnswerOutput(TypedDict):
    """Output of every method's graph."""

    answer: Answer
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation with the answer as its last message; empty where a plain question was asked (without `history`)."""


class Manifest(TypedDict):
    """What a run was started with. Written by the entry node, checked by every later one, so that a resumed run can
    never mix two models, two knowledge bases or two settings.
    """

    version: str
    method: str
    run: int
    """Counts the questions asked on this thread, from 1; part of every journal key."""
    settings: dict[str, Any]
    """Every setting, defaults included."""
    models: dict[str, str]
    """Model name by role."""
    prompts: dict[str, str]
    """Prompt digest by role."""
    ranker: str
    """Name of a ranker object of the user's that replaces the setting; empty where there is none."""
    knowledge: str
    """Name of the knowledge base."""
    fingerprint: str
    """Fingerprint of graph and text together."""
    message: NotRequired[str]
    """Id of the message that asked the question; empty where a plain question did."""


class Quota(TypedDict):
    """What is left to spend; None: no ceiling. Cut into shares before a fan-out, so that no ceiling is ever passed."""

    calls: int | None
    tokens: int | None
    cost: float | None
    seconds: float | None


def first_reason(old: str | None, new: str | None) -> str:
    """Reducer: the first non-empty reason to stop."""
    return old or new or ""


class RunState(TypedDict):
    """Channels every method has."""

    question: str
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation, where there is one: the only list that grows, as chat clients want it."""
    manifest: NotRequired[Manifest]
    round: int
    evidence: Annotated[dict[str, EvidenceItem], merge_evidence]
    calls: Annotated[dict[str, CallRecord], merge_records]
    work: Annotated[dict[str, WorkRecord], merge_records]
    pruned: Annotated[list[PrunedNote], merge_pruned]
    stopped: Annotated[str, first_reason]
    """Why the run stopped early (a spent ceiling); empty otherwise."""
    draft: NotRequired[Draft | None]
    answer: NotRequired[Answer | None]


class TaskState(TypedDict):
    """What every Send payload carries beside its own work."""

    question: str
    manifest: Manifest
    round: int
    part: str
    """Tells the tasks of one fan-out apart; part of journal keys."""
    quota: Quota
