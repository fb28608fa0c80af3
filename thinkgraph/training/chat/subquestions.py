"""Sub-questions as one would ask them: those of the perfect chooser need only be recognised ("What is the written by of #1?"),
and name the section of a text that nobody who asks knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from thinkgraph.eval.gold import Gold
from thinkgraph.eval.perfect.subquestions import parts
from thinkgraph.state.knowledge import Entity
from thinkgraph.tools.protocols import GraphStore
from thinkgraph.training.chat.wording import AskedHop, asked_hop, question_text

_ASKED = "asked | "
"""Before a question that was answered. A prompt may show such lines of other questions."""
_BEFORE = rf"(?m)^((?:\[\d+\] )?(?:{re.escape(_ASKED)})?)"
_BEHIND = r"(?= \||$)"


class _Part(NamedTuple):
    pattern: re.Pattern[str]
    about: str
    """What it names, where it refers to no other."""
    hop: AskedHop | None
    """None for one that is asked of texts."""
    whole: str
    """The question that it is a part of."""

    def worded(self, found: re.Match[str]) -> str:
        before, *named = found.groups()
        about = " and ".join(named) or self.about
        if self.hop:
            return before + question_text(about, [self.hop])
        return f"{before}What do texts on {about} tell of this: {self.whole}"


class SubquestionWords:
    """Puts the chooser's sub-questions into words, wherever a call shows them.

    Args:
        graph: tells what kind of thing a sub-question asks for.
        golds: of the questions that are broken down, by their ids.
    """

    def __init__(self, graph: GraphStore, golds: Mapping[str, Gold]) -> None:
        ids = list(dict.fromkeys(key for gold in golds.values() for key in gold.entities))
        known = dict(zip(ids, graph.entities(ids), strict=True))
        self._parts = {name: _parts(gold, known) for name, gold in golds.items()}

    def __call__(self, text: str, name: str) -> str:
        """A prompt, or a sub-question alone, of the question with this id."""
        others = [other for other in self._parts if other != name] if _ASKED in text else []
        for part in chain.from_iterable(self._parts[one] for one in (name, *others)):
            text = part.pattern.sub(part.worded, text)
        return text


def _parts(gold: Gold, known: Mapping[str, Entity | None]) -> list[_Part]:
    found = []
    for part in parts(gold):
        (hop,) = part.gold.hops
        reached = [one for key, label in gold.entities.items() if label in hop.ends and (one := known[key])]
        asked = asked_hop(hop.relation, "out" if hop.outgoing else "in", reached, many=len(hop.ends) > 1)
        pattern = re.compile(f"{_BEFORE}{part.pattern.pattern}{_BEHIND}")
        found.append(_Part(pattern, " and ".join(hop.sources), None if hop.is_text else asked, gold.question))
    return found
