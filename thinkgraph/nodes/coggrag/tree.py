"""The mind map as a tree of questions: who needs whose answer, the order of answering, and the map in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.tasks import Task
from thinkgraph.state.answer import Trace, TraceLine
from thinkgraph.state.coggrag import CogGragSettings, CogGragState, DrawnNode, MapKey, MindNode, Outcome, Solution

T = TypeVar("T")

ROOT = "0"
LONGEST = 500
"""Most characters of a sub-question."""
MOST_NAMED = 30
"""Most answers put in for one reference."""
_SHOWN = 5
"""Answers on one line of an outline."""
_ROOM = 64
"""Most characters of a question with an outcome on its line, so that both fit a terminal."""
_OPEN = Outcome(asked="", answers=[], attempts=[], verified=None, supported=False, rests=[], why="")
"""What a question without an outcome is drawn with."""
_PLACE = re.compile(r"0(\.[0-9]+)*", re.ASCII)
REFERENCE = re.compile(r"#(\d{1,3})(?![\dA-Za-z_])")
"""In Chinese or Japanese the next word follows without a space."""

Nodes = Mapping[str, MindNode]


def task_of(key: str, settings: CogGragSettings) -> Task:
    """What the question of this key asks for: a part of a claim is a question."""
    return settings.task if key == ROOT else "question"


def reachable(start: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
    """Everything that can be reached from some things, themselves included; `following` is what one thing leads to."""
    found = set(start)
    queue = list(found)
    while queue:
        new = set(following(queue.pop())) - found
        found |= new
        queue += new
    return found


def in_order(ids: Iterable[str]) -> list[str]:
    """Ids as an outline lists them: a question, then its sub-questions."""
    return sorted(ids, key=lambda key: [int(part) for part in key.split(".")])


def children(nodes: Nodes, key: str) -> list[str]:
    """Ids of the sub-questions of a question."""
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


def needs(nodes: Nodes, key: str) -> set[str]:
    """Ids of the questions whose answers one waits for: its sub-questions and its `references`."""
    return {*children(nodes, key), *references(nodes, key)}


def unfit(state: CogGragState) -> str:
    """What does not fit together in the mind map of a state that was edited; empty where all does."""
    nodes: Nodes = state.get("mind_map") or {}
    for key, node in nodes.items():
        above = key.rpartition(".")[0]
        if not _PLACE.fullmatch(key) or node["id"] != key:
            return f"'mind_map.{key}.id': a question's id is its key, like 0.2 (it is {node['id']!r})"
        if node["parent"] != above or (above and above not in nodes):
            return f"'mind_map.{key}.parent': must be the question above, '{above}', and stand there (it is {node['parent']!r})"
        if lost := next((one for one in node["refers"].values() if one not in nodes), None):
            return f"'mind_map.{key}.refers': there is no question '{lost}'"
    waits = {key: needs(nodes, key) for key in nodes}
    done: set[str] = set()
    while ready := [key for key in waits if key not in done and waits[key] <= done]:
        done.update(ready)
    for key in in_order(waits.keys() - done):
        if key in reachable(waits[key], waits.__getitem__):
            return f"'mind_map.{key}.refers': a question cannot wait for itself"
    return ""


# --- order ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerOrder:
    """The order in which the questions of a mind map can be answered."""

    waves: list[list[str]]
    """Questions that can be answered side by side, in order."""
    sees: dict[str, list[str]]
    """By question, the earlier ones whose answers it is shown."""

    @property
    def ids(self) -> list[str]:
        """All questions, wave after wave."""
        return [key for wave in self.waves for key in wave]

    def ready(self, solved: Mapping[str, Solution]) -> list[str]:
        """Ids of the questions that can be answered now."""
        return [key for key in in_order(self.sees) if key not in solved and set(self.sees[key]) <= solved.keys()]


def answer_order(nodes: Nodes) -> AnswerOrder:
    """Bottom-up by level, where references allow.

    A question waits for its sub-questions and for its references, inherited ones included. It also waits for every other
    question of a deeper level, because it is shown their answers (section 4.3), unless such a question waits for it: then
    references win. Waits for deeper questions can form a circle over several families. The deepest question that has all
    answers it needs then goes first.
    """
    waits = {key: needs(nodes, key) for key in nodes}
    later: dict[str, set[str]] = {key: set() for key in nodes}
    for key in nodes:
        for needed in reachable(waits[key], waits.__getitem__):
            later[needed].add(key)
    deeper = {
        key: {other for other in nodes if nodes[other]["level"] > nodes[key]["level"] and other not in later[key]}
        for key in nodes
    }
    waves: list[list[str]] = []
    sees: dict[str, list[str]] = {}
    done: set[str] = set()
    while len(done) < len(nodes):
        possible = [key for key in in_order(nodes) if key not in done and waits[key] <= done]
        wave = [key for key in possible if deeper[key] <= done]
        if not wave:
            lowest = max(nodes[key]["level"] for key in possible)
            wave = [key for key in possible if nodes[key]["level"] == lowest]
        for key in wave:
            sees[key] = in_order(waits[key] | (deeper[key] & done))
        waves.append(wave)
        done.update(wave)
    return AnswerOrder(waves, sees)


# --- words ----------------------------------------------------------------------------------------------------------


def _replaced(nodes: Nodes, key: str, by: Mapping[str, str]) -> str:
    """The question with texts put in for its references, own and inherited ones.

    Texts are given by the id that a reference names. A reference without a text stays as it is.
    """
    node = nodes[key]
    text = _named(node["question"], {number: by[target] for number, target in node["refers"].items() if target in by})
    said = {_in_words(nodes, target): by[target] for target in references(nodes, key) if target in by}
    # Longest first: the words for one reference may stand within those for another.
    for words in sorted(said, key=len, reverse=True):
        text = text.replace(words, said[words])
    return text


def _in_words(nodes: Nodes, target: str, told: dict[str, str] | None = None) -> str:
    return f'[the answer to "{spelt_out(nodes, target, told)}"]'


def spelt_out(nodes: Nodes, key: str, told: dict[str, str] | None = None) -> str:
    """The question for its decomposition. References are put in words, because `#k` there means a sub-question.

    Args:
        nodes: the mind map.
        key: of the question.
        told: by id, questions spelt out on the way to it: many may refer to one, each by many ways.
    """
    told = {} if told is None else told
    # A chain of references may be longer than Python's stack.
    left, opened = [key], set[str]()
    while left:
        at = left[-1]
        if at not in opened:
            opened.add(at)
            left += [target for target in nodes[at]["refers"].values() if target not in told]
            continue
        left.pop()
        if at not in told:
            said = {number: _in_words(nodes, target, told) for number, target in nodes[at]["refers"].items()}
            told[at] = _named(nodes[at]["question"], said)[: 2 * LONGEST]
    return told[key]


def _named(question: str, said: Mapping[str, str]) -> str:
    """A question with words for its references; one without stays as it is."""
    # "#01" is 1, and a digit of any script is one.
    return REFERENCE.sub(lambda found: said.get(str(int(found[1])), found[0]), question)


def listed(nodes: Nodes) -> tuple[list[str], list[str]]:
    """All questions for the extraction of keys: ids, and texts in which `?n` stands for the answer to question n."""
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
    """`A, B and C`. A long list is cut and ends with the number of answers left out."""
    names = [one_line(answer) for answer in answers]
    if len(names) > MOST_NAMED:
        names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- drawn ----------------------------------------------------------------------------------------------------------


def draw(nodes: Nodes, solved: Mapping[str, Solution], keys: Mapping[str, Sequence[MapKey]]) -> Trace:
    """The mind map as it stands, with the outcomes so far by question and the extracted keys by level."""
    lines = []
    for key in in_order(nodes):
        number = "" if key == ROOT else f"#{key.rpartition('.')[2]} "
        text = f"{number}{nodes[key]['question']}"
        if key in solved:
            text = f"{text if len(text) <= _ROOM else text[: _ROOM - 1] + '…'} → {outcome(solved[key])}"
        lines.append(TraceLine(level=nodes[key]["level"], text=text))
    data = {
        "nodes": [_drawn(nodes[key], solved.get(key, _OPEN)) for key in in_order(nodes)],
        "keys": [key for level in keys.values() for key in level],
    }
    return Trace(title="mind map", lines=lines, data=data)


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
    if not solution["supported"]:
        words.append("not in the evidence")
    return shown + more + (f" ({', '.join(words)})" if words else "")


def _drawn(node: MindNode, outcome: Outcome) -> DrawnNode:
    told = {name: value for name, value in outcome.items() if name in Outcome.__annotations__}
    return cast("DrawnNode", {**node, **told})
