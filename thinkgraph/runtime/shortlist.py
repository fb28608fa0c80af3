"""What the encoder does for a model: it chooses in its place (the setting `pruning`), shows a small one only the options nearest to the
question (a prompt's header: `options: 30`), and tells which clue an option matches (`form: {ranked: true}`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from thinkgraph.models.calls import CallResult, ModelCall
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.files import Profile
from thinkgraph.prompts.kinds import PAIRS, PICK, SCORE, scores_by_rank
from thinkgraph.prompts.library import Prompt
from thinkgraph.prompts.lines import Item, ShownList, numbered
from thinkgraph.prompts.parsed import parse_items
from thinkgraph.runtime import requests
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.linking.names import is_name

T = TypeVar("T")


def prunes(prompt: Prompt, settings: RunSettings) -> bool:
    """Whether the encoder chooses in place of the model that a role has."""
    return settings.pruning == "encoder" and prompt.pruning


def nearest(call: ModelCall[T]) -> Flow[T]:
    """What the encoder chooses among the options of a call: as many as the call wants at most, those nearest to its question."""
    best = yield from by_nearness(call.inputs["question"], parse_items(call.inputs["options"]))
    if call.kind.name == SCORE.name:
        # How many are kept of each place the method says.
        return cast("T", scores_by_rank([item.number for item in best]))
    kept = best[: call.shape.most or None]
    numbers = [item.number for item in kept]
    if call.kind.name == PICK.name:
        return cast("T", numbers)
    clues = yield from _nearest_clues(call, kept)
    return cast("T", list(zip(clues, numbers, strict=True)))


def shortlist(call: ModelCall[T], most: int) -> Flow[tuple[ModelCall[T], list[int]]]:
    """The call with at most `most` options, the nearest to its question first.

    Args:
        call: a call whose reply chooses among numbered options; any other stays as it is.
        most: 0 for all.

    Returns:
        The call, and the options' numbers in the order shown; none where the call stays as it is.
    """
    if not most or call.kind.name not in _CHOOSING:
        return call, []
    items = parse_items(call.inputs.get("options", ""))
    if most >= len(items):
        return call, []
    best = (yield from by_nearness(call.inputs["question"], items))[:most]
    options = numbered(item.text for item in best)
    shown = replace(call, inputs={**call.inputs, "options": options}, shape=replace(call.shape, options=most))
    return shown, [item.number for item in best]


def by_nearness(question: str, items: Sequence[Item]) -> Flow[list[Item]]:
    """Options, the nearest to a question first (cosine of the encoder).

    A community's cosine is that of its whole line and of its nearest list together.
    """
    said = [_said(item) for item in items]
    texts = list(dict.fromkeys(text for own in said for text in own))
    (row,) = yield from requests.cosines([question], texts)
    near = dict(zip(texts, row, strict=True))
    worth = [near[own[0]] + max(near[text] for text in own) for own in said]
    return [items[place] for place in sorted(range(len(items)), key=lambda place: -worth[place])]


def with_nearest_clues(call: ModelCall[T], prompt: Prompt, profile: Profile) -> Flow[ModelCall[T]]:
    """The call of a mapping whose reply only names options, with the clue nearest to each of them (cosine of the encoder)."""
    if call.kind.name != PAIRS.name or not prompt.shaped(call.shape, profile).ranked:
        return call
    clues = yield from _nearest_clues(call, parse_items(call.inputs["options"]))
    return replace(call, shape=replace(call.shape, nearest=clues))


def _nearest_clues(call: ModelCall[Any], options: Sequence[Item]) -> Flow[tuple[int, ...]]:
    """For each of these options the clue nearest to it. A clue that is a name matches what is called so, and needs no model."""
    every = parse_items(call.inputs["clues"])
    clues = [clue for clue in every if not is_name(clue.text)] or every
    rows = yield from requests.cosines([_said(item)[0] for item in options], [clue.text for clue in clues])
    return tuple(max(zip(row, clues, strict=True), key=lambda pair: pair[0])[1].number for row in rows)


def renumbered(call: ModelCall[T], result: CallResult[T], numbers: Sequence[int]) -> CallResult[T]:
    """The result with the numbers that the options had before; a fallback has them already."""
    if not numbers or result.fell_back:
        return result
    return replace(result, value=_CHOOSING[call.kind.name](result.value, numbers))


_CHOOSING: dict[str, Any] = {
    "pick": lambda value, numbers: [numbers[number - 1] for number in value],
    "score": lambda value, numbers: [(numbers[number - 1], score) for number, score in value],
    "pairs": lambda value, numbers: [(clue, numbers[number - 1]) for clue, number in value],
    "judge": lambda value, numbers: {
        **value,
        "scores": [(numbers[number - 1], score) for number, score in value["scores"]],
    },
}
"""By kind of reply, how its numbers are put back."""
_ENDS = 4
"""Ends of a list that the encoder compares."""


def _said(item: Item) -> list[str]:
    """An option as the encoder compares it: whole, and a community's lists too, for one of them may be all that fits."""
    if item.step:
        return [f"{item.step[0]} {item.step[1]}"]
    whole = ". ".join(f"{hop.subject} {hop.relation} {hop.object}" for hop in item.triples) or item.text
    return [whole, *(_list_said(one) for one in item.lists)] if item.community else [whole]


def _list_said(one: ShownList) -> str:
    ends = ", ".join(one.ends[:_ENDS])
    return f"{one.source} {one.relation} {ends}" if one.outgoing else f"{ends} {one.relation} {one.source}"
