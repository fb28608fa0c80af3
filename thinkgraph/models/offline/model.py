"""The offline chat model: a rule-based reply to every kind of prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import PrivateAttr

from thinkgraph.models.offline.judge import Conclusion, decide
from thinkgraph.models.offline.rule_based import Call, RuleBasedChatModel, judgement
from thinkgraph.models.offline.words import (
    COMPARING,
    STOP,
    Embed,
    QuestionWords,
    Similarity,
    content,
    nearness,
    tokens,
    weight,
)
from thinkgraph.prompts.lines import Item, one_line

_BEST = 10.0
_LEAST_SCORE = 1.5
_PICK = 3
_LEAST_PAIR = 0.6
_LEAST_RELATION = 0.5
_MOST_ENCODED = 64
_LOOKS = 3
"""Look-ups in one turn with a search tool."""
_SEARCHES = 15
"""After so many look-ups the model answers with what it has found."""
_TRUE = ("true", "supports", "yes")
_FALSE = ("false", "refutes", "no")
_NO_EVIDENCE = frozenset({"question", "options", "entities", "clues so far"})


class OfflineChatModel(RuleBasedChatModel):
    """Replies to every kind by lexical and embedding similarity. It needs no weights beyond a sentence encoder, no network.

    Every answer is copied from an evidence line and cites it, apart from counts, yes and no, which follow from the cited
    lines. Where the evidence does not explain the question well enough, the reply says that it is not sufficient. The same
    prompt always gets the same reply.

    Args:
        embed: turns texts into unit vectors; None to compare by words alone.
    """

    model: str = "offline"
    _similarity: Similarity = PrivateAttr()

    def __init__(self, embed: Embed | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._similarity = Similarity(embed)

    def reply_to(self, call: Call) -> dict[str, Any] | str:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
        """The reply to one call."""
        prompt = call.prompt
        question = one_line(prompt.text("question"))
        options = prompt.lines("options")
        match prompt.kind:
            case "pick":
                return {"numbers": self._pick(call, question, options)}
            case "score":
                return {"scores": self._scored(call, question, options)}
            case "pairs":
                clues = next((items for name, items in prompt.items.items() if "clue" in name and items), ())
                return {"pairs": matching_pairs(clues, options, self._similarity)}
            case "judge":
                return self._judge(call, question)
            case "keywords":
                return {"keywords": key_phrases(question)}
            case "names":
                return {"names": proper_names(question)}
            case "texts":
                return {"texts": [as_text(item) for item in options]}
            case "keys":
                questions = [one_line(item.text) for item in prompt.lines("questions")]
                return {"keys": look_ups(questions, linking=call.triples)}
            case "subquestions":
                return {"questions": sub_questions(question)}
            case "verdict":
                return {"right": self._verdict(call, question)}
            case "triples":
                passages = [item for items in prompt.items.values() for item in items if item.passage]
                allowed = [item.text.partition(" -- ")[0] for item in prompt.lines("relations")]
                return {"triples": statements(passages, allowed, self._similarity), "types": []}
            case "text":
                return _search_query(call, question)
            case _:
                return "This model answers prompts of thinkgraph only."

    def search_turn(self, call: Call, searched: Sequence[Mapping[str, Any]]) -> dict[str, Any] | str:
        """Look up what the question names, then walk the relations nearest to its words, then look up what they reached."""
        question = one_line(call.prompt.text("question"))
        seen = {(str(one.get("entity")), bool(one.get("relations"))) for one in searched}
        if not searched:
            names = [phrase for phrase in dict.fromkeys(key_phrases(question)) if not phrase[:1].islower()]
            wanted = [_look_up(name) for name in names]
        elif len(searched) >= _SEARCHES or self._decide(call, question).answers:
            wanted = []
        else:
            items = call.prompt.lines("evidence")
            steps = {item.number: item.step for item in items if item.step and (item.step[0], True) not in seen}
            scores = called_for(question, [item for item in items if item.number in steps], self._similarity)
            ends = [hop.target for item in reversed(items) for hop in item.triples]
            wanted = [_look_up(*steps[number]) for number in _ranked(scores) if scores[number] >= _LEAST_SCORE] or [
                _look_up(end) for end in dict.fromkeys(ends) if (end, False) not in seen and not end[:1].isdigit()
            ]
        return {"search": wanted[:_LOOKS]} if wanted else self._judge(call, question)

    def _pick(self, call: Call, question: str, options: tuple[Item, ...]) -> list[int]:
        if not call.prompt.lines("evidence") and not any(item.hops or item.step or item.passage for item in options):
            return named_topics(question, options, self._similarity)
        scores = self._scores(call, question, options)
        least = max(_LEAST_SCORE, max(scores.values(), default=0.0) / 2)
        return [number for number in _ranked(scores)[:_PICK] if scores[number] >= least]

    def _scored(self, call: Call, question: str, options: tuple[Item, ...]) -> list[list[float]]:
        """The options worth naming, each with its score."""
        scores = sorted(self._scores(call, question, options).items())
        return [[n, round(min(score, _BEST), 1)] for n, score in scores if score >= _LEAST_SCORE]

    def _scores(self, call: Call, question: str, options: tuple[Item, ...]) -> dict[int, float]:
        by_relation = [item for item in options if item.step or (item.hops and call.prompt.kind in {"pick", "judge"})]
        texts = [item for item in options if item not in by_relation]
        wanted = f"{question} {one_line(call.prompt.text('looking for'))}".strip()
        return called_for(question, by_relation, self._similarity) | text_scores(wanted, texts, self._similarity)

    def _decide(self, call: Call, question: str) -> Conclusion:
        sections = call.prompt.items
        items = sections.get("evidence") or [i for name in sections if name not in _NO_EVIDENCE for i in sections[name]]
        return decide(question, items, self._similarity, verdict=bool(call.labels))

    def _judge(self, call: Call, question: str) -> dict[str, Any]:
        found = self._decide(call, question)
        answers, likely = (_labelled(said, call.labels) for said in (found.answers, found.likely))
        # Evidence that adds nothing takes nothing away from what was known.
        clues = found.clues or one_line(call.prompt.text("clues so far"))
        scores = self._scored(call, question, call.prompt.lines("options")) if call.steers else ()
        return judgement(
            call, answers, sorted(found.lines), clues=clues, query=found.query, likely=likely, scores=scores
        )

    def _verdict(self, call: Call, question: str) -> bool:
        name = next((name for name in call.prompt.sections if name.endswith("answer")), "")
        given = f" {' '.join(tokens(call.prompt.text(name)))} "
        answers = self._decide(call, question).answers
        return bool(answers) and all(f" {' '.join(tokens(answer))} " in given for answer in answers)


def _look_up(entity: str, relation: str = "", outgoing: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - a step
    if not relation:
        return {"entity": entity, "direction": "both", "relations": []}
    return {"entity": entity, "direction": "out" if outgoing else "in", "relations": [relation]}


def _ranked(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda number: (-scores[number], number))


def _labelled(answers: list[str], labels: tuple[str, ...]) -> list[str]:
    """The answers in the words of the labels, if there are labels."""
    if not labels:
        return answers
    groups = [group for answer in answers for group in (_TRUE, _FALSE) if answer.casefold() in group]
    return [next(label for label in labels if label.casefold() in group) for group in groups]


def named_topics(question: str, options: Sequence[Item], similarity: Similarity) -> list[int]:
    """The entities that a question names; of namesakes those whose descriptions fit it best. Else the one most alike."""
    labels = [mention.label for mention in QuestionWords(question).mentions(item.label for item in options)]
    chosen: list[int] = []
    # "top" is not the currency code TOP, in a question that has a name as it is written.
    for label in [label for label in labels if label in question] or labels:
        rest = " ".join(word for word in tokens(question) if word not in tokens(label))
        same = {item.number: item.about for item in options if item.label == label}
        chosen += _near_best(rest, same, similarity, within=0.12)[:_PICK]
    return chosen or _near_best(question, {item.number: item.text for item in options}, similarity, within=0.03)[:2]


def _near_best(wanted: str, texts: Mapping[int, str], similarity: Similarity, *, within: float) -> list[int]:
    similarity.warm([wanted, *texts.values()])
    near = {number: similarity.cosine(wanted, text) for number, text in texts.items()}
    best = max(near.values(), default=0.0)
    return [number for number, value in near.items() if value >= best - within]


def called_for(question_text: str, options: Sequence[Item], similarity: Similarity) -> dict[int, float]:
    """By option how far a question's words call for its relation, of a path or community for its best one (0 to 10)."""
    question = QuestionWords(question_text)
    steps = [item.step for item in options if item.step]
    hops = [hop for item in options for hop in item.triples]
    ends = {*(step[0] for step in steps), *(end for hop in hops for end in (hop.subject, hop.object))}
    inside = {place for end in ends for place in question.places(end)}
    words = [word for place, word in enumerate(question.words) if place not in inside and word not in STOP]
    relations = dict.fromkeys([*(step[1] for step in steps), *(hop.relation for hop in hops)])
    similarity.warm([*relations, *words, *(part for relation in relations for part in tokens(relation))])

    def fit(relation: str) -> float:
        best = max((similarity.word(word, relation) * max(weight(word), 0.6) for word in words), default=0.0)
        parts = content(tokens(relation))
        said = sum(max((similarity.word(word, part) for word in words), default=0.0) for part in parts)
        return 0.6 * best + 0.4 * said / max(1, len(parts))

    called = {relation: fit(relation) for relation in relations}
    scores: dict[int, float] = {}
    for item in options:
        fits = [called[hop.relation] for hop in item.triples]
        if item.step:
            entity, relation, outgoing = item.step
            fits = [called[relation]]
            # A thing's own name may say the relation that leads to it: the Swiss franc is somebody's currency.
            fits += [similarity.cosine(entity, relation)] if not outgoing and question.places(entity) else []
        scores[item.number] = _BEST * max(fits, default=0.0)
    return scores


