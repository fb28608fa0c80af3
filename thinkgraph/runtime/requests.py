"""What nodes ask for. A node is a generator: `edges = yield from relations(ids)`; only its driver does I/O.

Each function here is one request. Store requests cost one logical round trip; `pick`, `score`, `judge` and the others cost
one model call; `emit` is free; `together` carries requests out side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, cast

from langchain_core.messages import AIMessage

from thinkgraph.models.calls import Ask, Asked
from thinkgraph.prompts.kinds import Judgement, LookUp, Shape, SubQuestion, Verdict
from thinkgraph.prompts.library import Message
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.manifest import make_manifest
from thinkgraph.state.asking import UserQuestion
from thinkgraph.state.base import Manifest
from thinkgraph.state.events import Event
from thinkgraph.state.knowledge import (
    Entity,
    Link,
    Match,
    Neighbours,
    Passage,
    PassageHit,
    Relation,
    Step,
    Triple,
)
from thinkgraph.state.prose import Prose
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.linking.name_links import link_by_name

T = TypeVar("T")


class Fetch(ABC, Generic[T]):
    """A request that knowledge answers: blocking, carried out in a thread by the async driver."""

    @property
    def links(self) -> bool:
        """Whether the answer is lists of links, from which the driver takes what is not meant."""
        return False

    @abstractmethod
    def run(self, deps: Deps) -> T:
        """Carry the request out."""


Say = Callable[[Ask, "Sequence[Message]"], AIMessage]
AsyncSay = Callable[[Ask, "Sequence[Message]"], Awaitable[AIMessage]]
"""One turn with the model; see `thinkgraph.models.calls.turn`."""


class Converse(ABC, Generic[T]):
    """A request in which a model decides what happens next, as an agent does; every turn is journalled and budgeted."""

    @abstractmethod
    def run(self, say: Say, deps: Deps) -> T:
        """Carry the conversation on to its end."""

    @abstractmethod
    async def arun(self, say: AsyncSay, deps: Deps) -> T:
        """The same on an event loop."""


@dataclass(frozen=True)
class Emit:
    """Tell whoever listens how far the run is."""

    event: Event


@dataclass(frozen=True)
class Together:
    """Carry out several node parts side by side; the driver sends back their results in order."""

    parts: Sequence[Steps[Any]]


@dataclass(frozen=True)
class AskUser(Generic[T]):
    """Ask the person who started the run, and wait: LangGraph's interrupt. Not within `together`.

    The node starts again from its top when the reply is there, and its calls are then taken from the journal.
    """

    question: UserQuestion
    read: Callable[[object], T]
    """Reads a reply. A UsageError it raises is put to the person with the question, asked again."""


@dataclass(frozen=True)
class LeaveOut:
    """From here on links to these entities are left out: they were named, and not meant."""

    ids: Sequence[str]


Steps = Generator["Fetch[Any] | Ask | Emit | Together | Converse[Any] | AskUser[Any] | LeaveOut", Any, T]

Fallback: TypeAlias = T | Callable[[], T]
"""A value, or what makes it when it is needed: likeness over hundreds of lines is worth computing for no readable reply only."""


@dataclass(frozen=True)
class _Store(Fetch[T]):
    """One call of a store method."""

    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    @property
    def links(self) -> bool:
        return self.method == "linker.link"

    def run(self, deps: Deps) -> T:
        return cast("T", deps.call(self.method, *self.arguments, **self.options))


def link(texts: Sequence[str], *, limit: int) -> Steps[list[list[Link]]]:
    """Entities that each text mentions; see `Linker.link`."""
    return cast("list[list[Link]]", (yield _Store("linker.link", (texts,), {"limit": limit})))


@dataclass(frozen=True)
class _LinkNames(Fetch[list[list[Link]]]):
    texts: Sequence[str]
    limit: int
    guess: bool

    @property
    def links(self) -> bool:
        return True

    def run(self, deps: Deps) -> list[list[Link]]:
        return link_by_name(deps.knowledge.linker, self.texts, limit=self.limit, guess=self.guess)


def link_names(texts: Sequence[str], *, limit: int, guess: bool = False) -> Steps[list[list[Link]]]:
    """Entities whose name or alias stands in each text, every namesake; see `NameLinker.link_names`."""
    return (yield _LinkNames(texts, limit, guess)) if texts else []


def entities(ids: Sequence[str]) -> Steps[list[Entity | None]]:
    """See `GraphStore.entities`."""
    return (yield _Store("graph.entities", (ids,), {})) if ids else []


def triples(ids: Sequence[str]) -> Steps[list[Triple | None]]:
    """See `GraphStore.triples`."""
    return (yield _Store("graph.triples", (ids,), {})) if ids else []


def relations(ids: Sequence[str]) -> Steps[list[list[Relation]]]:
    """See `GraphStore.relations`."""
    return (yield _Store("graph.relations", (ids,), {})) if ids else []


def neighbours(steps: Sequence[Step], *, limit: int, seed: int) -> Steps[list[Neighbours]]:
    """See `GraphStore.neighbours`."""
    return (yield _Store("graph.neighbours", (steps,), {"limit": limit, "seed": seed})) if steps else []


def neighbourhood(ids: Sequence[str], *, limit: int, seed: int) -> Steps[list[Neighbours]]:
    """See `GraphStore.neighbourhood`."""
    return (yield _Store("graph.neighbourhood", (ids,), {"limit": limit, "seed": seed})) if ids else []


def edges_among(ids: Sequence[str], *, limit: int) -> Steps[list[Triple]]:
    """See `GraphStore.edges_among`."""
    return (yield _Store("graph.edges_among", (ids,), {"limit": limit})) if ids else []


def passages(ids: Sequence[str]) -> Steps[list[Passage | None]]:
    """See `TextStore.passages`. Without a text store: none."""
    return (yield _Store("text.passages", (ids,), {})) if ids else []


def passages_of(ids: Sequence[str], query: str, *, limit: int) -> Steps[list[PassageHit]]:
    """See `TextStore.passages_of`. Without a text store: none."""
    return (yield _Store("text.passages_of", (ids, query), {"limit": limit})) if ids else []


def search_passages(queries: Sequence[str], *, limit: int) -> Steps[list[list[PassageHit]]]:
    """See `TextStore.search`. Without a text store: none."""
    return (yield _Store("text.search", (queries,), {"limit": limit})) if queries else []


def lookup(names: Sequence[str], *, limit: int) -> Steps[list[list[Match]]]:
    """See `GraphStore.lookup`."""
    return (yield _Store("graph.lookup", (names,), {"limit": limit})) if names else []


def embed(texts: Sequence[str]) -> Steps[list[list[float]]]:
    """Unit vectors of texts by the knowledge's encoder; see `Embedder.embed`."""
    return (yield _Embed(texts)) if texts else []


