"""The mind map (CogGRAG section 3.2): how it grows, in which order its questions can be answered, how it is drawn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.coggrag import CogGragSettings, DrawnNode, Key, MindNode, Part, Solution
from thinkgraph.tools.grounding import fold

ROOT = "0"
LONGEST = 500
"""Most characters of a sub-question."""
MOST_NAMED = 30
"""Most answers put in for one reference."""
_REFERENCE = re.compile(r"#(\d{1,3})\b")
_SHOWN = 5
"""Answers that a line of the outline shows."""
_ROOM = 64
"""Characters of a question in the outline once it has an outcome, so that a terminal shows that too."""

Nodes = Mapping[str, MindNode]


def plant(question: str, settings: CogGragSettings) -> MindNode:
    """The root (q, 0, Continue)."""
    breaks = settings.decompose and settings.questions > 1
    return MindNode(
        id=ROOT, question=one_line(question), level=0, state="continue" if breaks else "end", parent="", refers={}
    )


def in_order(ids: Iterable[str]) -> list[str]:
    """Ids as an outline lists them: a question, then what it breaks down into."""
    return sorted(ids, key=lambda key: [int(part) for part in key.split(".")])


def children(nodes: Nodes, key: str) -> list[str]:
    """Ids of the questions that one breaks down into."""
    return in_order(node["id"] for node in nodes.values() if node["parent"] == key)


def waiting(nodes: Nodes) -> list[str]:
    """Ids of the questions that are still to be broken down."""
    parents = {node["parent"] for node in nodes.values()}
    return in_order(key for key, node in nodes.items() if node["state"] == "continue" and key not in parents)


def ancestors(nodes: Nodes, key: str) -> list[str]:
    """Ids of the questions above one, nearest first."""
    found = []
    while key := nodes[key]["parent"]:
        found.append(key)
    return found


def references(nodes: Nodes, key: str) -> list[str]:
    """Ids of the questions whose answers one needs: its own references and those it inherits from the questions above."""
    return in_order({target for at in (key, *ancestors(nodes, key)) for target in nodes[at]["refers"].values()})


# --- growing --------------------------------------------------------------------------------------------------------


@dataclass
class Growth:
    """What became of some decompositions."""

    nodes: dict[str, MindNode]
    """The map with what was added."""
    notes: list[str] = field(default_factory=list)
    """What was left out or cut, in words."""


def acyclic(refers: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """References among siblings without cycles, and those that were dropped, as (from, to).

    References to earlier siblings are kept first, in order; one to a later sibling is kept where it closes no cycle.

    Args:
        refers: for each sibling the numbers (from 1) it refers to, all in range.
    """
    kept: list[list[int]] = [[] for _ in refers]
    edges = [(own, to) for own, targets in enumerate(refers, start=1) for to in dict.fromkeys(targets)]
    broken = []
    for own, to in sorted(edges, key=lambda edge: (edge[1] > edge[0], edge)):
        reached, queue = {to}, [to]
        while queue:
            new = set(kept[queue.pop() - 1]) - reached
            reached |= new
            queue += new
        if own in reached:
            broken.append((own, to))
        else:
            kept[own - 1].append(to)
    return kept, sorted(broken)


def grow(nodes: Nodes, splits: Mapping[str, Sequence[Part]], settings: CogGragSettings) -> Growth:
    """Add what open questions were broken down into, within the limits on depth, questions and repeats."""
    growth = Growth(dict(nodes))
    for key in waiting(nodes):
        if key in splits:
            _add(growth, key, splits[key], settings)
            if not children(growth.nodes, key):
                growth.nodes[key] = {**growth.nodes[key], "state": "end"}
    return growth


def _meaning(text: str, refers: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Two questions with one meaning are repeats: the same words about the same answers."""
    return fold(text) or text, tuple(sorted(set(refers)))


def _meaning_of(node: MindNode) -> tuple[str, tuple[str, ...]]:
    return _meaning(node["question"], node["refers"].values())


