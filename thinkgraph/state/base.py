"""What the states of all methods share: input, output, manifest, budget, accumulators."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, cast

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
    """What a run was started with. Every later node checks it: a resumed run never mixes models, knowledge or settings."""

    version: str
    method: str
    run: int
    """Counts the questions asked on this thread, from 1; part of every journal key."""
    settings: dict[str, Any]
    models: dict[str, str]
    """Model name by role."""
    prompts: dict[str, str]
    """Prompt digest by role."""
    ranker: str
    """Name of a ranker object of the user's that replaces the setting; empty where there is none."""
    knowledge: str
    fingerprint: str
    """Fingerprint of graph and text together."""
    empty: NotRequired[bool]
    """Whether the graph holds nothing: then nothing can be found in it, whatever is asked."""
    not_meant: NotRequired[list[str]]
    """Ids of entities that the question names and the person said not to mean."""
    raised: NotRequired[dict[str, float]]
    """Ceilings that were raised on the way (`ask_user`), with what the run was started with; `settings` has the new ones."""
    enough: NotRequired[bool]
    """Whether the person wants no ceiling raised, and an answer from what there is."""
    message: NotRequired[str]
    """Id of the message that asked the question; empty where a plain question did."""
    said: NotRequired[str]
    """Its text, as it was when it was asked."""
    question: NotRequired[str]
    """The question that is answered: with `history`, in full."""


class Quota(TypedDict):
    """What is left to spend; None: no ceiling. Cut into shares before a fan-out, so that no ceiling is ever passed."""

    calls: int | None
    tokens: int | None
    cost: float | None
    seconds: float | None
    parts: NotRequired[int]
    """Into how many shares a whole was cut of which this is one; absent: it is the whole."""


CEILINGS = ("max_calls", "max_tokens", "max_cost", "max_seconds")


def newest_manifest(old: Manifest | None, new: Manifest | None) -> Manifest:
    """Reducer: the newer manifest. Tasks side by side may each have had a ceiling raised: the highest holds."""
    if not old or not new or old.get("run") != new.get("run"):
        return new or old or cast("Manifest", {})
    settings = dict(new["settings"])
    for name in CEILINGS:
        both = [value for value in (old["settings"].get(name), settings.get(name)) if value is not None]
        if both and (name in old.get("raised", {}) or name in new.get("raised", {})):
            settings[name] = max(both)
    raised = {**new.get("raised", {}), **old.get("raised", {})}
    merged = cast("Manifest", {**new, "settings": settings})
    if raised:
        merged["raised"] = raised
    if old.get("enough"):
        merged["enough"] = True
    return merged


def first_reason(old: str | None, new: str | None) -> str:
    """Reducer: the first non-empty reason to stop."""
    return old or new or ""


class RunState(TypedDict):
    """Channels every method has."""

    question: str
    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation, where there is one: the only list that grows, as chat clients want it."""
    manifest: NotRequired[Annotated[Manifest, newest_manifest]]
    round: int
    evidence: Annotated[dict[str, EvidenceItem], merge_evidence]
    calls: Annotated[dict[str, CallRecord], merge_records]
    work: Annotated[dict[str, WorkRecord], merge_records]
    pruned: Annotated[list[PrunedNote], merge_pruned]
    stopped: Annotated[str, first_reason]
    """Why the run stopped early (a spent ceiling); empty otherwise."""
    draft: NotRequired[Draft | None]
    answer: NotRequired[Answer | None]


class BacktrackState(RunState):
    """Channels of the methods that go back to what they pruned."""

    backtracked: int
    """How often the search has gone back; part of journal keys."""
    since: int
    """The round after which it last went back, 0 before it does: rounds are counted from there to the depth."""
    doubted: list[str]
    """Why each answer given so far that does not fit the question cannot be what it asks for."""


class BeginState(TypedDict, total=False):
    """What the entry node may find: a question or messages, and what an earlier question left on the thread."""

    question: str
    messages: list[AnyMessage]
    manifest: Manifest
    answer: Answer | None


class Sample(TypedDict):
    """What one of several samples of a model answers."""

    answers: list[str]
    """Empty: it does not know."""


class TaskState(TypedDict):
    """What every Send payload carries beside its own work."""

    question: str
    manifest: Manifest
    round: int
    backtracked: int
    """As in `BacktrackState`; 0 in methods that never go back."""
    part: str
    """Tells the tasks of one fan-out apart; part of journal keys."""
    quota: Quota


class SampleTask(TaskState):
    """Payload of one of several samples."""

    sample: int
