"""Questions with gold paths over the small world, and calls of a chooser that knows them."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from memory_graph import small_world

from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.questions import Question
from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import numbered
from thinkgraph.state.knowledge import Step

QUESTIONS = {
    "capital of the biggest buyer from Kenya?": ([["Kenya", "export_partner"], ["Uganda", "capital"]], ["Kampala"]),
    "voting age under Baru?": ([["Volcan Baru", "-highest_point"], ["Panama", "text:Voting"]], ["18"]),
    "how many neighbours has Kenya?": ([["Kenya", "shares_border_with"], ["count"]], ["2"]),
    "does Kenya border Panama?": ([["Kenya", "shares_border_with", "Panama"]], ["no"]),
    "does Kenya border Uganda?": ([["Kenya", "shares_border_with", "Uganda"]], ["yes"]),
    "largest neighbour of Kenya?": ([["Kenya", "shares_border_with"], ["*", "population", "max"]], ["Tanzania"]),
    "neighbour of both?": ([["Kenya", "shares_border_with"], ["Uganda", "shares_border_with"]], ["Tanzania"]),
    "how long is the Niger?": ([["Niger (river)", "length_km"]], ["4180"]),
    "mayor of Nairobi?": ([], []),
}
GRAPH, TEXTS = small_world()
ASKED = [
    Question(id=str(n), question=text, answers=tuple(answers), gold_path=tuple(map(tuple, path)))
    for n, (text, (path, answers)) in enumerate(QUESTIONS.items())
]
GOLDS = dict(zip(QUESTIONS, resolve_golds(ASKED, GRAPH, TEXTS), strict=True))
TYPES = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


def ask(model, role: str, shape: Shape, **inputs: str) -> Any:
    prompt = PromptLibrary().get(role)
    given = dict.fromkeys(prompt.places, "") | inputs
    messages = [TYPES[who](content=text) for who, text in prompt.render(given, shape, shots=2)]
    return prompt.kind.parse(model.invoke(messages).text, shape)


def raw(model, kind: str, user: str, shape: Shape | None = None) -> Any:
    shape = shape or Shape(options=9, clues=9, evidence=9)
    head = KINDS[kind].instruction(shape)
    return KINDS[kind].parse(model.invoke([SystemMessage(head), HumanMessage(user)]).text, shape)


def hop(entity: str, relation: str, direction: str = "out"):
    return GRAPH.neighbours([Step(entity=entity, relation=relation, direction=direction)])[0]["triples"]


def reason(model, question: str, *lines: str) -> Any:
    shape = Shape(evidence=len(lines), fields=("clues", "query"))
    return ask(model, "tog2.reason", shape, question=question, evidence=numbered(lines))