def _add(growth: Growth, key: str, parts: Sequence[Part], settings: CogGragSettings) -> None:
    nodes, level = growth.nodes, growth.nodes[key]["level"] + 1
    texts = [one_line(part["question"])[:LONGEST].strip() for part in parts]
    # A model may write "#1" and forget to list it.
    named = [[int(number) for number in _REFERENCE.findall(text)] for text in texts]
    wanted = [
        [number for number in (*part["refers"], *found) if 1 <= number <= len(parts)]
        for part, found in zip(parts, named, strict=True)
    ]
    refers, broken = acyclic(wanted)
    growth.notes += [f'"{texts[own - 1]}" cannot wait for #{to}: that would be a circle' for own, to in broken]
    above = {_meaning_of(nodes[at]) for at in (key, *ancestors(nodes, key))}
    elsewhere = {_meaning_of(node) for node in nodes.values()}
    family: dict[tuple[str, tuple[str, ...]], str] = {}
    placed: dict[int, str] = {}
    for number in _before_first(refers):
        part, text = parts[number - 1], texts[number - 1]
        targets = {str(to): placed[to] for to in refers[number - 1] if to in placed}
        meaning = _meaning(text, targets.values())
        if not text:
            continue
        if meaning in above:
            if len(parts) > 1:
                growth.notes.append(f'"{text}" repeats a question above it')
        elif meaning in family:
            placed[number] = family[meaning]
            growth.notes.append(f'"{text}" stands there twice')
        elif len(nodes) >= settings.questions:
            growth.notes.append(f'"{text}" is beyond the limit of {settings.questions} questions')
        else:
            is_open = part["open"] and level < settings.depth and meaning not in elsewhere
            if part["open"] and not is_open:
                why = "it stands elsewhere too" if meaning in elsewhere else f"level {level} is the last"
                growth.notes.append(f'"{text}" is not broken down: {why}')
            own = f"{key}.{number}"
            placed[number] = family[meaning] = own
            nodes[own] = MindNode(
                id=own,
                question=text,
                level=level,
                state="continue" if is_open else "end",
                parent=key,
                refers=targets,
            )


def _before_first(refers: Sequence[Sequence[int]]) -> list[int]:
    """Numbers of siblings, each after those it refers to, else in their order."""
    order: list[int] = []
    left = list(range(1, len(refers) + 1))
    while left:
        number = next(number for number in left if set(refers[number - 1]) <= set(order))
        order.append(number)
        left.remove(number)
    return order


# --- order ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """In which order the questions of a mind map can be answered."""

    waves: list[list[str]]
    """Questions that can be answered side by side, in order."""
    sees: dict[str, list[str]]
    """By question, those answered before it whose answers it is shown."""


def plan(nodes: Nodes) -> Plan:
    """Bottom-up by level, where references allow.

    A question waits for what it breaks down into and for its references, inherited ones included. It also waits for every
    other question of a deeper level, whose answer it is to see (section 4.3), unless that one waits for it: there
    references win. Waits of the second sort may close a circle over several families; then the deepest question that waits
    for no answer it needs goes first.
    """
    needs = {key: {*children(nodes, key), *references(nodes, key)} for key in nodes}
    later = _dependants(needs)
    deeper = {
        key: {other for other in nodes if nodes[other]["level"] > nodes[key]["level"] and other not in later[key]}
        for key in nodes
    }
    waves: list[list[str]] = []
    sees: dict[str, list[str]] = {}
    done: set[str] = set()
    while len(done) < len(nodes):
        possible = [key for key in in_order(nodes) if key not in done and needs[key] <= done]
        wave = [key for key in possible if deeper[key] <= done]
        if not wave:
            lowest = max(nodes[key]["level"] for key in possible)
            wave = [key for key in possible if nodes[key]["level"] == lowest]
        for key in wave:
            sees[key] = in_order(needs[key] | (deeper[key] & done))
        waves.append(wave)
        done.update(wave)
    return Plan(waves, sees)