def text_scores(wanted: str, options: Sequence[Item], similarity: Similarity) -> dict[int, float]:
    """By option how near its text is to what is wanted (0 to 10). Of very many only those with most common words are encoded."""
    words = [word for word in dict.fromkeys(tokens(wanted)) if word not in STOP]
    total = sum(map(weight, words)) or 1.0
    texts = {item.number: as_text(item) for item in options}
    common: dict[int, float] = {}
    for number, text in texts.items():
        said = content(tokens(text))
        common[number] = (
            sum(weight(w) * max((nearness(w, other) for other in said), default=0.0) for w in words) / total
        )
    encoded = _ranked(common)[:_MOST_ENCODED]
    similarity.warm([wanted, *(texts[number] for number in encoded)])
    near = {number: max(similarity.cosine(wanted, texts[number]), 0.0) for number in encoded}
    return {number: _BEST * (common[number] + near.get(number, 0.0)) / 2 for number in texts}


def as_text(item: Item) -> str:
    """An option in plain words."""
    if item.passage:
        return f"{item.title} {item.section}: {item.passage}"
    return ". ".join(f"{hop.subject} {hop.relation} {hop.object}" for hop in item.triples) or item.text


def matching_pairs(clues: Sequence[Item], options: Sequence[Item], similarity: Similarity) -> list[list[int]]:
    """[clue, option] where both mean the same: the best clue for an option's name, every clue for its description."""
    names = {item.number: item.step[1] if item.step else item.label or item.text for item in options}
    similarity.warm([*(clue.text for clue in clues), *names.values(), *(item.about for item in options if item.about)])
    pairs: dict[tuple[int, int], None] = {}
    for item in options:
        best = max(clues, key=lambda clue: _alike(clue.text, names[item.number], similarity), default=None)
        if best and _alike(best.text, names[item.number], similarity) >= _LEAST_PAIR:
            pairs[best.number, item.number] = None
        if item.about:
            fitting = [clue for clue in clues if _alike(clue.text, item.about, similarity) >= _LEAST_PAIR]
            pairs |= dict.fromkeys((clue.number, item.number) for clue in fitting)
    return [list(pair) for pair in pairs]


