"""Small tools for writing sentences: choice of wording, articles, lists, numbers."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from world.model import Entity

WITH_ARTICLE = re.compile(
    r"^(United |Netherlands$|Philippines$|Maldives$|Comoros$|Seychelles$|Central African|Dominican Rep|Republic of|Democratic Republic|"
    r"Holy See|Isle of|West Bank|Gaza Strip|Federated|Turks and|US Virgin|British Indian)|Islands$|Lands$",
)
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MIN_WORDS, MAX_WORDS = 40, 130


@dataclass
class Passage:
    """A passage about some entities, the main one first."""

    section: str
    entities: list[Entity]
    text: str


def pick(seed: str, options: Sequence[str]) -> str:
    """One of the options, always the same for a seed."""
    digest = hashlib.sha256(seed.encode()).digest()
    return options[int.from_bytes(digest[:4], "big") % len(options)]


def order(seed: str, sentences: Sequence[str]) -> list[str]:
    """The sentences in an order that depends on the seed."""
    return sorted(sentences, key=lambda s: hashlib.sha256((seed + s[:25]).encode()).digest())


def the(name: str) -> str:
    """A country's name as it stands in a sentence."""
    if name.startswith("The "):
        return "the " + name[4:]
    return f"the {name}" if WITH_ARTICLE.search(name) else name


def own(name: str) -> str:
    """The possessive of a name as it stands in a sentence."""
    name = the(name)
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def cap(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def listing(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def spell(value: int) -> str:
    """A small whole number in words."""
    return WORDS[value] if 0 <= value < len(WORDS) else f"{value:,}"


def grouped(value: str) -> str:
    """A number with commas between groups of three digits."""
    return f"{int(value):,}" if value.lstrip("-").isdigit() else value


def join(*sentences: str) -> str:
    """Sentences one after another, each with a capital and a full stop."""
    out = []
    for sentence in sentences:
        text = re.sub(r"\s+", " ", sentence).strip()
        if text:
            out.append(cap(text) if text.endswith((".", "!", "?")) else cap(text) + ".")
    return " ".join(out)


def fits(text: str) -> bool:
    """Whether a passage has a good length."""
    return MIN_WORDS <= len(text.split()) <= MAX_WORDS