def _dependants(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """By question, those that wait for it, directly or not."""
    found: dict[str, set[str]] = {key: set() for key in needs}
    for key in needs:
        queue, seen = list(needs[key]), set(needs[key])
        while queue:
            at = queue.pop()
            found[at].add(key)
            new = needs[at] - seen
            seen |= new
            queue += new
    return found


def ready(nodes: Nodes, solved: Mapping[str, Solution]) -> list[str]:
    """Ids of the questions that can be answered now."""
    sees = plan(nodes).sees
    return [key for key in in_order(nodes) if key not in solved and set(sees[key]) <= solved.keys()]


# --- words ----------------------------------------------------------------------------------------------------------


def _replaced(nodes: Nodes, key: str, by: Mapping[str, str]) -> str:
    """The question with texts put in for references, its own and inherited ones, by the id each refers to.

    What has no text stays as it is.
    """
    node = nodes[key]
    text = _REFERENCE.sub(lambda found: by.get(node["refers"].get(found[1], ""), found[0]), node["question"])
    for target in references(nodes, key):
        if target in by:
            text = text.replace(_in_words(nodes, target), by[target])
    return text


def _in_words(nodes: Nodes, target: str) -> str:
    return f'[the answer to "{spelt_out(nodes, target)}"]'


def spelt_out(nodes: Nodes, key: str) -> str:
    """The question as it is broken down: what it refers to is said in words, for `#k` will count siblings of its own."""
    node = nodes[key]
    said = {number: _in_words(nodes, target) for number, target in node["refers"].items()}
    return _REFERENCE.sub(lambda found: said.get(found[1], found[0]), node["question"])[: 2 * LONGEST]


def listed(nodes: Nodes) -> tuple[list[str], list[str]]:
    """All questions as keys are extracted from them: ids, and texts in which `?n` stands for the answer to number n."""
    ids = in_order(nodes)
    number = {key: f"?{at}" for at, key in enumerate(ids, start=1)}
    return ids, [_replaced(nodes, key, number) for key in ids]


def put_in(nodes: Nodes, key: str, solved: Mapping[str, Solution]) -> str:
    """The question with the answers to its references put in; where there is none, `#k` stays."""
    said = {
        target: joined(solved[target]["answers"])
        for target in references(nodes, key)
        if target in solved and solved[target]["answers"]
    }
    return _replaced(nodes, key, said)


def joined(answers: Sequence[str]) -> str:
    """`A, B and C`; a long list is cut and says so."""
    names = [one_line(answer) for answer in answers]
    if len(names) > MOST_NAMED:
        names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- drawing --------------------------------------------------------------------------------------------------------


def draw(nodes: Nodes, solved: Mapping[str, Solution], keys: Mapping[str, Sequence[Key]]) -> Trace:
    """The mind map as it stands: an outline for people, and all of it for programs."""
    lines = []
    drawn = []
    for key in in_order(nodes):
        node, solution = nodes[key], solved.get(key)
        number = "" if key == ROOT else f"#{key.rpartition('.')[2]} "
        text = f"{number}{node['question']}"
        if solution:
            text = f"{text if len(text) <= _ROOM else text[: _ROOM - 1] + '…'} → {outcome(solution)}"
        lines.append(TraceLine(level=node["level"], text=text))
        drawn.append(_drawn(node, solution))
    return Trace(
        title="mind map", lines=lines, data={"nodes": drawn, "keys": [key for level in keys.values() for key in level]}
    )


def outcome(solution: Solution) -> str:
    """`Kampala (verified)`, or "I don't know" and why."""
    answers = solution["answers"]
    if not answers:
        return f"I don't know: {solution['why']}"
    shown = "; ".join(map(one_line, answers[:_SHOWN]))
    more = f" and {len(answers) - _SHOWN} more" if len(answers) > _SHOWN else ""
    words = []
    if solution["verified"] is not None:
        words.append("verified" if solution["verified"] else "unverified")
    if again := len(solution["attempts"]) - 1:
        words.append(f"{again} re-think" + ("s" if again > 1 else ""))
    if not solution["held"]:
        words.append("not in the evidence")
    return shown + more + (f" ({', '.join(words)})" if words else "")


def _drawn(node: MindNode, solution: Solution | None) -> DrawnNode:
    return DrawnNode(
        id=node["id"],
        question=node["question"],
        level=node["level"],
        state=node["state"],
        parent=node["parent"],
        refers=node["refers"],
        asked=solution["asked"] if solution else "",
        answers=solution["answers"] if solution else [],
        attempts=solution["attempts"] if solution else [],
        verified=solution["verified"] if solution else None,
        held=solution["held"] if solution else False,
        rests=solution["rests"] if solution else [],
        why=solution["why"] if solution else "",
    )
