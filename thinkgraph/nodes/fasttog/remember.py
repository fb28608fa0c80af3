"""An answer from the model's own knowledge (FastToG, section "Overview": IO, CoT, CoT-SC), where `own_knowledge` allows it."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.memory import COT, DIRECT, sampled
from thinkgraph.state.base import SampleTask
from thinkgraph.state.fasttog import FastTogSettings


def may_remember(settings: FastTogSettings) -> bool:
    """Whether a run that the graph does not answer may end with an answer from memory."""
    return settings.own_knowledge and settings.fallback != "off"


def sample_count(settings: FastTogSettings) -> int:
    """How many answers from memory a run takes, where it takes any."""
    return settings.fallback_samples if settings.fallback == "cot_sc" else 1


def remember(state: SampleTask, settings: FastTogSettings) -> Flow[Update]:
    """One answer from memory. The state is the payload of one Send."""
    temperature = settings.fallback_temperature if settings.fallback == "cot_sc" else None
    return (yield from sampled(state, DIRECT if settings.fallback == "io" else COT, settings, temperature))
