"""The end of the search agent: its last message as an answer."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext
from thinkgraph.nodes.common.judging import bare, decide, nothing_found
from thinkgraph.nodes.common.reports import reasoned
from thinkgraph.prompts.kinds import JUDGE, Judgement, Shape
from thinkgraph.prompts.reading import BadReplyError
from thinkgraph.prompts.tasks import task_labels
from thinkgraph.state.search_agent import SearchAgentSettings, SearchAgentState


def conclude(state: SearchAgentState, settings: SearchAgentSettings) -> Flow[Update]:
    """The agent's last message as an answer, held against the lines it was shown."""
    given = state["given"]
    if given is None or not given["text"] or state["stopped"]:
        return {"draft": nothing_found(state, settings, stopped=state["stopped"] or _no_answer(settings))}
    shape = Shape(
        evidence=len(given["lines"]), labels=task_labels(settings.task, state["question"]), explain=settings.explain
    )
    try:
        judgement = JUDGE.parse(given["text"], shape)
    except BadReplyError:
        # The agent was cut off at its last turn: what stands there then is a word of the middleware's.
        return {"draft": nothing_found(state, settings, stopped=_no_answer(settings))}
    # The evidence may have been capped: a line whose item is gone cannot be cited.
    known = [place for place, name in enumerate(given["items"]) if name in state["evidence"]]
    context = PromptContext(
        [state["evidence"][given["items"][place]] for place in known], [given["lines"][p] for p in known]
    )
    numbers = {place + 1: own for own, place in enumerate(known, start=1)}
    cited = [numbers[number] for number in judgement["evidence"] if number in numbers]
    answers = [bare(state["question"], answer) for answer in judgement["answers"]]
    yield from reasoned(state["round"], sufficient=judgement["sufficient"], answers=answers)
    shown: Judgement = {**judgement, "answers": answers, "evidence": cited}
    return {"draft": decide(shown, context, state, settings, final=True, likely=False)}


def _no_answer(settings: SearchAgentSettings) -> str:
    return f"the agent did not answer within {settings.turns} turns"
