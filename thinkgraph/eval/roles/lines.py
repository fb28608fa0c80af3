"""The numbered lines of a case's inputs: in another order, or some of them replaced."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence

from thinkgraph.prompts.lines import NUMBERED


def lines_of(block: str) -> list[str]:
    """The numbered lines of a block, without their numbers."""
    return [found[2] for found in map(NUMBERED.match, block.splitlines()) if found]


def block_of(lines: Iterable[str]) -> str:
    """Lines as a numbered block. They were rendered before and are not changed again."""
    return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, start=1))


def another_order(count: int, rng: random.Random) -> tuple[int, ...]:
    """The numbers 1 to `count` in an order that is not their own; empty where there is no other."""
    numbers = list(range(1, count + 1))
    while count > 1 and numbers == sorted(numbers):
        rng.shuffle(numbers)
    return tuple(numbers) if count > 1 else ()


def reordered(block: str, order: Sequence[int]) -> str:
    """A numbered block whose place k has the line that was number `order[k - 1]`."""
    lines = lines_of(block)
    return block_of(lines[number - 1] for number in order)


def mixed(block: str, rng: random.Random) -> str:
    """A numbered block in a drawn order; one with headings stays as it is."""
    lines = lines_of(block)
    return block_of(rng.sample(lines, len(lines))) if len(lines) == len(block.splitlines()) else block


def replaced(block: str, numbers: Collection[int], more: Sequence[str] = ()) -> str:
    """A block without the lines of these numbers, with `more` at its end, numbered anew.

    Headings between the lines stay where a line follows them.
    """
    kept: list[str] = []
    count = 0
    for line in [*block.splitlines(), *(f"[0] {line}" for line in more)]:
        found = NUMBERED.match(line)
        if not found:
            if kept and not NUMBERED.match(kept[-1]):
                kept.pop()
            kept.append(line)
        elif int(found[1]) not in numbers:
            count += 1
            kept.append(f"[{count}] {found[2]}")
    return "\n".join(kept if not kept or NUMBERED.match(kept[-1]) else kept[:-1])
