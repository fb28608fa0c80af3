"""Do cited statements alone show that answers are right? A departure from CogGRAG, whose model verifies every answer (`skip_settled`).

English questions only, as of `misfit`.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.doubt.asked_kind import asked_for, counted_noun, root_of, words_of
from thinkgraph.nodes.doubt.compared import Comparison
from thinkgraph.nodes.doubt.counted import narrows
from thinkgraph.nodes.doubt.misfit import MAX_LOOKED_UP, is_named, sort_of
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.runtime import requests
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.linking.lexical import content_tokens


def is_settled(answers: Sequence[str], walk: Walk) -> Flow[bool]:
    """Whether nothing is left for a model to verify of answers that fit their question: one is the larger of two values compared, or how
    long a list is; they are all that several things have in common; or the question names the relations that lead to them, see
    `is_named`, and no type in the graph is another than what is asked for. Not if it asks for only some of what these lead to.

    Args: as of `misfit`.
    """
    comparison = Comparison(walk)
    if weighed := comparison.weighed(answers):
        # "The capital of the larger one" is next to it, as other towns are.
        is_weighed = all(fold(answer) == fold(weighed.own) or walk.named(answer) for answer in answers)
        return is_weighed and weighed.mine > weighed.others
    if comparison.shared and comparison.together >= walk.things_named:
        return _are_all(answers, comparison)
    if counted := counted_noun(walk.question):
        return len(answers) == 1 and _counts(answers[0], counted, walk)
    if narrows(walk.question) or not comparison.is_told or not (yield from is_named(answers, walk)):
        # A list holds what it does "not" ask for, too, and what is not the longest.
        return False
    asked = asked_for(walk.question)
    if asked is None or asked.kind != "thing" or not asked.sort:
        return True
    ids = sorted(walk.ids(map(fold, answers)))[:MAX_LOOKED_UP]
    typed = [one for one in (yield from requests.entities(ids)) if one and one["type"] and not one["literal"]]
    return all(sort_of(one) == asked.sort for one in typed)


def _are_all(answers: Sequence[str], comparison: Comparison) -> bool:
    """Whether the answers are all that the things named have in common by one relation, the only one or the one that the question says."""
    walk, shared = comparison.walk, comparison.shared
    said = [way for way in shared if walk.says(way[0])] or list(shared)
    return len(said) == 1 and walk.ids(map(fold, answers)) == shared[said[0]]


def _counts(answer: str, counted: str, walk: Walk) -> bool:
    """Whether a number is the length of the only list that the question can count: beside the list's thing and the noun `counted`, the
    question has no word that the list's relation does not say.
    """
    if any(item.get("total", 0) > len(item.get("tails", ())) for item in walk.items):
        return False
    lengths = set()
    for (thing, label, _), ends in walk.lists.items():
        name = walk.things.get(thing, "")
        rest = walk.words - set(content_tokens(f"{name} {counted}"))
        if name and walk.named(name) and rest and set(map(root_of, rest)) <= set(map(root_of, words_of(label))):
            lengths.add(str(len(ends)))
    return lengths == {answer.strip()}
