"""Going back in a run: its checkpoints, what of a state a person may change, and a branch that goes on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

from langgraph.types import Overwrite
from typing_extensions import TypedDict

from thinkgraph.cli.ask import kept_words
from thinkgraph.cli.runs import RunOptions, RunRow, RunStore
from thinkgraph.errors import RunError, ThinkGraphError, UsageError
from thinkgraph.graphs.build import Graph
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.evidence import Path
from thinkgraph.state.knowledge import Candidate, Entity
from thinkgraph.state.tog2 import Topic
from thinkgraph.tools.knowledge import Knowledge

_STARTS: Mapping[str, AbstractSet[str]] = {
    "topics": {"context_retrieval", "retrieve_paths", "reason", "relation_prune"},
    "subjects": {"community_search"},
}
"""Channels with the entities that a search goes out from, and the steps that do. Steps before these make them anew."""
_SEARCHING = frozenset({"context_retrieval", "entity_discovery", "relation_prune"})
"""Steps up to the one that looks for the query. Reason, which comes then, writes the next one."""
_ANSWERED = ("draft", "mind_map", "given")
"""Channels that hold the run to its question: an answer, CogGRAG's breakdown of it, the search agent's last word."""
_COUNTING = frozenset({"majority", "answer"})
"""Steps that take what was answered before, whatever the question is."""
MOST_TEXT = 4_000
"""Longest text that may be changed, in characters: as long as a page shows it."""


class Named(TypedDict):
    """A thing that a person may take out of a state."""

    id: str
    label: str


class Moment(TypedDict):
    """A checkpoint, and what of it may be changed."""

    id: str
    at: float
    """Seconds since the epoch."""
    round: int
    did: str
    """The step that led here."""
    next: list[str]
    starts: list[Named]
    relations: list[Named]
    clues: list[str]
    texts: dict[str, str]
    addable: bool
    """Whether another entity can be put among `starts`: what would be lost on the way is not offered."""


def moments(graph: Graph, row: RunRow) -> list[Moment]:
    """The checkpoints from which a run can go on otherwise, oldest first.

    Args:
        graph: of the run's method, over the checkpoints of its store.
        row: the run.
    """
    found: list[Moment] = []
    for state in graph.get_state_history({"configurable": {"thread_id": row["thread"]}}):
        key = str((state.config.get("configurable") or {}).get("checkpoint_id") or "")
        if key == row["after"]:
            break
        if found:
            # Newest first: what was to come next at this one is what led to the one before.
            found[-1]["did"] = ", ".join(dict.fromkeys(state.next))
        found.append(_moment(key, state))
    return [one for one in reversed(found) if one["did"] and one["next"] and not one["did"].startswith("__")]


def _moment(key: str, state: Any) -> Moment:
    values = state.values
    labels = _labels(values)
    kept = values.get("kept") or {}
    channel = _channel(values, state.next)
    texts: dict[str, object] = {}
    if not any(map(values.get, _ANSWERED)) and not _COUNTING & set(state.next):
        texts["question"] = values.get("question")
    if _SEARCHING & set(state.next):
        texts["query"] = values.get("query")
    # Branches name clues by their numbers.
    clues = values.get("clues") if not values.get("branches") else None
    return Moment(
        id=key,
        at=datetime.fromisoformat(state.created_at).timestamp(),
        round=int(values.get("round") or 0),
        did="",
        next=list(dict.fromkeys(state.next)),
        starts=[Named(id=one["id"], label=one["label"]) for one in (values[channel] if channel else ())],
        relations=[Named(id=name, label=_step(one, labels)) for name, one in kept.items()],
        clues=list(clues) if isinstance(clues, list) else [],
        texts={name: text for name, text in texts.items() if isinstance(text, str)},
        addable=channel is not None,
    )


def _channel(values: Mapping[str, Any], upcoming: Sequence[str]) -> str | None:
    """The channel with the entities that the search goes out from next; None where it has left them, or will make them itself."""
    if values.get("hops") or values.get("chains"):
        return None
    return next((name for name, steps in _STARTS.items() if name in values and steps & set(upcoming)), None)


def _labels(values: Mapping[str, Any]) -> dict[str, str]:
    return {one["id"]: one["label"] for name in _STARTS for one in values.get(name) or ()}


def _step(kept: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A relation as it is walked, from the one entity that it was kept for."""
    name = str(kept["relation"]).replace("_", " ")
    arrow = f"← {name}" if kept["direction"] == "in" else f"{name} →"
    return f"{labels.get(kept['entity'], kept['entity'])}: {arrow}"


