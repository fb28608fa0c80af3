"""Self-consistency (CoT-SC, Wang et al. 2023): one chain of thought of several."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.memory import COT, sampled
from thinkgraph.state.base import SampleTask
from thinkgraph.state.baselines.single_pass import CotScSettings


def sample(state: SampleTask, settings: CotScSettings) -> Flow[Update]:
    """One chain of thought. The state is the payload of one Send."""
    return (yield from sampled(state, COT, settings, settings.sample_temperature))
