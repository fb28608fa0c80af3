"""The model's window: what a refusal says of it, what a text takes of it, and how a prompt is cut to fit it."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Message
from thinkgraph.prompts.lines import NUMBERED

_TOO_LONG = re.compile(
    r"exceed_context_size|exceeds? the available context|context[ _]length|maximum model length|context limit|"
    r"context window|prompt is too long|too large for model|maximum number of tokens allowed|maximum prompt length|"
    r"model token limit|input is too long|`inputs` (?:tokens|must have less)",
    re.IGNORECASE,
)
_WINDOW = (
    re.compile(r"n_ctx\W+(\d+)"),
    re.compile(r"context (?:size|limit|length)(?: is| of| only)*:? \(?(\d[\d,]*)", re.IGNORECASE),
    re.compile(r"maximum model length of (\d+)", re.IGNORECASE),
    re.compile(r"with (\d+) maximum context length", re.IGNORECASE),
    re.compile(r"maximum number of tokens allowed \(?(\d+)", re.IGNORECASE),
    re.compile(r"maximum prompt length is (\d+)", re.IGNORECASE),
    re.compile(r"model token limit: (\d+)"),
    re.compile(r"`inputs`.* (?:must be <=|must have less than) (\d+)"),
)
_COMPARED = re.compile(r"(\d+)(?: tokens)?(?: \+ \d+)? > (\d+)\b(?! -)")
"""Anthropic: "210000 tokens > 200000 maximum", "188240 + 21333 > 200000"."""
_PROMPT = (
    re.compile(r"n_prompt_tokens\W+(\d+)"),
    re.compile(r"\((\d+) (?:in the messages|in your prompt|of text input|in the prompt)"),
    re.compile(r"(?:messages resulted in|request has|passed|contains(?: at least)?) (\d+) (?:input )?tokens"),
    re.compile(r"(?:request|input) \((\d+) tokens\)", re.IGNORECASE),
    re.compile(r"Given: (\d+)"),
    re.compile(r"\(length (\d+)\)"),
    re.compile(r"input token count \(?(\d+)", re.IGNORECASE),
)
_LONGEST_REFUSAL = 4000
_LETTERS = bytes(byte for byte in range(128) if chr(byte).isalpha() or byte in b" \n")
_ASCII = bytes(range(128))
_RECENT = 32
_LEAST = 400.0
"""Weight of the lightest prompt that an estimate learns from: in short ones a chat template's own tokens count for too much."""
_MARGIN = 1.03


Rank: TypeAlias = Sequence[int] | Callable[[], Sequence[int]]
"""Numbers of the lines of an input, the most useful first, or what finds them: hardly any call is cut."""


@dataclass(frozen=True)
class TooLong:
    """A refusal because a prompt is longer than the window; None: the refusal does not say."""

    window: int | None
    prompt: int | None
    """Tokens of the prompt as the server counted them."""


def too_long(text: str) -> TooLong | None:
    """What a refusal says of the window, in the words of any provider; None where it is about something else."""
    said = text[:_LONGEST_REFUSAL]
    if not _TOO_LONG.search(said):
        return None
    if compared := _COMPARED.search(said):
        return TooLong(window=int(compared[2]), prompt=int(compared[1]))
    return TooLong(_first(_WINDOW, said), _first(_PROMPT, said))


def _first(patterns: Sequence[re.Pattern[str]], text: str) -> int | None:
    found = (pattern.search(text) for pattern in patterns)
    return next((int(one[1].replace(",", "")) for one in found if one), None)


def weigh(text: str) -> float:
    """About how many tokens a text has, on the safe side before anything is known of the model.

    Three letters, two bytes of another script, or a little more than one other character (digits, brackets, arrows, quotes)
    count as a token: JSON and evidence lines have twice as many as prose of their length.
    """
    data = text.encode("utf-8", "replace")
    foreign = len(data.translate(None, _ASCII))
    others = len(data.translate(None, _LETTERS)) - foreign
    return (len(data) - foreign - others) / 3 + foreign / 2 + others * 0.8


class Gauge:
    """How many tokens one model makes of a text, learnt from what its server counted: the most of recent prompts."""

    def __init__(self) -> None:
        self._seen: deque[float] = deque(maxlen=_RECENT)

    def saw(self, weight: float, tokens: int, *, sure: bool = False) -> None:
        """Learn from the count of a prompt; a `sure` one (a refusal's) counts however short it is."""
        if tokens > 0 and (weight >= _LEAST or (sure and weight > 0)):
            self._seen.append(tokens / weight)

    def tokens(self, weight: float) -> int:
        """Tokens that a text of this weight may have."""
        return int(weight * self._factor) + 1

    def room(self, tokens: int) -> float:
        """The weight of a text that has so many tokens at most."""
        return max(0.0, tokens / self._factor)

    @property
    def _factor(self) -> float:
        return _MARGIN * max(tuple(self._seen), default=1.0)


@dataclass(frozen=True)
class FittedPrompt:
    """The messages of a call as they are sent, and what their reply may name."""

    messages: Sequence[Message]
    shape: Shape
    left_out: int = 0
    """Numbered lines that were left out to fit the window."""

    @cached_property
    def weight(self) -> float:
        """Its length; see `weigh`."""
        return weigh_all(self.messages)


def weigh_all(messages: Sequence[Message]) -> float:
    """The weight of messages together."""
    return sum(weigh(text) for _, text in messages)