def _alike(clue: str, text: str, similarity: Similarity) -> float:
    # "Largest export partner" is the relation "export partner"; which one is the largest is no part of its name.
    words = [word for word in content(tokens(clue)) if word not in COMPARING] or tokens(clue)
    share = sum(similarity.word(word, text) for word in words) / max(1, len(words))
    return 1.0 if tokens(clue) == tokens(text) else max(share * 0.9, similarity.cosine(clue, text))


_QUOTED = re.compile(r"[\"\u201c]([^\"\u201d]+)[\"\u201d]")
_PLACE = re.compile(r"\?\d+")


def key_phrases(question: str) -> list[str]:
    """Names and phrases of a question: quoted text first, then runs of capitalised words and of others between stop words."""
    found = _QUOTED.findall(question)
    run: list[str] = []
    for word in [*re.findall(r"[\w'\u2019-]+|[^\w\s]", _QUOTED.sub(" | ", question)), "|"]:
        told = tokens(word) and tokens(word)[0] not in STOP
        if run and not (told and run[-1][:1].isupper() == word[:1].isupper()):
            found.append(" ".join(run))
            run = []
        run += [word] if told else []
    return [re.sub(r"['\u2019]s$", "", phrase) for phrase in found]


def proper_names(question: str) -> list[str]:
    """The phrases of a question that are written as names: quoted or with a capital."""
    quoted = _QUOTED.findall(question)
    return [phrase for phrase in key_phrases(question) if phrase in quoted or phrase[:1].isupper()]