def changes(
    state: Mapping[str, Any], moment: Moment, asked: Mapping[str, Any], knowledge: Knowledge
) -> tuple[dict[str, Any], list[str]]:
    """The update that a person wants of a state, and the same in words.

    Args:
        state: the checkpoint's channels.
        moment: what of it may be changed.
        asked: `drop` (ids of starts), `add` (ids of entities), `forbid` (keys of relations, each from one entity), `clues`, and texts by channel.
        knowledge: where entities to add are looked up.

    Raises:
        UsageError: malformed, or nothing is left to go on from.
    """
    update: dict[str, Any] = {}
    words: list[str] = []
    drop, add, forbid = (_strings(asked, name) for name in ("drop", "add", "forbid"))
    if drop or add:
        words += _starts_anew(update, state, moment, drop, add, knowledge)
    if forbid:
        kept = state.get("kept") or {}
        update["kept"] = Overwrite({key: one for key, one in kept.items() if key not in forbid})
        # Nor is it offered from there again, should the search go back; from other entities it may be.
        update["walked"] = {key: kept[key] for key in forbid if key in kept}
        labels = _labels(state)
        words += [f"not from {one_line(_step(kept[key], labels))}" for key in forbid if key in kept]
    if "clues" in asked and moment["clues"]:
        update["clues"] = [_whole("a clue", one) for one in _strings(asked, "clues") if one.strip()]
        words.append(f"clues: {'; '.join(map(one_line, update['clues']))}")
    for name in moment["texts"]:
        text = asked.get(name)
        if isinstance(text, str) and text.strip() and text.strip() != state.get(name):
            update[name] = _whole(f"the {name}", text)
            words.append(f"{name}: {one_line(update[name])}")
    return update, words


def _whole(what: str, text: str) -> str:
    """A text as it is kept. A part of it could be another question."""
    kept = kept_words(text)
    if len(kept) > MOST_TEXT:
        raise UsageError(f"{what} has {len(kept):,} characters, more than the {MOST_TEXT:,} that a change may have")
    return kept


def _starts_anew(
    update: dict[str, Any],
    state: Mapping[str, Any],
    moment: Moment,
    drop: Sequence[str],
    add: Sequence[str],
    knowledge: Knowledge,
) -> list[str]:
    """Put other entities to go out from into an update; says in words which."""
    channel = _channel(state, moment["next"])
    if channel is None:
        raise UsageError(f"entities are not chosen after {moment['did']}: go back to a step that offers some")
    left: list[Any] = [one for one in state[channel] if one["id"] not in drop]
    words = [f"without {one_line(one['label'])}" for one in state[channel] if one["id"] in drop]
    known = {one["id"] for one in left}
    for key, entity in zip(add, knowledge.graph.entities(add), strict=True):
        if entity is None:
            raise UsageError(f"there is no entity '{one_line(key)[:80]}' to go out from")
        if entity["id"] not in known:
            left.append(_topic(entity) if channel == "topics" else _subject(entity))
            words.append(f"with {one_line(entity['label'])}")
    if not left:
        raise UsageError("nothing is left to go out from: keep an entity, or add one")
    update[channel] = left
    return words


def branch(
    graph: Graph,
    runs: RunStore,
    row: RunRow,
    thread: str,
    options: RunOptions,
    asked: Mapping[str, Any],
    knowledge: Knowledge,
) -> tuple[Moment, list[str]]:
    """Start a run at a checkpoint of another one, with what was changed in it, to go on there.

    Args:
        graph: of the run's method, over the checkpoints of its store.
        runs: the store.
        row: the run that is gone back in.
        thread: the new run's.
        options: what the new run goes on with.
        asked: the checkpoint, and what `changes` takes.
        knowledge: where entities to add are looked up.

    Returns:
        The checkpoint, and the changes in words.

    Raises:
        RunError: there is no such checkpoint.
        UsageError: see `changes`.
    """
    key = asked.get("checkpoint")
    saver = runs.checkpointer()
    old: Any = {"configurable": {"thread_id": row["thread"], "checkpoint_ns": "", "checkpoint_id": key}}
    chosen = next((one for one in moments(graph, row) if one["id"] == key), None)
    kept = saver.get_tuple(old) if chosen else None
    if chosen is None or kept is None:
        raise RunError(f"run {row['thread']} has no such checkpoint to go back to")
    update, words = changes(kept.checkpoint["channel_values"], chosen, asked, knowledge)
    new: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    # Before its first checkpoint: what lies on a thread when a run starts is not the run's.
    runs.start(thread, update.get("question", row["question"]), options)
    try:
        saver.put(new, kept.checkpoint, kept.metadata, kept.checkpoint["channel_versions"])
        if update:
            graph.update_state(new, update, as_node=chosen["did"].split(", ")[0])
    except ThinkGraphError:
        runs.remove(thread)
        raise
    return chosen, words


def _topic(entity: Entity) -> Topic:
    key, path = entity["id"], Path(start=entity["id"], triples=[])
    about = entity["description"]
    return Topic(id=key, label=entity["label"], description=about, path=path, on_path=[key], score=1.0, came_by="")


def _subject(entity: Entity) -> Candidate:
    label, about = entity["label"], entity["description"]
    return Candidate(id=entity["id"], label=label, description=about, method="exact", mention=label, score=1.0)


def _strings(asked: Mapping[str, Any], name: str) -> list[str]:
    given = asked.get(name) or []
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise UsageError(f"{name} is a list of texts")
    return list(given)
