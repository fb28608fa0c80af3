"""The offline chat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import PrivateAttr

from thinkgraph.models.offline.choices import (
    as_text,
    key_phrases,
    look_ups,
    match_pairs,
    pick_topics,
    proper_names,
    relation_scores,
    split_question,
    text_scores,
    triple_scores,
)
from thinkgraph.models.offline.judge import Decision, decide
from thinkgraph.models.offline.rule_based import Call, RuleBasedChatModel, judgement
from thinkgraph.models.offline.statements import statements
from thinkgraph.models.offline.words import Embed, Similarity, tokens
from thinkgraph.prompts.lines import Item, one_line

_LEAST_SCORE = 1.5
_PICK = 3
_TRUE = ("true", "supports", "yes")
_FALSE = ("false", "refutes", "no")


_LOOKS = 3
"""Things looked at in one turn with a search tool."""
_SEARCHES = 15
"""Searches after which the best answer must do."""


class OfflineChatModel(RuleBasedChatModel):
    """Plays every reply kind by lexical and embedding similarity; no weights beyond a sentence encoder, no network.

    Every answer is copied from an evidence line and cites it, apart from counts, yes and no, which follow from cited
    lines. Where nothing explains the question well enough, it says that the evidence is not sufficient. The same prompt
    always gets the same reply.

    Args:
        embed: turns texts into unit vectors; None for word matching alone.
    """

    model: str = "offline"
    _similarity: Similarity = PrivateAttr()

    def __init__(self, embed: Embed | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._similarity = Similarity(embed)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "embeddings": self._similarity.has_vectors}

    def reply_to(self, call: Call) -> dict[str, Any] | str:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
        """The reply to one call."""
        prompt = call.prompt
        question = one_line(prompt.text("question"))
        options = prompt.lines("options")
        match prompt.kind:
            case "pick":
                return {"numbers": self._pick(call, question, options)}
            case "score":
                return {"scores": self._score(call, question, options)}
            case "pairs":
                return {"pairs": [list(pair) for pair in match_pairs(_clues(call), options, self._similarity)]}
            case "judge":
                return self._judge(call, question)
            case "keywords":
                return {"keywords": key_phrases(question)}
            case "names":
                return {"names": proper_names(question)}
            case "texts":
                return {"texts": [as_text(item) for item in options]}
            case "keys":
                listed = [one_line(item.text) for item in prompt.lines("questions")]
                found = look_ups(listed, linking=call.triples)
                return {"keys": [{"key": parts, "of": [number]} for parts, number in found]}
            case "subquestions":
                nodes = split_question(question)
                return {"questions": [{"question": q, "open": False, "refers": refers} for q, refers in nodes]}
            case "verdict":
                return {"right": self._verdict(call, question)}
            case "triples":
                passages = [item for items in prompt.items.values() for item in items if item.passage]
                allowed = [item.text.partition(" -- ")[0] for item in prompt.lines("relations")]
                return {"triples": statements(passages, allowed, self._similarity), "types": []}
            case "text":
                return self._text(call, question)
            case _:
                return "This model answers prompts of thinkgraph only."

    def search_turn(self, call: Call, searched: Sequence[Mapping[str, Any]]) -> dict[str, Any] | str:
        """Look at what the question names, walk the relations nearest to its words, then at what they reached; answer from it."""
        question = one_line(call.prompt.text("question"))
        seen = {(str(one.get("entity")), bool(one.get("relations"))) for one in searched}
        if not searched:
            names = [phrase for phrase in dict.fromkeys(key_phrases(question)) if not phrase[:1].islower()]
            return {"search": [_look(name) for name in names[:_LOOKS]]} if names else self._judge(call, question)
        items = call.prompt.lines("evidence")
        if self._decide(call, question).answers or len(searched) >= _SEARCHES:
            return self._judge(call, question)
        open_ = [item for item in items if item.step and (item.step[0], True) not in seen]
        scores = relation_scores(question, open_, self._similarity)
        best = sorted((n for n in scores if scores[n] >= _LEAST_SCORE), key=lambda n: (-scores[n], n))[:_LOOKS]
        steps = [item.step for number in best for item in open_ if item.number == number]
        if steps:
            return {
                "search": [
                    {"entity": step[0], "direction": "out" if step[2] else "in", "relations": [step[1]]}
                    for step in steps
                    if step
                ]
            }
        ends = [hop.object if hop.outgoing else hop.subject for item in reversed(items) for hop in item.triples]
        ends = [end for end in dict.fromkeys(ends) if (end, False) not in seen and not end[:1].isdigit()]
        return {"search": [_look(end) for end in ends[:_LOOKS]]} if ends else self._judge(call, question)

    def _pick(self, call: Call, question: str, options: tuple[Item, ...]) -> list[int]:
        if options and all(item.hops for item in options):
            starts, evidence = call.prompt.lines("entities"), call.prompt.lines("evidence")
            return _best(triple_scores(question, starts, evidence, options, self._similarity))
        if any(item.hops or item.step or item.passage for item in options) or call.prompt.lines("evidence"):
            return _best(self._scores(call, question, options))
        return pick_topics(question, options, self._similarity)

    def _scores(self, call: Call, question: str, options: tuple[Item, ...]) -> dict[int, float]:
        scores = relation_scores(question, [item for item in options if item.step], self._similarity)
        query = one_line(call.prompt.text("looking for"))
        rest = [item for item in options if not item.step]
        return {**scores, **text_scores(question, query, rest, self._similarity)}

    def _score(self, call: Call, question: str, options: tuple[Item, ...]) -> list[list[float]]:
        scores = self._scores(call, question, options)
        return [[n, round(min(s, 10.0), 1)] for n, s in sorted(scores.items()) if s >= _LEAST_SCORE]

    def _decide(self, call: Call, question: str) -> Decision:
        items = call.prompt.lines("evidence")
        if not items:
            names = [n for n in call.prompt.items if n not in {"question", "options", "entities", "clues so far"}]
            items = tuple(item for name in names for item in call.prompt.lines(name))
        return decide(question, items, self._similarity)

    def _judge(self, call: Call, question: str) -> dict[str, Any]:
        found = self._decide(call, question)
        answers = _labelled(found.answers, call.labels) if call.labels else found.answers
        # What was known before stays known where this evidence adds nothing.
        clues = found.clues or one_line(call.prompt.text("clues so far"))
        likely = _labelled(found.likely, call.labels) if call.labels else found.likely
        return judgement(call, answers, sorted(found.lines), clues=clues, query=found.query, likely=likely)

    def _verdict(self, call: Call, question: str) -> bool:
        name = next((name for name in call.prompt.sections if name.endswith("answer")), "")
        given = tokens(call.prompt.text(name))
        answers = self._decide(call, question).answers
        return bool(answers) and all(_inside(tokens(answer), given) for answer in answers)

    def _text(self, call: Call, question: str) -> str:
        """A search query: the question's words that the clues do not know yet, and the last names the clues give.

        In a conversation, the question with the last name that was said, where it has none of its own.
        """
        if said := call.prompt.text("conversation"):
            heard = [] if proper_names(question) else proper_names(said)
            return f"{question} ({heard[-1]})" if heard else question
        clues = one_line(call.prompt.text("clues so far"))
        known = set(tokens(clues))
        names = [phrase for phrase in key_phrases(clues) if phrase[:1].isupper()][-2:]
        open_phrases = [phrase for phrase in key_phrases(question) if not set(tokens(phrase)) <= known]
        return ", ".join(dict.fromkeys([*names, *open_phrases])) or question or "more evidence"


def _look(name: str) -> dict[str, Any]:
    return {"entity": name, "direction": "both", "relations": []}


def _best(scores: dict[int, float]) -> list[int]:
    """The few best options that come near the best one."""
    best = max(scores.values(), default=0.0)
    ranked = sorted(scores, key=lambda number: (-scores[number], number))
    return [n for n in ranked[:_PICK] if scores[n] >= max(_LEAST_SCORE, best / 2)]


def _clues(call: Call) -> tuple[Item, ...]:
    names = [name for name in call.prompt.items if "clue" in name and call.prompt.lines(name)]
    return call.prompt.lines(names[0]) if names else ()


def _inside(wanted: list[str], given: list[str]) -> bool:
    size = len(wanted)
    return any(given[at : at + size] == wanted for at in range(len(given) - size + 1))


def _labelled(answers: list[str], labels: tuple[str, ...]) -> list[str]:
    known = {label.casefold(): label for label in labels}
    found: list[str] = []
    for answer in answers:
        same = next((group for group in (_TRUE, _FALSE) if answer.casefold() in group), ())
        found += [known[word] for word in same if word in known][:1]
    return found