def _search_query(call: Call, question: str) -> str:
    """The question's phrases that the clues do not hold, after the last names that they do.

    In a conversation, the question with the last name that was said where it has none of its own.
    """
    if said := call.prompt.text("conversation"):
        heard = [] if proper_names(question) else proper_names(said)
        return f"{question} ({heard[-1]})" if heard else question
    clues = one_line(call.prompt.text("clues so far"))
    known = set(tokens(clues))
    phrases = [phrase for phrase in key_phrases(question) if not set(tokens(phrase)) <= known]
    return ", ".join(dict.fromkeys([*proper_names(clues)[-2:], *phrases])) or question or "more evidence"


def look_ups(questions: Sequence[str], *, linking: bool) -> list[dict[str, Any]]:
    """The keys to look up for questions: every name with the other words of its question as the relation.

    `?n` stands for the answer to question n. With `linking` only triples that need such an answer are given.
    """
    found: list[dict[str, Any]] = []
    for number, text in enumerate(questions, start=1):
        places = list(dict.fromkeys(_PLACE.findall(text)))
        phrases = key_phrases(_PLACE.sub(" | ", text))
        names = [phrase for phrase in phrases if phrase[:1].isupper()]
        rest = " ".join(phrase for phrase in phrases if phrase not in names)
        if not names and not places:
            # Written without capitals, or in a script that has none: any phrase may be a name.
            names, rest = phrases, ""
        starts = places if linking else [*names, *places]
        keys = [[start, rest, f"?{number}"] for start in starts] if rest else [] if linking else [[n] for n in names]
        found += [{"key": key, "of": [number]} for key in keys]
    return found


_CLAUSE = re.compile(
    r"^(?P<main>.+?\b(?:of|in|for|to|from|by)) the (?P<thing>(?:[\w-]+ ){0,2}?[\w-]+) (?P<clause>"
    r"(?:whose|that|which|where|who|in which|from which|through which) .+?"
    r"|(?:with|bordering|surrounding|topped|crowned|ruled|governed) .+?)\?*$",
    re.IGNORECASE,
)


