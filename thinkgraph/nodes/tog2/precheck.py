"""ToG-2's self-consistency pre-check (section 4.3, appendix B.4): what the model answers without evidence."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.memory import sampled
from thinkgraph.state.base import SampleTask
from thinkgraph.state.tog2 import Tog2Settings


def precheck(state: SampleTask, settings: Tog2Settings) -> Flow[Update]:
    """One sample of several. The state is the payload of one Send."""
    temperature, steps = settings.precheck_temperature, settings.precheck_steps
    return (yield from sampled(state, "tog2.precheck", settings, temperature, steps=steps))
