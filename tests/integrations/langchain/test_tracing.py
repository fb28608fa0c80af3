"""What tracers are told: LangSmith's by LangChain's callbacks, OpenTelemetry's by spans."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import thinkgraph as tg
from thinkgraph.errors import ModelError, UsageError

MODES = pytest.mark.parametrize("mode", ["sync", "async"])
METHODS = pytest.mark.parametrize("case", [CASES["tog2"], CASES["coggrag"]], ids=["tog2", "coggrag"])


class Kept(BaseTracer):
    """A tracer as LangSmith's: it keeps the tree of runs."""

    run_inline = True

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.roots.append(run)


def invoke(case: Case, mode: str, config: Any, model: Any = None, question: str = "") -> Any:
    graph = tg.build(
        case.method, knowledge=case.knowledge(), model=model or FakeModel(case.replies), settings=dict(case.settings)
    )
    start = {"question": question or case.question}
    if mode == "sync":
        return graph.invoke(start, config)["answer"]
    return asyncio.run(graph.ainvoke(start, config))["answer"]


def under(run: Run) -> list[Run]:
    return [run, *(one for child in run.child_runs for one in under(child))]


@MODES
@METHODS
def test_a_run_is_one_tree_with_names_tags_and_metadata(case: Case, mode: str) -> None:
    tracer = Kept()
    answer = invoke(case, mode, {"callbacks": [tracer], "tags": ["ours"], "metadata": {"customer": "42"}})
    (root,) = tracer.roots
    assert root.name == case.method
    every = under(root)
    calls = [run for run in every if run.run_type in {"llm", "chat_model"}]
    assert len(calls) == answer["usage"]["total"]["calls"] > 0
    for run in calls:
        assert run.name in answer["usage"]["roles"]
        assert {"ours", run.name} <= set(run.tags or ())
        # A step may have a role for each level of its keys; Reason steers too.
        role = run.name.partition(".")[2].replace("steer", "reason")
        assert role.startswith(run.metadata["langgraph_node"])
    assert all("ours" in (run.tags or ()) and run.metadata["customer"] == "42" for run in every)
    assert {"begin", "answer"} <= {run.name for run in every}


@MODES
def test_a_turn_of_the_search_agent_is_one_run(mode: str) -> None:
    tracer = Kept()
    answer = invoke(CASES["search_agent"], mode, {"callbacks": [tracer]})
    names = [run.name for run in under(tracer.roots[0]) if run.run_type in {"llm", "chat_model"}]
    assert names == ["search_agent.search"] * answer["usage"]["total"]["calls"]


def spans_of(case: Case, mode: str, **more: Any) -> tuple[dict[int, ReadableSpan], Any]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("test").start_as_current_span("request"):
        try:
            answer = invoke(case, mode, {"callbacks": [tg.OpenTelemetryTracer(provider)]}, **more)
        except ModelError as error:
            answer = error
    return {span.context.span_id: span for span in exporter.get_finished_spans() if span.context}, answer


@MODES
@METHODS
def test_spans_hold_steps_models_and_tokens_and_no_words(case: Case, mode: str) -> None:
    spans, answer = spans_of(case, mode)
    above = {key: span.parent and spans[span.parent.span_id] for key, span in spans.items()}
    (top,) = (key for key, span in above.items() if span is None)
    assert spans[top].name == "request"
    (run,) = (span for key, span in spans.items() if (above[key] or span).name == "request" and key != top)
    assert run.name == case.method
    calls = [key for key, span in spans.items() if (span.attributes or {}).get("gen_ai.operation.name") == "chat"]
    assert len(calls) == answer["usage"]["total"]["calls"]
    total = {
        name: sum((spans[key].attributes or {})[f"gen_ai.usage.{name}"] for key in calls)
        for name in ("input_tokens", "output_tokens")
    }  # type: ignore[misc]
    assert total == {name: answer["usage"]["total"][name] for name in total}
    for key in calls:
        step: Any = above[key]
        assert (spans[key].attributes or {})["thinkgraph.node"] == step.name
        assert step.start_time <= spans[key].start_time <= spans[key].end_time <= step.end_time
    said = "".join(f"{span.name} {dict(span.attributes or {})}" for span in spans.values())
    assert case.question not in said
    assert not any(text in said for text in case.answers)


@MODES
def test_a_failed_run_has_failed_spans_and_none_is_left_open(mode: str) -> None:
    def fails(_prompt: Any) -> Any:
        raise ModelError("the key sk-123 is refused")

    case = CASES["tog2"]
    spans, error = spans_of(case, mode, model=FakeModel(dict.fromkeys(case.replies, fails)))
    assert isinstance(error, ModelError)
    failed = [span for span in spans.values() if not span.status.is_ok]
    assert {span.name for span in failed} > {case.method}
    assert all("\n" not in (span.status.description or "") for span in failed)
    assert all(span.end_time for span in spans.values())


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'thinkgraph\[otel\]'"):
        tg.OpenTelemetryTracer()