class _List:
    """A text of numbered lines, some of them under heads, from which lines can be left out. The others keep their numbers."""

    def __init__(self, text: str, rank: Sequence[int] = ()) -> None:
        """Args: the text; numbers of its lines, the most useful first (lines not named follow in their order)."""
        self._lines = text.split("\n")
        self._number = [int(found[1]) if (found := NUMBERED.match(line)) else 0 for line in self._lines]
        at = {number: place for place, number in enumerate(self._number) if number}
        ranked = [number for number in rank if number in at]
        self.kept = list(dict.fromkeys([*ranked, *at]))
        self._cost = {number: weigh(self._lines[place] + "\n") for number, place in at.items()}
        self.weight = sum(self._cost.values())
        self.before = len(self.kept)
        self.changed = False

    def drop(self) -> None:
        """Leave the least useful line out."""
        self.changed = True
        self.weight -= self._cost.pop(self.kept.pop())

    def shorten(self, room: float) -> None:
        """Cut the one line that is left to a weight."""
        self.changed = True
        place = self._number.index(self.kept[0])
        line = self._lines[place]
        share = max(0.0, room) / max(self.weight, 1.0)
        self._lines[place] = line[: max(len("[1] ") + 1, int(len(line) * min(share, 1.0)))].rstrip()
        self.weight = self._cost[self.kept[0]] = weigh(self._lines[place] + "\n")

    @property
    def left_out(self) -> int:
        """How many lines were left out."""
        return self.before - len(self.kept)

    @property
    def gaps(self) -> tuple[int, ...]:
        """Numbers that are missing below the highest one left."""
        shown = set(self.kept)
        return tuple(number for number in range(1, max(shown, default=0)) if number not in shown)

    @property
    def text(self) -> str:
        """What is left; a head without lines goes too."""
        shown = set(self.kept)
        out: list[str] = []
        heads: list[str] = []
        for line, number in zip(self._lines, self._number, strict=True):
            if not number:
                heads = [*heads, line] if heads and not heads[-1].strip() else [line]
            elif number in shown:
                out += [*heads, line]
                heads = []
        return "\n".join(out)


def _cut(lists: Sequence[_List], weight: float, room: float) -> None:
    """Leave lines out, those of the longest list first, until the weight of the whole fits the room."""
    over = weight - room
    while over > 0 and (longest := max((one for one in lists if len(one.kept) > 1), key=_weight, default=None)):
        before = longest.weight
        longest.drop()
        over -= before - longest.weight
    for one in sorted(lists, key=_weight, reverse=True):
        if over > 0 and one.kept:
            before = one.weight
            one.shorten(before - over)
            over -= before - one.weight


def _weight(one: _List) -> float:
    return one.weight


def fit(
    whole: FittedPrompt,
    render: Callable[[Mapping[str, str], Shape, int], Sequence[Message]],
    inputs: Mapping[str, str],
    *,
    shots: int,
    room: float | None,
    rank: Mapping[str, Rank] | None = None,
) -> FittedPrompt:
    """A prompt that fits: without worked examples first, then without the least useful lines of its longest lists.

    Args:
        whole: the prompt with nothing left out.
        render: makes the messages from what the places are filled with, the shape and the number of worked examples.
        inputs: what the places are filled with.
        shots: worked examples.
        room: the weight it may have; None: any.
        rank: for an input, numbers of its lines, the most useful first; without it they are useful in their order.
    """
    if room is None or (weight := whole.weight) <= room:
        return whole
    shape = whole.shape
    while shots and weight > room:
        shots -= 1
        weight = weigh_all(render(inputs, shape, shots))
    ranks = rank or {}
    lists = {name: _List(text, _ranked(ranks, name)) for name, text in inputs.items() if NUMBERED.search(text)}
    _cut(list(lists.values()), weight, room)
    left = {name: one.text for name, one in lists.items() if one.changed}
    shape = _shown(shape, lists)
    return FittedPrompt(render({**inputs, **left}, shape, shots), shape, sum(one.left_out for one in lists.values()))


def _ranked(ranks: Mapping[str, Rank], name: str) -> Sequence[int]:
    rank = ranks.get(name, ())
    return rank() if callable(rank) else rank


def _shown(shape: Shape, lists: Mapping[str, _List]) -> Shape:
    """The shape of a call whose lists were cut: nothing that is not shown can be named."""
    for name in ("options", "evidence", "clues", "questions"):
        top: int = getattr(shape, name)
        if name in lists and top and lists[name].left_out:
            shape = replace(shape, **cast("Any", {name: min(top, max(lists[name].kept))}))
            # The list that the reply counts from: options where there are some, else evidence.
            if name == "options" or (name == "evidence" and not shape.options):
                shape = replace(shape, unseen=lists[name].gaps)
    return shape


def shorten(whole: FittedPrompt, room: float | None) -> FittedPrompt:
    """A conversation that fits: numbered lines of what tools said are left out, those of the longest answers first."""
    if room is None or (weight := whole.weight) <= room:
        return whole
    said = {
        at: kept
        for at, (role, text) in enumerate(whole.messages)
        if role == "message" and (kept := json.loads(text))["type"] == "tool"
    }
    lists = {at: _List(kept["content"]) for at, kept in said.items() if NUMBERED.search(kept["content"])}
    _cut(list(lists.values()), weight, room)
    cut = list(whole.messages)
    for at, one in lists.items():
        if one.changed:
            said[at]["content"] = f"{one.text}\n({one.left_out} more lines do not fit here)"
            cut[at] = ("message", json.dumps(said[at], ensure_ascii=False, sort_keys=True))
    return FittedPrompt(cut, whole.shape, sum(one.left_out for one in lists.values()))
