"""The baseline `cot_sc`: no retrieval, the majority of several chains of thought."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite, Send

from thinkgraph.graphs.method import Method
from thinkgraph.graphs.wiring import tasks
from thinkgraph.nodes.baselines.majority import majority
from thinkgraph.nodes.baselines.sample import sample
from thinkgraph.nodes.common.answer import answer
from thinkgraph.nodes.common.begin import begin
from thinkgraph.nodes.common.memory import COT
from thinkgraph.runtime.driver import NodeRunner, Update
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import AnswerOutput, QuestionInput, SampleTask
from thinkgraph.state.baselines import CotScSettings, RecallState


def _fresh() -> Update:
    return {"samples": Overwrite({})}


def _fan_out(state: RecallState) -> str | list[Send]:
    settings = CotScSettings.model_validate(state["manifest"]["settings"])
    if not settings.own_knowledge:
        return "majority"
    samples = ((str(number), number) for number in range(1, settings.samples + 1))
    return [
        Send("sample", SampleTask(**task, sample=number)) for task, number in tasks(state, settings, samples, keep=0)
    ]


def wire(run: NodeRunner) -> StateGraph[Any, Any, Any, Any]:
    """The uncompiled graph."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        RecallState, context_schema=CotScSettings, input_schema=QuestionInput, output_schema=AnswerOutput
    )
    graph.add_node(
        "begin", run.node("begin", begin("cot_sc", lambda _: [COT], _fresh, links=lambda _: False), entry=True)
    )
    graph.add_node("sample", run.node("sample", sample), input_schema=SampleTask)
    graph.add_node("majority", run.node("majority", majority))
    graph.add_node("answer", run.node("answer", answer(COT)))
    graph.add_edge(START, "begin")
    graph.add_conditional_edges("begin", _fan_out, ["sample", "majority"])
    graph.add_edge("sample", "majority")
    graph.add_edge("majority", "answer")
    graph.add_edge("answer", END)
    return graph


def bound(settings: CotScSettings, _answer: Answer) -> int:
    """One call a sample."""
    return settings.samples


METHOD = Method(
    name="cot_sc",
    title="Self-consistency (CoT-SC)",
    summary="No retrieval: several chains of thought, the majority answers.",
    settings=CotScSettings,
    wire=wire,
    bound=bound,
)
