"""What CogGRAG looks up around the answers that later questions need."""

from __future__ import annotations

from typing import Any

from thinkgraph.nodes.coggrag.mind_map import grow, plant
from thinkgraph.nodes.coggrag.retrieve import search_by_answers
from thinkgraph.nodes.coggrag.tree import ROOT
from thinkgraph.state.coggrag import CogGragSettings, MapKey, SubQuestion

SETTINGS = CogGragSettings()


def searched(*keys: MapKey) -> list[str]:
    """The sentences looked for once the first of two sub-questions has two answers."""
    parts = [
        SubQuestion(question="Which films did Ann direct?", open=False, refers=[]),
        SubQuestion(question="When was #1 released?", open=False, refers=[1]),
    ]
    nodes = grow({ROOT: plant("When were the films of Ann released?", SETTINGS)}, {ROOT: parts}, SETTINGS).nodes
    solved: Any = {"0.1": {"wave": 1, "answers": ["Dawn", "Dusk"], "entities": {"Dawn": ["d"], "Dusk": ["k"]}}}
    state: Any = {"mind_map": nodes, "solved": solved, "round": 1, "keys": {"joint": list(keys)}}
    search = search_by_answers(state, SETTINGS)
    assert search.entities == ["d", "k"]
    return search.sentences


def test_a_question_without_a_key_is_its_own_key_once_for_each_answer() -> None:
    own = ["When was Dawn released?", "When was Dusk released?"]
    directed = MapKey(parts=["?0.1", "directed by", "Ann"], of=["0.1"], level="local")
    assert searched(directed) == own
    # A key of another question that has the answer in it changes nothing.
    assert searched(directed, MapKey(parts=["?0.1", "genre", "?0"], of=[ROOT], level="local")) == [
        "Dawn genre",
        own[0],
        "Dusk genre",
        own[1],
    ]


def test_a_key_of_the_question_says_what_to_look_for() -> None:
    released = MapKey(parts=["?0.1", "release year", "?0.2"], of=["0.2"], level="local")
    assert searched(released) == ["Dawn release year", "Dusk release year"]
