"""The time of day is set between the parts of a run: it goes on, and its answer is found."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from cli.conftest import MODEL, QUESTION, Run, use_server
from model_server import ModelServer
from replies import Fault

from thinkgraph.models.offline import OfflineChatModel

HOURS = 5 * 3600.0
ELSEWHEN = (
    "import sys, time; at, ns = time.time, time.time_ns; off = float(sys.argv.pop(1)); "
    "time.time = lambda: at() + off; time.time_ns = lambda: ns() + int(off * 1e9); "
    "from thinkgraph.cli.main import entry; entry()"
)
"""The command line where the clock is so many seconds ahead."""


@pytest.mark.parametrize("ahead", [HOURS, -HOURS], ids=["set back since", "set ahead since"])
def test_a_run_goes_on_after_the_clock_was_set(
    cli: Run, kb: str, process: Run, monkeypatch: pytest.MonkeyPatch, ahead: float
) -> None:
    model = OfflineChatModel()

    def answer(call: Any) -> Any:
        if len(server.calls) == 2:
            return Fault(401, "no")
        return str(model.invoke([(m["role"], m["content"]) for m in call.messages]).text)

    # Whatever clock other tests of this process had: checkpoint ids never go back within one.
    monkeypatch.setattr("langgraph.checkpoint.base.id._last_v6_timestamp", None)
    with ModelServer(answer) as server:
        use_server(server, monkeypatch)
        elsewhen = [sys.executable, "-P", "-c", ELSEWHEN, str(ahead)]
        words = ["--kb", kb, "--model", MODEL, "--set", "ranker=bm25", "--thread", "t", "--json"]
        assert process("ask", QUESTION, *words, program=elsewhen).code == 4
        went_on = cli("resume", "t", "--json")
        assert json.loads(went_on.out)["answers"] == ["Panama City"], went_on.err
        prompts = [json.dumps(call.messages) for call in server.calls if call.status == 200]
        assert len(prompts) == len(set(prompts)), "no reply was asked for twice"
        calls = len(server.calls)
        # The answer is the thread's last word, whatever the clock said when it was given.
        assert cli("resume", "t", "--json").out == went_on.out
        assert process("resume", "t", "--json", program=elsewhen).out == went_on.out
        assert len(server.calls) == calls
        other = cli("ask", "What is the capital of Colombia?", *words)
        assert json.loads(other.out)["answers"] == ["Bogota"], other.err
        assert cli("resume", "t", "--json").out == other.out
