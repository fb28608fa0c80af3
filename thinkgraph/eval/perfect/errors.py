"""How a chooser errs: where, in which way and how often (`--model perfect:pick=0.2,judge/bridge=0.1`)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from thinkgraph.errors import UsageError
from thinkgraph.prompts.kinds import KINDS
from thinkgraph.prompts.library import builtin_roles
from thinkgraph.tools.linking.lexical import overlap

T = TypeVar("T")

_Any = Literal["random", "confusable"]
_Choosing = Literal[_Any, "missing", "extra", "none"]
_Judging = Literal[_Any, "early", "never", "name", "citation", "bridge", "elsewhere", "number"]
Way = Literal[_Choosing, _Judging]
Near = Callable[[str, Sequence[str]], Sequence[float]]
"""How near texts are to one, as a ranker scores them."""

_CHOOSING: tuple[Way, ...] = get_args(_Choosing)
_JUDGING: tuple[Way, ...] = get_args(_Judging)
_WAYS: Mapping[str, tuple[Way, ...]] = {"pick": _CHOOSING, "score": _CHOOSING, "pairs": _CHOOSING, "judge": _JUDGING}
"""By kind of reply; any other errs in one way, however it is called."""
_ANY: tuple[Way, ...] = get_args(_Any)
_MOST_EXTRA = 2


@dataclass(frozen=True)
class Slip:
    """One sort of error.

    Of choices: `random`, each replaced by a wrong one; `confusable`, by the wrong one nearest to it; `missing`, one left out;
    `extra`, up to two wrong ones added; `none`, nothing chosen. Of judgements: `random`, another thing of the evidence as the
    answer; `confusable`, the one nearest to the right answer, or to the question; `early`, sure of something too soon; `never`,
    not sufficient; `name`, a wrong name; `citation`, a wrong line; `bridge`, a thing on the way to the answer; `elsewhere`, a thing that
    stands on another line than those cited, which are the right ones; `number`, for a number one that stands anywhere in the evidence, with its
    line. Every other
    reply is wrong in its own way: a clue left out, a verdict turned round.
    """

    share: float
    """How often, from 0 to 1: for each choice where choices are replaced, else for each call."""
    where: str = ""
    """A role, a kind of reply or a method; empty for all."""
    way: Way = "random"


def parse_slips(text: str, name: str) -> tuple[Slip, ...]:
    """Read "0.2", or entries "WHERE=SHARE", "WAY=SHARE" and "WHERE/WAY=SHARE" with commas between them.

    Args:
        text: the text; empty for no errors.
        name: how the model was named, for the message.

    Raises:
        UsageError: an entry has another form, or names no role, kind, method or way.
    """
    return tuple(_slip(entry.strip(), name) for entry in text.split(",")) if text else ()


def _slip(entry: str, name: str) -> Slip:
    named, equals, share = entry.rpartition("=")
    where, slash, way = named.partition("/")
    if equals and not slash and where in get_args(Way):
        where, way = "", where
    methods = {role.partition(".")[0] for role in builtin_roles()}
    if where and where not in {*KINDS, *builtin_roles(), *methods}:
        raise UsageError(f"model '{name}': '{where}' is no role, no kind of reply ({', '.join(KINDS)}) and no method")
    if (way or "random") not in get_args(Way) or (slash and not way) or (equals and not named):
        raise UsageError(f"model '{name}': '{way}' is no way to err; known: {', '.join(get_args(Way))}")
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"model '{name}': the share of wrong choices must be a number from 0 to 1")
    return Slip(value, where, way or "random")  # type: ignore[arg-type]


def by_words(wanted: str, texts: Sequence[str]) -> list[float]:
    """How many words texts share with one."""
    return [overlap(text, wanted) for text in texts]


def slips_at(slips: Sequence[Slip], role: str, kind: str) -> list[Slip]:
    """The slips that a call makes: those of its role, else of its kind, its method, or everywhere."""
    fitting = [slip for slip in slips if slip.way in _WAYS.get(kind, _ANY)]
    for where in (role, kind, role.partition(".")[0], ""):
        if found := [slip for slip in fitting if slip.where == where]:
            return found
    return []


class Erring:
    """The errors of one call."""

    def __init__(self, slips: Sequence[Slip], rng: random.Random, near: Near = by_words) -> None:
        self.slips = slips
        self.rng = rng
        self._near = near

    def draws(self, slip: Slip) -> bool:
        """Whether a slip is made this time."""
        return self.rng.random() < slip.share

    def once(self) -> bool:
        """Whether a reply without ways of its own is wrong."""
        return any(self.draws(slip) for slip in self.slips)

    def choices(self, chosen: Sequence[T], every: Sequence[T], text: Callable[[T], str] = str) -> list[T]:
        """What is chosen in the place of the right choices.

        Args:
            chosen: the right ones.
            every: all there are.
            text: a choice in words, by which others are near to it.
        """
        kept = list(chosen)
        for slip in self.slips:
            bad = [choice for choice in every if choice not in chosen]
            if slip.way in _ANY:
                kept = self._replaced(kept, bad, slip, text)
            elif self.draws(slip):
                if slip.way == "missing" and kept:
                    kept.pop(self.rng.randrange(len(kept)))
                elif slip.way == "extra":
                    kept += self.rng.sample(bad, min(_MOST_EXTRA, len(bad)))
                elif slip.way == "none":
                    kept = []
        return kept

    def _replaced(self, chosen: Sequence[T], bad: list[T], slip: Slip, text: Callable[[T], str]) -> list[T]:
        kept: list[T] = []
        for choice in chosen:
            if not self.draws(slip):
                kept.append(choice)
            elif bad and slip.way == "confusable":
                kept.append(bad.pop(self.nearest(text(choice), list(map(text, bad)))))
            elif bad:
                kept.append(bad.pop(self.rng.randrange(len(bad))))
        return kept

    def nearest(self, wanted: str, texts: Sequence[str]) -> int:
        """The place of the text nearest to one, the first of several."""
        scores: Sequence[Any] = self._near(wanted, texts)
        return max(range(len(texts)), key=lambda place: scores[place])