@dataclass(frozen=True)
class _Embed(Fetch[list[list[float]]]):
    texts: Sequence[str]

    def run(self, deps: Deps) -> list[list[float]]:
        return deps.knowledge.embedder.embed(self.texts)


def cosines(texts: Sequence[str], others: Sequence[str]) -> Steps[list[list[float]]]:
    """Cosine of every text with every other text (a row for each text); all are encoded in one batch."""
    return (yield _Cosines(texts, others)) if texts and others else [[] for _ in texts]


@dataclass(frozen=True)
class _Cosines(Fetch[list[list[float]]]):
    texts: Sequence[str]
    others: Sequence[str]

    def run(self, deps: Deps) -> list[list[float]]:
        from thinkgraph.tools.encoders.embeddings import embed_array

        vectors = embed_array(deps.knowledge.embedder, [*self.texts, *self.others])
        found: list[list[float]] = (vectors[: len(self.texts)] @ vectors[len(self.texts) :].T).tolist()
        return found


@dataclass(frozen=True)
class _StartRun(Fetch[Manifest]):
    method: str
    run_number: int
    settings: RunSettings
    roles: Sequence[str]

    def run(self, deps: Deps) -> Manifest:
        return make_manifest(self.method, self.run_number, self.settings, self.roles, deps)


def start_run(method: str, number: int, settings: RunSettings, roles: Sequence[str]) -> Steps[Manifest]:
    """The manifest of a run that starts now (reading the knowledge's fingerprint may open its files)."""
    return cast("Manifest", (yield _StartRun(method, number, settings, roles)))


@dataclass(frozen=True)
class _Rank(Fetch[list[float]]):
    ranker: str
    query: str
    texts: Sequence[str]

    def run(self, deps: Deps) -> list[float]:
        return deps.ranker(self.ranker).score(self.query, self.texts)


def rank_texts(ranker: str, query: str, texts: Sequence[str]) -> Steps[list[float]]:
    """Scores of a ranker that needs no model; see `Ranker.score`."""
    return (yield _Rank(ranker, query, texts)) if texts else []


