"""A last look at an answer (`verify`): does it follow from the lines cited for it, and from these alone?"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts, evidence_line
from thinkgraph.nodes.common.judging import VERIFIER
from thinkgraph.prompts.kinds import VERDICT, Shape, Verdict
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.settings import RunSettings


def fault_found(
    question: str, answers: Sequence[str], items: Sequence[EvidenceItem], texts: Texts, settings: RunSettings
) -> Flow[str]:
    """What a verifier has against an answer, by one call; empty where it has nothing. An unreadable verdict is against it.

    Args:
        question: the question, or the claim.
        answers: its answers, or the label.
        items: what is cited.
        texts: what these items refer to.
        settings: the run's.

    Raises:
        ModelError: the model cannot be reached or refuses.
    """
    lines = [line for item in items if (line := evidence_line(item, texts))]
    try:
        verdict = yield from requests.call(
            VERDICT,
            VERIFIER,
            {"question": safe_block(question), "answer": safe_block("; ".join(answers)), "evidence": numbered(lines)},
            shape=Shape(explain=settings.explain),
            fallback=Verdict(right=False),
        )
    except BudgetSpentError as spent:
        return f"nothing verified it: {spent.reason}"
    return "" if verdict["right"] else "a verifier judged that it does not follow from the lines cited"
