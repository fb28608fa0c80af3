"""What a run that ends without an answer says."""

from __future__ import annotations

import pytest

from thinkgraph.nodes.tog2.reason import nothing_found
from thinkgraph.state.settings import RunSettings


class _Settings(RunSettings):
    task: str = "question"


@pytest.mark.parametrize(("rounds", "said"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds")])
def test_rounds_are_counted_in_words(rounds: int, said: str) -> None:
    state = {"stopped": "", "evidence": {"t1": {}}, "round": rounds}
    assert nothing_found(state, _Settings())["reason"] == f"the evidence gathered in {said} does not hold the answer"
