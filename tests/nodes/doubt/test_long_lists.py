"""Answers that stand on lists of thousands: the statements are gone through once for each step, not once for each other statement."""

from __future__ import annotations

import re
from collections.abc import KeysView

import pytest
from nodes.flows import triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import Path, path_item

LIST = [triple(f"t{i}", "Hub", "member", f"M{i}") for i in range(200)]


class _Things(dict[str, str]):
    read = 0

    def keys(self) -> KeysView[str]:
        self.read += 1
        return super().keys()


def walk_of_list() -> Walk:
    known = {one["id"]: one for one in LIST}
    item = path_item("p", Path(start="Hub", triples=[]), [*known], total=len(known))
    return Walk("Who are the members of Hub?", [item], Texts(known, {}))


def test_a_step_from_a_long_list_looks_up_its_things_once() -> None:
    """All things of the step were held against all things of the statements for every list: minutes for 5,000 of them."""
    walk = walk_of_list()
    walk.things = things = _Things(walk.things)
    assert len(walk.reached({"Hub"})) == 1 + len(LIST)
    assert things.read == len(["from Hub", "from its members"])


def test_only_names_in_the_question_are_looked_for_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern was made of every thing of the statements, whether or not the question has its words."""
    walk = walk_of_list()
    tried: list[str] = []
    found = re.search
    monkeypatch.setattr(re, "search", lambda pattern, *rest: tried.append(str(pattern)) or found(pattern, *rest))
    assert walk.passed([LIST[0]["object"]]) == len(LIST) - 1
    assert len([one for one in tried if "before" in one]) == 1
