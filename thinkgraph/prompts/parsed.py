"""A rendered prompt read back: what the offline model and the perfect chooser see of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from thinkgraph.prompts.kinds import KINDS, TEXT, Shape
from thinkgraph.prompts.lines import NUMBERED, Item, parse_item
from thinkgraph.prompts.plain import read_plain

_KEY = re.compile(r'"(\w+)": ')


@dataclass(frozen=True)
class ParsedPrompt:
    """A prompt as the offline model and the perfect chooser see it."""

    role: str
    """As it was called by; empty where that is not told: no prompt says it."""
    kind: str
    """The kind of reply whose form is asked for; empty for none."""
    sections: Mapping[str, str]
    """Section title (lower case) to its raw text."""
    items: Mapping[str, tuple[Item, ...]]
    """Section title (lower case) to its numbered lines."""

    def text(self, section: str) -> str:
        """The text of a section, empty where there is none."""
        return self.sections.get(section, "").strip()

    def lines(self, section: str) -> tuple[Item, ...]:
        """The numbered items of a section, empty where there is none."""
        return self.items.get(section, ())


@functools.lru_cache(maxsize=256)
def kind_asked(system: str) -> str:
    """The kind of reply that a system message asks for, by the keys of its form; empty for none."""
    said = set(_KEY.findall(system.rpartition("Reply with")[2]))
    asked = {kind.name: set(schema["required"]) for kind in KINDS.values() if (schema := kind.schema(Shape()))}
    # A judge may be asked for scores beside its judgement: the form with the most keys is the one meant.
    if fitting := [name for name, keys in asked.items() if keys <= said]:
        return max(fitting, key=lambda name: len(asked[name]))
    return TEXT.name if TEXT.instruction(Shape()) in system else ""


def parse_prompt(system: str, user: str, role: str = "") -> ParsedPrompt:
    """Read kind and sections back from a rendered prompt. Unknown text gives empty fields, never an error."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in user.splitlines():
        if line.startswith("## "):
            current = sections.setdefault(line[3:].strip().casefold(), [])
        else:
            current.append(line)
    texts = {name: "\n".join(lines) for name, lines in sections.items()}
    items = {name: parse_items(text) for name, text in texts.items()}
    return ParsedPrompt(role=role, kind=kind_asked(system), sections=texts, items=items)


def parse_items(text: str) -> tuple[Item, ...]:
    """The numbered lines of a text."""
    return tuple(_item(int(found[1]), found[2]) for found in map(NUMBERED.match, text.split("\n")) if found)


def _item(number: int, text: str) -> Item:
    """A line in arrows, else in plain words, else as anything that can be chosen."""
    item = parse_item(number, text)
    return item if item.step or item.hops else read_plain(number, text) or item
