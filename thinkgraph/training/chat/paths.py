"""Questions made of a graph's own paths, each with its gold path. It asks what every graph store can tell, and nothing else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.errors import UsageError
from thinkgraph.eval.questions import Question
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Direction, Entity, Neighbours, Relation, Step
from thinkgraph.tools.progress import Progress, no_progress
from thinkgraph.tools.protocols import GraphStore
from thinkgraph.training.chat.wording import AskedHop, asked_hop, count_text, question_text

_WORDS = (
    "the new of and great united red black white big john anna maria peter king queen saint city river mountain lake island "
    "north south east west house book day night man woman life love war world company university group team school music film"
)
"""What names are looked for with, to have entities to begin with; from these on the graph leads."""
_MOST_ENDS = 12
"""Things that a hop of a question reaches at most: more are too long an answer."""
_LONGEST_NAME = 60
_AT_A_TIME = 64
_ROUNDS = 12
"""Walks tried for each question that is wanted, before the graph is taken to have no more."""
_NEIGHBOURS = 10
_COUNTED, _IN_VAIN = 0.3, 0.15
"""How often a path also gives the question how many things it reaches, and one for what the graph does not know of its start."""
_RESERVED = ("-", "text:", "qualifier:")


@dataclass
class _Path:
    start: Entity
    length: int
    hops: list[tuple[Relation, tuple[str, ...]]] = field(default_factory=list)
    """Each relation, with the ids of what it reaches."""
    ends: dict[str, str] = field(default_factory=dict)
    """Id to label of what the last hop reached."""
    open: tuple[str, ...] = ()
    """The ids that the next hop starts from: none where literals were reached."""


def made_questions(
    graph: GraphStore, count: int, *, seed: int = 0, topics: Sequence[str] = (), progress: Progress = no_progress
) -> list[Question]:
    """Questions of one to three hops, a few that ask how many, and a few that the graph has no answer to.

    Args:
        graph: of any kind.
        count: how many.
        seed: of what is drawn.
        topics: names to begin with; without any the store is searched for common words.
        progress: told after every batch.

    Raises:
        UsageError: no entity was found to begin with, or no path that makes a question.
        StoreError: the graph cannot be read.
    """
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    pool = _starts(graph, topics, 2 * count, rng)
    found: dict[str, Question] = {}
    used: Counter[tuple[str, str]] = Counter()
    for _ in range(0, _ROUNDS * count, _AT_A_TIME):
        wanted = count - len(found)
        if wanted <= 0:
            break
        starts = rng.choices(pool, k=min(_AT_A_TIME, 2 * wanted))
        for question in _asked(graph, _walked(graph, starts, used, rng), rng):
            if len(found) < count:
                found.setdefault(question.question, question)
        progress("questions made", len(found), count)
    if not found:
        raise UsageError("no path of this graph makes a question: name entities that have relations with --topic NAME")
    return [replace(question, id=f"g{at:05}") for at, question in enumerate(found.values(), start=1)]


def _starts(graph: GraphStore, topics: Sequence[str], wanted: int, rng: random.Random) -> list[Entity]:
    """Entities with a name that no other bears: those found by name or by common words, and what lies around them."""
    hits = graph.lookup(topics, limit=5) if topics else graph.search(_WORDS.split(), limit=10)
    known = {match["entity"]["id"]: match["entity"] for group in hits for match in group}
    if not known:
        how = f"none of --topic {', '.join(topics)}" if topics else "nothing by common words"
        raise UsageError(f"no entity was found to begin with ({how}): name some of the graph's own with --topic NAME")
    fresh = list(known)
    while fresh and len(known) < wanted:
        around = graph.neighbourhood(rng.sample(fresh, min(len(fresh), _AT_A_TIME)), limit=_NEIGHBOURS)
        ends = {end for found in around for t in found["triples"] for end in (t["subject"], t["object"])} - known.keys()
        entities = [entity for entity in graph.entities(sorted(ends)) if entity and not entity["literal"]]
        fresh = [entity["id"] for entity in entities]
        known.update({entity["id"]: entity for entity in entities})
    named = [one for one in known.values() if 1 < len(one["label"]) <= _LONGEST_NAME and not one["label"].isdigit()]
    bearers = graph.lookup([one["label"] for one in named], limit=2)
    alone = [one for one, found in zip(named, bearers, strict=True) if len(found) <= 1]
    return alone or named or list(known.values())


def _walked(
    graph: GraphStore, starts: Sequence[Entity], used: Counter[tuple[str, str]], rng: random.Random
) -> list[_Path]:
    """A path from each start, hop by hop, all at once; those that come to nothing are left out."""
    paths = [_Path(start, at % 3 + 1, open=(start["id"],)) for at, start in enumerate(starts)]
    while going := [path for path in paths if path.open and len(path.hops) < path.length]:
        ids = list(dict.fromkeys(key for path in going for key in path.open))
        edges = dict(zip(ids, graph.relations(ids), strict=True))
        chosen = [(path, _chosen(path, edges, used, rng)) for path in going]
        steps = [
            Step(entity=key, relation=edge["name"], direction=edge["direction"])
            for path, edge in chosen
            if edge
            for key in path.open
            if any((edge["name"], edge["direction"]) == (one["name"], one["direction"]) for one in edges[key])
        ]
        unique = list({tuple(step.values()): step for step in steps}.values())
        reached = {
            tuple(step.values()): found
            for step, found in zip(unique, graph.neighbours(unique, limit=_MOST_ENDS + 1), strict=True)
        }
        for path, edge in chosen:
            _go_on(path, edge, reached)
    return [path for path in paths if path.ends]


def _chosen(
    path: _Path, edges: dict[str, list[Relation]], used: Counter[tuple[str, str]], rng: random.Random
) -> Relation | None:
    """A relation to walk, rather one that few questions have: not back, and not one that leads both ways."""
    every = [edge for key in path.open for edge in edges[key]]
    ways = {(edge["entity"], edge["name"], edge["direction"]) for edge in every}
    last = path.hops[-1][0]["name"] if path.hops else ""
    fitting = [
        edge
        for edge in every
        if edge["count"] <= _MOST_ENDS
        and edge["name"] != last
        and "|" not in edge["name"]
        and not edge["name"].startswith(_RESERVED)
        and edge["label"].strip()
        and (edge["entity"], edge["name"], "in" if edge["direction"] == "out" else "out") not in ways
    ]
    if not fitting:
        return None
    weights = [1 / (1 + used[edge["name"], edge["direction"]]) for edge in fitting]
    edge = rng.choices(fitting, weights)[0]
    used[edge["name"], edge["direction"]] += 1
    return edge


def _go_on(path: _Path, edge: Relation | None, reached: dict[tuple[object, ...], Neighbours]) -> None:
    """Take a hop, or give the path up: where it reaches too much, its start, or values from which nothing leads on."""
    path.ends, before, path.open = {}, path.open, ()
    if edge is None:
        return
    found = [reached[step] for key in before if (step := (key, edge["name"], edge["direction"])) in reached]
    triples = [triple for one in found for triple in one["triples"]]
    literal = any(triple["literal"] for triple in triples)
    if edge["direction"] == "out":
        ends = {triple["object"]: one_line(triple["object_label"]) for triple in triples}
    else:
        ends = {triple["subject"]: one_line(triple["subject_label"]) for triple in triples}
    path.hops.append((edge, tuple(ends)))
    last = len(path.hops) == path.length
    too_many = len(ends) > _MOST_ENDS or any(one["total"] > _MOST_ENDS for one in found)
    if too_many or path.start["id"] in ends or path.start["label"] in ends.values() or (literal and not last):
        return
    path.ends = ends
    path.open = () if last else tuple(ends)


def _asked(graph: GraphStore, paths: Sequence[_Path], rng: random.Random) -> Iterator[Question]:
    ids = list(dict.fromkeys(key for path in paths for _, ends in path.hops for key in ends))
    known = dict(zip(ids, graph.entities(ids), strict=True))
    lacking = _lacking(graph, paths)
    for path, lack in zip(paths, lacking, strict=True):
        if len(path.hops) < path.length:
            continue
        legs = [_asked_hop(edge, ends, known) for edge, ends in path.hops]
        name, topic = one_line(path.start["label"]), (path.start["label"],)
        rows: list[tuple[str, ...]] = [
            (path.start["id"] if at == 0 else "*", f"{'-' * (edge['direction'] == 'in')}{edge['name']}")
            for at, (edge, _) in enumerate(path.hops)
        ]
        answers = tuple(dict.fromkeys(path.ends.values()))
        yield Question(
            "", question_text(name, legs), answers, type=f"{len(legs)}hop", topic=topic, gold_path=tuple(rows)
        )
        if len(legs) == 1 and len(path.ends) > 1 and rng.random() < _COUNTED:
            counted, count = count_text(name, legs[0]), (str(len(path.ends)),)
            yield Question("", counted, count, type="count", topic=topic, gold_path=(*rows, ("count",)))
        if lack and rng.random() < _IN_VAIN:
            yield Question("", question_text(name, [_asked_hop(lack, (), known)]), (), type="unanswerable", topic=topic)


def _lacking(graph: GraphStore, paths: Sequence[_Path]) -> list[Relation | None]:
    """For each path a relation that its start does not have, while something of the same type has it."""
    starts = [path.start for path in paths]
    own = graph.relations([start["id"] for start in starts])
    by_type: dict[str, dict[tuple[str, Direction], Relation]] = {}
    for start, edges in zip(starts, own, strict=True):
        by_type.setdefault(start["type"], {}).update({(edge["name"], edge["direction"]): edge for edge in edges})
    found: list[Relation | None] = []
    for start, edges in zip(starts, own, strict=True):
        has = {edge["name"] for edge in edges}
        others = [edge for (name, way), edge in by_type[start["type"]].items() if name not in has and way == "out"]
        found.append(others[len(found) % len(others)] if others and start["type"] else None)
    return found


def _asked_hop(edge: Relation, ends: Sequence[str], known: Mapping[str, Entity | None]) -> AskedHop:
    reached = [one for key in ends if (one := known.get(key))]
    return asked_hop(edge["label"], edge["direction"], reached, many=len(ends) > 1)
