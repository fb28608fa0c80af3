"""An agent that is cut off."""

from __future__ import annotations

from typing import Any

from thinkgraph.nodes.search_agent.conclude import conclude
from thinkgraph.state.search_agent import SearchAgentSettings


def test_an_agent_cut_off_at_its_last_turn_has_no_answer() -> None:
    given = {"text": "Model call limits exceeded: run limit (2/2)", "lines": [], "items": [], "turns": 2, "searches": 0}
    state: Any = {"given": given, "stopped": "", "evidence": {}, "round": 0, "question": "Which?"}
    steps = conclude(state, SearchAgentSettings(turns=2))
    try:
        next(steps)
    except StopIteration as ended:
        draft = ended.value["draft"]
    assert (draft["status"], draft["answers"]) == ("unknown", [])
    assert draft["reason"] == "the agent did not answer within 2 turns"
