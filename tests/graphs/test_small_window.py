"""Every method over the bundled world with a model of a small window: prompts are cut, and the run ends as any other."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from model_server import ModelServer, ServedCall, answers_of
from pydantic import SecretStr
from replies import Answer, Fault

import thinkgraph as tg
from thinkgraph.graphs.build import offline_model
from thinkgraph.graphs.registry import NAMES
from thinkgraph.tools.knowledge import Knowledge

WINDOW = 4096
QUESTION = "Which languages are spoken in the countries that border both France and Germany?"


@pytest.fixture(scope="module")
def world() -> Knowledge:
    return Knowledge.open("world")


class SmallWindow:
    """The offline model behind a server that refuses as llama.cpp does. Two characters are a token."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.refused = 0
        self.longest = 0
        self._answer = answers_of(offline_model(knowledge)())

    def __call__(self, call: ServedCall) -> Answer:
        tokens = sum(len(str(message.get("content") or "")) for message in call.messages) // 2
        if tokens > WINDOW:
            self.refused += 1
            more = {"type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": WINDOW, "code": 400}
            return Fault(400, "the request exceeds the available context size, try increasing it", more=more)
        self.longest = max(self.longest, tokens)
        return self._answer(call)


@pytest.mark.parametrize("method", NAMES)
def test_every_method_ends_as_with_a_large_window(method: str, world: Knowledge) -> None:
    served = SmallWindow(world)
    with ModelServer(served) as server:
        model = ChatOpenAI(model="small", base_url=server.base_url, api_key=SecretStr("none"), max_retries=0)
        settings: dict[str, Any] = {"own_knowledge": True} if method in {"direct", "cot", "cot_sc"} else {}
        if method == "tog2":
            settings["ranker"] = "bm25"  # the dense one encodes 600 passages here; `paths` has it too
        graph = tg.build(method, model=model, knowledge=world, settings=settings)
        answer = graph.invoke({"question": QUESTION})["answer"]
    assert answer["status"] in {"grounded", "partial", "memory", "unknown"}
    assert "model small failed" not in answer["reason"]
    assert served.longest <= WINDOW
    cut = "cut to fit the model's window" in answer["reason"]
    assert cut or not served.refused or method == "search_agent", "what was left out is said"
    if method == "fasttog":
        assert served.refused
        assert cut
