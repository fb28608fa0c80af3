"""Self-verification (CogGRAG section 4.3): is the answer to a question right?"""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.prompt_context import DO_NOT_KNOW, same_context
from thinkgraph.nodes.coggrag.tree import task_of
from thinkgraph.prompts.kinds import VERDICT, Shape, Verdict
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import Attempt, CogGragSettings, QuestionState


def verify(state: QuestionState, settings: CogGragSettings) -> Flow[Update]:
    """Judge the last answer.

    An answer is wrong without a call if it is not what the question asks for, or if no line supports it where `needs_evidence` holds.
    """
    solution = state["solved"][state["id"]]
    *before, last = solution["attempts"]
    unsupported = not solution["supported"] and settings.needs_evidence
    if last["answers"] and (unsupported or solution["doubt"]):
        judged = Attempt(answers=last["answers"], right=False, judge="evidence")
    else:
        context = yield from same_context(state, settings)
        verdict = yield from requests.call(
            VERDICT,
            "coggrag.verify",
            {
                "question": safe_block(state["asked"]),
                "answer": safe_block("; ".join(last["answers"]) or DO_NOT_KNOW),
                "evidence": numbered(context.lines),
            },
            # What is answered from memory follows from no line.
            shape=Shape(explain=settings.explain, consistent=settings.consistency or settings.offers_memory),
            fallback=Verdict(right=False),
            task=task_of(state["id"], settings),
            rank={"evidence": context.rank},
        )
        judged = Attempt(answers=last["answers"], right=verdict["right"], judge="verifier")
    verified = judged["right"] if solution["answers"] else None
    return {"solved": {state["id"]: {**solution, "attempts": [*before, judged], "verified": verified}}}


def needs_verdict(state: QuestionState, settings: CogGragSettings) -> bool:
    """Whether the last answer is to be verified. With `backtracks`, that of the last re-think is too, and "I don't know" never is."""
    solution = state["solved"][state["id"]]
    attempts = solution["attempts"]
    if (
        not settings.verify
        or state["stopped"]
        or not attempts
        or solution["plain"]
        or attempts[-1]["right"] is not None
    ):
        return False
    if settings.backtracks > 0:
        return bool(attempts[-1]["answers"])
    return len(attempts) <= settings.rethinks and bool(attempts[-1]["answers"] or not settings.skip_settled)