@dataclass(frozen=True)
class _Prose(Fetch[list[Prose]]):
    model: str
    communities: Sequence[Sequence[Triple]]

    def run(self, deps: Deps) -> list[Prose]:
        from thinkgraph.tools.communities.g2t import writer

        del deps  # a checkpoint is shared by the process, whatever the graph
        return writer(self.model).write(self.communities)


@dataclass(frozen=True)
class _Computed(Fetch[T]):
    """Work of the processor alone: in a thread under the async driver, as stores and encoders are."""

    work: Callable[[], T]

    def run(self, deps: Deps) -> T:
        del deps
        return self.work()


def computed(work: Callable[[], T]) -> Steps[T]:
    """What a long computation without I/O gives; an event loop must not wait for it."""
    return cast("T", (yield _Computed(work)))


def prose(model: str, communities: Sequence[Sequence[Triple]]) -> Steps[list[Prose]]:
    """Each community in the words of a graph-to-text checkpoint, checked against its triples; see `GraphToText.write`.

    One request for all communities of a round. Without communities it only loads the checkpoint: asked at the start of a run, it
    refuses a wrong name before any model is called.
    """
    return cast("list[Prose]", (yield _Prose(model, communities)))


def ask_user(question: UserQuestion, read: Callable[[object], T]) -> Steps[T]:
    """What the person replies; see `AskUser`."""
    return cast("T", (yield AskUser(question, read)))


def leave_out(ids: Sequence[str]) -> Steps[None]:
    """Leave entities out of links in this node; in later ones the manifest's `not_meant` does."""
    yield LeaveOut(ids)


def emit(event: Event) -> Steps[None]:
    """Send a progress event."""
    yield Emit(event)


def together(parts: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Run node parts side by side and return their results in order."""
    if len(parts) == 1:
        return [(yield from parts[0])]
    return (yield Together(parts)) if parts else []


def converse(agent: Converse[T]) -> Steps[T]:
    """Let an agent do its work."""
    return cast("T", (yield agent))


def _ask(role: str, inputs: Mapping[str, str], shape: Shape, fallback: Any, options: Mapping[str, Any]) -> Steps[Asked]:
    return cast("Asked", (yield Ask(role=role, inputs=inputs, shape=shape, fallback=fallback, **options)))


def pick(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: Fallback[list[int]], **options: Any
) -> Steps[list[int]]:
    """Numbers of the chosen options, from 1; the fallback where no readable reply came. Fallback, options: see `Ask`."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[int]", asked.value)


def score(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: Fallback[list[tuple[int, float]]], **options: Any
) -> Steps[list[tuple[int, float]]]:
    """Pairs (number, score 0 to 10) of the options that scored."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[tuple[int, float]]", asked.value)


def judge(role: str, inputs: Mapping[str, str], *, shape: Shape, **options: Any) -> Steps[Judgement]:
    """A judgement of the evidence; the fallback is "not sufficient, no answer"."""
    nothing = Judgement(sufficient=False, answers=[], evidence=[], clues="", query="")
    asked = yield from _ask(role, inputs, shape, nothing, options)
    return cast("Judgement", asked.value)


def text(role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: str, **options: Any) -> Steps[str]:
    """Plain text."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("str", asked.value)


def pairs(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: Fallback[list[tuple[int, int]]], **options: Any
) -> Steps[list[tuple[int, int]]]:
    """Pairs (number of a clue, number of an option)."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[tuple[int, int]]", asked.value)


def keywords(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: list[str], **options: Any
) -> Steps[list[str]]:
    """A list of short texts."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[str]", asked.value)


def names(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: list[str], **options: Any
) -> Steps[list[str]]:
    """Names of things, as they are written."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[str]", asked.value)


def texts(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: list[str], **options: Any
) -> Steps[list[str]]:
    """One text for each option."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[str]", asked.value)


def keys(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: list[LookUp], **options: Any
) -> Steps[list[LookUp]]:
    """What to look up for a list of questions."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[LookUp]", asked.value)


def subquestions(
    role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: list[SubQuestion], **options: Any
) -> Steps[list[SubQuestion]]:
    """Questions that a question breaks down into."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("list[SubQuestion]", asked.value)


def verdict(role: str, inputs: Mapping[str, str], *, shape: Shape, fallback: Verdict, **options: Any) -> Steps[Verdict]:
    """Right or wrong."""
    asked = yield from _ask(role, inputs, shape, fallback, options)
    return cast("Verdict", asked.value)
