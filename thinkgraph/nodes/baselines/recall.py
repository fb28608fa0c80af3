"""The baselines without retrieval (IO, CoT): one call, one answer."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.judging import UNDECIDED, cut_short, from_memory, unknown
from thinkgraph.nodes.common.memory import recalled
from thinkgraph.state.base import RunState
from thinkgraph.state.baselines.single_pass import RecallSettings

NO_MEMORY = "this method has no evidence, and own_knowledge is off"
NOT_KNOWN = "the model does not know the answer"


def recall(state: RunState, settings: RecallSettings) -> Flow[Update]:
    """Answer from memory, with the prompt of the method: `recall.direct` (IO) or `recall.cot` (chain of thought)."""
    if not settings.own_knowledge:
        return {"draft": unknown(NO_MEMORY, settings)}
    try:
        judgement = yield from recalled(state["question"], f"recall.{state['manifest']['method']}", settings)
    except BudgetSpentError as spent:
        return cut_short(state, settings, spent)
    if not judgement["sufficient"] or judgement["answers"] in ([], [UNDECIDED]):
        return {"draft": unknown(NOT_KNOWN, settings)}
    why = "from the model's own knowledge; no evidence was looked at"
    return {"draft": from_memory(judgement["answers"], why)}
