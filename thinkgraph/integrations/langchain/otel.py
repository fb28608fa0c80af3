"""Runs as OpenTelemetry spans: one for the run, each step and each model call, under whatever span is current.

    graph.invoke({"question": "…"}, {"callbacks": [tg.OpenTelemetryTracer()]})

Spans hold names, times, models and tokens, in OpenTelemetry's own words for generative models. Prompts, replies and the question
stay out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.tracers.base import BaseTracer

from thinkgraph.errors import UsageError, first_line
from thinkgraph.prompts.lines import one_line
from thinkgraph.version import VERSION

if TYPE_CHECKING:
    from langchain_core.tracers.schemas import Run
    from opentelemetry.trace import Span, TracerProvider

_LONGEST_ERROR = 200


class OpenTelemetryTracer(BaseTracer):
    """A LangChain callback that makes spans. One may serve any number of runs at a time."""

    run_inline = True
    """On an event loop too, spans begin and end in the order of what they stand for."""

    def __init__(self, provider: TracerProvider | None = None, **kwargs: Any) -> None:
        """Bind where spans go.

        Args:
            provider: the tracer provider; by default the process's own.
            kwargs: of LangChain's tracer.

        Raises:
            UsageError: OpenTelemetry is not installed.
        """
        super().__init__(**kwargs)
        try:
            from opentelemetry import trace
        except ImportError:
            raise UsageError("spans need OpenTelemetry: pip install 'thinkgraph[otel]'") from None
        self._trace = trace
        self._tracer = trace.get_tracer("thinkgraph", VERSION, provider)
        self._spans: dict[UUID, Span] = {}

    def _on_run_create(self, run: Run) -> None:
        above = self._spans.get(run.parent_run_id) if run.parent_run_id else None
        chat = run.run_type in {"llm", "chat_model"}
        self._spans[run.id] = self._tracer.start_span(
            run.name,
            context=self._trace.set_span_in_context(above) if above else None,
            kind=self._trace.SpanKind.CLIENT if chat else self._trace.SpanKind.INTERNAL,
            start_time=_nanoseconds(run.start_time),
            attributes=_attributes(run, chat=chat),
        )

    def _on_run_update(self, run: Run) -> None:
        span = self._spans.pop(run.id, None)
        if span is None:
            return
        for name, tokens in _usage(run.outputs or {}).items():
            span.set_attribute(f"gen_ai.usage.{name}", tokens)
        if run.error:
            # The first line: what follows is a traceback, with the values of who knows what.
            told = one_line(first_line(run.error))[:_LONGEST_ERROR]
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, told))
        span.end(_nanoseconds(run.end_time or run.start_time))

    def _persist_run(self, run: Run) -> None:
        """Nothing: spans are exported as they end."""


def _nanoseconds(moment: Any) -> int:
    return int(moment.timestamp() * 1e9)


def _attributes(run: Run, *, chat: bool) -> dict[str, Any]:
    known: Mapping[str, Any] = (run.extra or {}).get("metadata") or {}
    found = {
        "thinkgraph.node": known.get("langgraph_node"),
        "thinkgraph.step": known.get("langgraph_step"),
        "thinkgraph.thread": known.get("thread_id"),
        "langchain.tags": list(run.tags or ()),
    }
    if chat:
        found |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": known.get("ls_provider"),
            "gen_ai.request.model": known.get("ls_model_name"),
            "gen_ai.request.temperature": known.get("ls_temperature"),
        }
    return {name: value for name, value in found.items() if value is not None}


def _usage(outputs: Mapping[str, Any]) -> dict[str, int]:
    for generations in outputs.get("generations") or ():
        for one in generations:
            message = one.get("message")
            # LangChain hands messages over as objects, or as dicts of their arguments.
            usage = message.get("kwargs", {}).get("usage_metadata") if isinstance(message, dict) else None
            usage = usage or getattr(message, "usage_metadata", None)
            if usage:
                return {name: int(usage[name]) for name in ("input_tokens", "output_tokens")}
    return {}
