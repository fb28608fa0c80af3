"""What a node asks for. A node is a flow: `edges = yield from requests.relations(ids)`; only its driver does I/O.

Each function here is one request. Store requests cost one logical round trip, `call` costs one model call, `emit` is free;
`together` carries flows out side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage

from thinkgraph.models.calls import CallResult, CallScope, Fallback, ModelCall
from thinkgraph.models.ops import Blocking, Flow, Gather, Op
from thinkgraph.models.window import Rank
from thinkgraph.prompts.kinds import Kind, Shape
from thinkgraph.prompts.library import Message
from thinkgraph.prompts.tasks import Task
from thinkgraph.runtime.ceilings import Ceilings, from_user
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.manifest import make_manifest
from thinkgraph.state.base import Manifest
from thinkgraph.state.events import Event, UserQuestion
from thinkgraph.state.knowledge import Entity, Link, Neighbours, Passage, PassageHit, Prose, Relation, Step, Triple
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import CallRecord
from thinkgraph.tools.protocols import Linker, call_checked, link_by_name

T = TypeVar("T")


@dataclass(frozen=True)
class Fetch(Op[T]):
    """Ask the knowledge: blocking, in a pool's thread beside an event loop."""

    function: Callable[[Deps], T]
    links: bool = False
    """Whether the result is lists of links: the driver takes those out that are not meant (`leave_out`)."""


@dataclass(kw_only=True)
class NodeScope(CallScope):
    """Where one node execution happens."""

    ceilings: Ceilings
    in_branch: bool = False
    """Whether the node belongs to a branch's subgraph."""
    left_out: frozenset[str] = frozenset()
    """Entities that links leave out."""


@dataclass(frozen=True)
class InNode(Op[T]):
    """Ask or tell the node execution itself: at once, in the run's own thread."""

    function: Callable[[NodeScope], T]


Turn = Callable[[ModelCall[Any], Sequence[Message]], AIMessage]
AsyncTurn = Callable[[ModelCall[Any], Sequence[Message]], Awaitable[AIMessage]]
"""One turn with the model; see `thinkgraph.models.calls.turn`."""


class Converse(Op[T], ABC):
    """A model decides what happens next, as an agent does; every turn is journalled and budgeted."""

    @abstractmethod
    def run(self, turn: Turn, deps: Deps) -> T:
        """Carry the conversation on to its end."""

    @abstractmethod
    async def arun(self, turn: AsyncTurn, deps: Deps) -> T:
        """The same on an event loop."""


def _perform(op: Op[T]) -> Flow[T]:
    return cast("T", (yield op))


def _store(method: str, asked: Sequence[Any], *arguments: Any, **options: Any) -> Flow[list[Any]]:
    """One call of a store's method; none where nothing is asked."""
    return (yield Fetch(lambda deps: deps.call(method, asked, *arguments, **options))) if asked else []


def link(texts: Sequence[str], *, limit: int) -> Flow[list[list[Link]]]:
    """Entities that each text mentions; see `Linker.link`."""
    return _perform(
        Fetch(lambda deps: call_checked(Linker, deps.knowledge.linker, "link", texts, limit=limit), links=True)
    )


def link_names(texts: Sequence[str], *, limit: int, guess: bool = False) -> Flow[list[list[Link]]]:
    """Entities whose name or alias stands in each text, every namesake; see `NameLinker.link_names`."""
    named = Fetch(lambda deps: link_by_name(deps.knowledge.linker, texts, limit=limit, guess=guess), links=True)
    return (yield named) if texts else []


def entities(ids: Sequence[str]) -> Flow[list[Entity | None]]:
    """See `GraphStore.entities`."""
    return _store("graph.entities", ids)


def triples(ids: Sequence[str]) -> Flow[dict[str, Triple]]:
    """Those of the triples that the store has, by id; see `GraphStore.triples`."""
    found = yield from _store("graph.triples", ids)
    return {triple["id"]: triple for triple in found if triple is not None}


def relations(ids: Sequence[str]) -> Flow[list[list[Relation]]]:
    """See `GraphStore.relations`."""
    return _store("graph.relations", ids)


def neighbours(steps: Sequence[Step], *, limit: int, seed: int) -> Flow[list[Neighbours]]:
    """See `GraphStore.neighbours`."""
    return _store("graph.neighbours", steps, limit=limit, seed=seed)


def neighbourhood(ids: Sequence[str], *, limit: int, seed: int) -> Flow[list[Neighbours]]:
    """See `GraphStore.neighbourhood`."""
    return _store("graph.neighbourhood", ids, limit=limit, seed=seed)


def edges_among(ids: Sequence[str], *, limit: int) -> Flow[list[Triple]]:
    """See `GraphStore.edges_among`."""
    return _store("graph.edges_among", ids, limit=limit)