def sub_questions(question: str) -> list[dict[str, Any]]:
    """A question about a thing with a relative clause becomes two: which thing the clause describes, and the rest about it."""
    texts = [question.strip()]
    if found := _CLAUSE.match(texts[0]):
        clause = re.sub(r"^(?:that|which|who) ", "", found["clause"], flags=re.IGNORECASE)
        clause = re.sub(r"^ whose ", "'s ", f" {clause}", flags=re.IGNORECASE)
        texts = [f"Which {found['thing']}{clause}?", f"{found['main']} #1?"]
    return [{"question": text, "open": False, "refers": [1] * n} for n, text in enumerate(texts)]


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'\u201c(]?[^\W\d_a-z])|(?<=[。！？])")
_NAME = re.compile(
    r"[^\W\d_a-z][\w'\u2019&-]*(?:\.(?=\s?[^\W\d_a-z]))?"
    r"(?:\s?(?:(?:of|de|von|van|the|del|la|for)\s){0,2}[^\W\d_a-z][\w'\u2019&-]*(?:\.(?=\s?[^\W\d_a-z]))?)*"
    r"|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|\b\d{4}\b"
)
_LEADING = re.compile(
    r"^(?:the|a|an|in|on|at|he|she|it|its|his|her|they|their|this|that|these|those)\s+", re.IGNORECASE
)
_PROPERTY = re.compile(r"(?:(?:the|a|an|its|his|her|their)\s+)?(?P<what>[\w -]+?)\s+of(?:\s+the)?\s*$", re.IGNORECASE)
_MOST_WORDS = 8


def statements(items: Iterable[Item], relations: Sequence[str], similarity: Similarity) -> list[list[str]]:
    """Triples of passages: two neighbouring names of a sentence and the words between them.

    A sentence that does not begin with a name is about the title of its passage. Without `relations` all are allowed.
    """
    found: dict[tuple[str, str, str], None] = {}
    for item in items:
        for sentence in _SENTENCE.split(item.passage):
            for subject, words, object_ in _of_sentence(sentence.strip(), item.title):
                if relation := _allowed(words, relations, similarity) if relations else words:
                    found[subject, relation, object_] = None
    return [list(triple) for triple in found]


def _of_sentence(sentence: str, title: str) -> Iterable[tuple[str, str, str]]:
    names = [(match.start(), match.end(), _bare(match[0])) for match in _NAME.finditer(sentence)]
    names = [(end - len(name), end, name) for start, end, name in names if name]
    if title and (not names or names[0][0] > 0):
        names.insert(0, (0, 0, title))
    for (_, end, one), (start, _, other) in pairwise(names):
        words = " ".join(re.sub(r"[\"\u201c\u201d(),;:]", " ", sentence[end:start]).split())
        words = re.sub(r"\s+(?:the|a|an)$", "", words if end else _LEADING.sub("", words))
        if words in {"is", "was", "are", "were"} and (owned := _PROPERTY.match(sentence[: end - len(one)])):
            words = owned["what"]  # "The president of Varn is Ines Calder."
        if 0 < len(tokens(words)) <= _MOST_WORDS and words.casefold() != "and" and one.casefold() != other.casefold():
            yield one, words, other


def _bare(name: str) -> str:
    """A name without the little word that only begins its sentence, and without a possessive ending."""
    rest = _LEADING.sub("", re.sub(r"['\u2019]s?$", "", name))
    return "" if set(tokens(rest)) <= STOP else rest


def _allowed(words: str, relations: Sequence[str], similarity: Similarity) -> str:
    similarity.warm([words, *relations])

    def fit(relation: str) -> float:
        parts = content(tokens(relation))
        return max(
            similarity.cosine(words, relation), sum(part in tokens(words) for part in parts) / max(1, len(parts))
        )

    best = max(relations, key=fit)
    return best if fit(best) >= _LEAST_RELATION else ""
