"""The one call of `rag` and `kg_rag` over what they retrieved."""

from __future__ import annotations

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import prompt_context
from thinkgraph.nodes.common.judging import cut_short, decide, judge, nothing_found
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.prompts.tasks import otherwise, task_words
from thinkgraph.state.baselines.single_pass import KgRagSettings, RagSettings, RetrievalState


def reason(state: RetrievalState, settings: RagSettings | KgRagSettings) -> Flow[Update]:
    """Answer from all evidence found, with the method's prompt; without any and without own_knowledge, without a call."""
    items = list(state["evidence"].values())
    if not items and not settings.own_knowledge:
        return {"draft": nothing_found(state, settings)}
    context = yield from prompt_context(items, tokens=settings.evidence_tokens)
    likely = settings.partial and not settings.own_knowledge
    inputs = {
        "question": safe_block(state["question"]),
        "evidence": numbered(context.lines),
        "task": task_words(settings.task, state["question"]),
        "else": otherwise(own=settings.own_knowledge, likely=likely),
    }
    try:
        judgement = yield from judge(
            f"{state['manifest']['method']}.reason",
            inputs,
            settings,
            evidence=len(context.lines),
            likely=likely,
            steps=settings.cot,
        )
    except BudgetSpentError as spent:
        return cut_short(state, settings, spent)
    yield from reasoned(0, sufficient=judgement["sufficient"], answers=judgement["answers"])
    return {"draft": decide(judgement, context, state, settings, final=True, likely=likely)}