def passages(ids: Sequence[str]) -> Flow[dict[str, Passage]]:
    """Those of the passages that the store has, by id; see `TextStore.passages`. Without a text store: none."""
    found = yield from _store("text.passages", ids)
    return {passage["id"]: passage for passage in found if passage is not None}


def passages_of(ids: Sequence[str], query: str, *, limit: int) -> Flow[list[PassageHit]]:
    """See `TextStore.passages_of`. Without a text store: none."""
    return _store("text.passages_of", ids, query, limit=limit)


def candidates_of(ids: Sequence[str], query: str, *, limit: int) -> Flow[list[Passage]]:
    """Passages of entities for a node that ranks them; see `CandidateStore.candidates_of`. Without a text store: none."""
    return (yield Fetch(lambda deps: deps.candidates_of(ids, query, limit=limit))) if ids else []


def search_passages(queries: Sequence[str], *, limit: int) -> Flow[list[list[PassageHit]]]:
    """See `TextStore.search`. Without a text store: none."""
    return _store("text.search", queries, limit=limit)


def cosines(texts: Sequence[str], others: Sequence[str]) -> Flow[list[list[float]]]:
    """Cosine of every text with every other text (a row for each text); all are encoded in one batch."""

    def compare(deps: Deps) -> list[list[float]]:
        from thinkgraph.tools.encoders.embeddings import embed_array

        vectors = embed_array(deps.knowledge.embedder, [*texts, *others])
        found: list[list[float]] = (vectors[: len(texts)] @ vectors[len(texts) :].T).tolist()
        return found

    return (yield Fetch(compare)) if texts and others else [[] for _ in texts]


def start_run(method: str, number: int, settings: RunSettings, roles: Sequence[str]) -> Flow[Manifest]:
    """The manifest of a run that starts now (reading the knowledge's fingerprint may open its files)."""
    return _perform(Fetch(lambda deps: make_manifest(method, number, settings, roles, deps)))


def rank_texts(ranker: str, query: str, texts: Sequence[str]) -> Flow[list[float]]:
    """Scores of a ranker that needs no model; see `Ranker.score`."""
    return (yield Fetch(lambda deps: deps.ranker(ranker).score(query, texts))) if texts else []


def prose(model: str, communities: Sequence[Sequence[Triple]]) -> Flow[list[Prose]]:
    """Each community in the words of a graph-to-text checkpoint, checked against its triples; see `GraphToText.write`.

    One request for all communities of a round. Without communities it only loads the checkpoint: asked at the start of a run, it
    refuses a wrong name before any model is called.
    """

    def write() -> list[Prose]:
        from thinkgraph.tools.communities.g2t import writer

        return writer(model).write(communities)

    return _perform(Blocking(write))


def computed(work: Callable[[], T]) -> Flow[T]:
    """What a long computation without I/O gives; an event loop must not wait for it."""
    return _perform(Blocking(work))


def interrupt(question: UserQuestion, read: Callable[[object], T]) -> Flow[T]:
    """What the person who started the run replies: LangGraph's interrupt. Not within `together`.

    The node starts again from its top when the reply is there, and its calls are then taken from the journal. A UsageError of `read`
    is put to the person with the question, asked again.
    """
    return _perform(InNode(lambda _: from_user(question, read)))


def leave_out(ids: Sequence[str]) -> Flow[None]:
    """Leave entities, named and not meant, out of links in this node; in later ones the manifest's `not_meant` does."""

    def put(node: NodeScope) -> None:
        node.left_out = frozenset(ids)

    return _perform(InNode(put))


def calls_made() -> Flow[Mapping[str, CallRecord]]:
    """What the calls of this node cost so far, by key: the state has them only when the node has ended."""
    return _perform(InNode(lambda node: dict(node.records)))


def emit(event: Event) -> Flow[None]:
    """Send a progress event."""
    return _perform(InNode(lambda node: node.emit(event)))


def together(parts: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run flows side by side and return their results in order."""
    if len(parts) == 1:
        return [(yield from parts[0])]
    return (yield Gather(parts)) if parts else []


def converse(agent: Converse[T]) -> Flow[T]:
    """Let an agent do its work."""
    return _perform(agent)


def call(
    kind: Kind[T],
    role: str,
    inputs: Mapping[str, str],
    *,
    shape: Shape,
    fallback: Fallback[T],
    key: str = "",
    sample: int = 0,
    task: Task | None = None,
    spare: int = 0,
    temperature: float | None = None,
    rank: Mapping[str, Rank] | None = None,
) -> Flow[T]:
    """One model call: the reply as its kind reads it, or the fallback where no readable reply came.

    The arguments are the fields of `ModelCall`.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    result: CallResult[T] = yield ModelCall(
        kind=kind,
        role=role,
        inputs=inputs,
        shape=shape,
        fallback=fallback,
        key=key,
        sample=sample,
        task=task,
        spare=spare,
        temperature=temperature,
        rank=rank or {},
    )
    return result.value
