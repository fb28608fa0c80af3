"""Progress as a stream of typed events (`stream_mode="custom"`), and what a run asks the person who started it."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from thinkgraph.state.answer import TraceLine


class Scored(TypedDict):
    """A label with its score, for people."""

    label: str
    score: float


class Started(TypedDict):
    """The run begins."""

    type: Literal["started"]
    method: str
    question: str
    models: list[str]
    knowledge: str


class Rephrased(TypedDict):
    """A follow-up question was put in full, by what was said before."""

    type: Literal["rephrased"]
    question: str
    """As it was asked."""
    full: str
    """As it is answered."""


class Linked(TypedDict):
    """Mentions of the question were linked to entities."""

    type: Literal["linked"]
    candidates: list[Scored]


class Pruned(TypedDict):
    """A prune kept some and dropped others."""

    type: Literal["pruned"]
    what: str
    round: int
    kept: list[Scored]
    dropped: list[Scored]
    reason: str


class Retrieved(TypedDict):
    """Knowledge was fetched and ranked."""

    type: Literal["retrieved"]
    round: int
    entities: int
    triples: int
    passages: int
    ranked: int
    """Texts that were scored exactly."""
    best: list[str]


class Reasoned(TypedDict):
    """The model judged the evidence."""

    type: Literal["reasoned"]
    round: int
    sufficient: bool
    answers: list[str]
    clues: str
    query: str


class Verified(TypedDict):
    """A sub-question came out: its answer, and what the verifier said."""

    type: Literal["verified"]
    round: int
    node: str
    question: str
    answers: list[str]
    """Empty: "I don't know"."""
    right: bool | None
    """None: nobody was asked."""
    attempts: int
    why: str
    """Why there is no answer; empty where there is one."""


class Traced(TypedDict):
    """The method's own bookkeeping (`Answer.trace`) as it stands after a step."""

    type: Literal["traced"]
    round: int
    title: str
    lines: list[TraceLine]


class Called(TypedDict):
    """A model call came back (or was replayed from the journal)."""

    type: Literal["called"]
    role: str
    model: str
    seconds: float
    attempts: int
    """Requests sent; each counts as a call."""
    input_tokens: int
    output_tokens: int
    replayed: bool
    """Whether it was told and counted before: a reply from the journal, or one that the fallback now stands for."""
    problem: str
    """Empty, or why the reply had to be repaired or replaced by the fallback."""
    left_out: int
    """Numbered lines left out of the prompt to fit the model's window."""


class Waiting(TypedDict):
    """A request failed, and is made again after a pause."""

    type: Literal["waiting"]
    role: str
    model: str
    seconds: float
    """Of the pause."""
    reason: str


class Stopped(TypedDict):
    """A ceiling was reached."""

    type: Literal["stopped"]
    reason: str


class Answered(TypedDict):
    """The run is done."""

    type: Literal["answered"]
    status: str
    text: str
    confidence: float | None
    """As in `Answer`."""


Event = (
    Started
    | Rephrased
    | Linked
    | Pruned
    | Retrieved
    | Reasoned
    | Verified
    | Traced
    | Called
    | Waiting
    | Stopped
    | Answered
)


class UserOption(TypedDict):
    """One entity that may be meant."""

    number: int
    """From 1: what the reply names it by."""
    id: str
    label: str
    description: str


class ActionRequest(TypedDict):
    """The question in the form of LangChain's human-in-the-loop middleware, which chat pages for agents know how to show."""

    name: str
    args: dict[str, str]
    """The one argument is the reply."""
    description: str


class ReviewConfig(TypedDict):
    """What the person may decide, in the same form."""

    action_name: str
    allowed_decisions: list[str]


class UserQuestion(TypedDict):
    """One question to the person (`ask_user`): the value of LangGraph's interrupt. The run waits for `Command(resume=…)`."""

    kind: Literal["ambiguity", "budget"]
    text: str
    options: list[UserOption]
    """Ambiguity: the entities of that name."""
    reply: str
    problem: str
    """Why the last reply could not be used; empty at first."""
    action_requests: NotRequired[list[ActionRequest]]
    """The same question for pages that know this form; a reply in their form (`{"decisions": […]}`) is understood."""
    review_configs: NotRequired[list[ReviewConfig]]
