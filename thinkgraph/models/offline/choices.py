"""Choosing among options: topics, relations, texts, pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgraph.models.offline.reading import COMPARING, QuestionWords
from thinkgraph.models.offline.words import STOP, Similarity, nearness, tokens, weight
from thinkgraph.prompts.lines import Item, ShownHop

_MATCH = 0.62
_ENOUGH_PAIR = 0.6
_BEST = 10.0
_MOST_ENCODED = 64
_FURTHER = 0.7


def pick_topics(question_text: str, options: Sequence[Item], similarity: Similarity) -> list[int]:
    """Entities that the question names; of namesakes, those whose description fits it best."""
    question = QuestionWords(question_text)
    mentions = question.mentions(item.label for item in options)
    chosen: list[int] = []
    exact = [mention for mention in mentions if mention.label in question_text]
    # In a question that tells names by capitals, "top" is not the currency code TOP.
    mentions = exact if exact and question_text[1:] != question_text[1:].lower() else mentions
    for mention in mentions:
        if all(weight(question.words[place]) < 1 for place in mention.places) and not _capitalised(
            question_text, mention.label
        ):
            continue  # an ordinary word that happens to be a name
        same = [item for item in options if item.label == mention.label]
        chosen += _best_namesakes(question_text, same, similarity)
    if not chosen:
        # Named by an alias or in another form: the options were linked to the question, so words it shares with one tell.
        similarity.warm([question_text, *(item.text for item in options)])
        scored = [(_loosely(question, question_text, item, similarity), -item.number) for item in options]
        best = max(scored, default=(0.0, 0))
        chosen = [-number for score, number in scored if score >= max(0.35, best[0] - 0.03)][:2]
    return chosen


def _capitalised(text: str, label: str) -> bool:
    return label[:1].isupper() and label in text


def _best_namesakes(question: str, same: Sequence[Item], similarity: Similarity) -> list[int]:
    if len(same) < 2:  # noqa: PLR2004
        return [item.number for item in same]
    rest = " ".join(word for word in tokens(question) if word not in tokens(same[0].label))
    similarity.warm([rest, *(item.about for item in same)])
    scored = [(similarity.cosine(rest, item.about) + _shared(rest, item.about), item.number) for item in same]
    best = max(score for score, _ in scored)
    # Descriptions that fit nearly alike cannot be told apart from here: relations will tell.
    return [number for score, number in scored if score >= best - 0.12][:3]


def _shared(one: str, other: str) -> float:
    words = [w for w in tokens(one) if w not in STOP]
    return 0.3 * sum(max((nearness(w, o) for o in tokens(other)), default=0) >= 1 for w in words)


def _loosely(question: QuestionWords, text: str, item: Item, similarity: Similarity) -> float:
    return 0.4 * bool(question.loose_places(item.label)) + similarity.cosine(text, item.label)


def relation_scores(question_text: str, options: Sequence[Item], similarity: Similarity) -> dict[int, float]:
    """Score of each relation option: how far the question's words call for the relation's name."""
    question = QuestionWords(question_text)
    steps = {item.number: item.step for item in options if item.step}
    about = {step[0]: question.places(step[0]) for step in steps.values()}
    named = {place for step in steps.values() for place in question.places(step[0])}
    words = [w for n, w in enumerate(question.words) if n not in named and w not in STOP]
    names = list(dict.fromkeys(step[1] for step in steps.values()))
    rest = " ".join(words)
    similarity.warm([rest, *names, *words, *(part for name in names for part in tokens(name))])
    by_name = {name: called_for(words, rest, name, similarity) for name in names}
    scores: dict[int, float] = {}
    for number, (entity, name, outgoing) in steps.items():
        called = by_name[name]
        if about[entity] and not outgoing and similarity.has_vectors:
            # The thing's own name may say the relation that leads to it: the Swiss franc is somebody's currency.
            called = max(called, similarity.cosine(entity, name))
        scores[number] = _BEST * called + _direction(question, entity, name, outgoing=outgoing)
    return scores


def triple_scores(
    question_text: str,
    starts: Sequence[Item],
    evidence: Sequence[Item],
    options: Sequence[Item],
    similarity: Similarity,
) -> dict[int, float]:
    """Score of each option that is made of triples: how far the question still calls for the relation of its best triple.

    Triples at things that are known already count in full, those further out less; words that a relation at a named thing
    has said are no longer called for.
    """
    question = QuestionWords(question_text)
    ends = [end for item in (*evidence, *options) for hop in item.triples for end in (hop.subject, hop.object)]
    named = {label: places for label in dict.fromkeys(ends) if (places := question.places(label))}
    said = {
        word
        for item in evidence
        for hop in item.triples
        if hop.subject in named or hop.object in named
        for word in question.words
        for part in tokens(hop.relation)
        if nearness(word, part) >= 1
    }
    inside = {place for places in named.values() for place in places}
    words = [w for n, w in enumerate(question.words) if n not in inside and w not in STOP and w not in said]
    rest = " ".join(words)
    relations = list(dict.fromkeys(hop.relation for item in options for hop in item.triples))
    similarity.warm([rest, *relations, *words, *(part for name in relations for part in tokens(name))])
    called = {name: called_for(words, rest, name, similarity) for name in relations}
    known = {item.label for item in starts} | {
        e for i in evidence for hop in i.triples for e in (hop.subject, hop.object)
    }
    scores: dict[int, float] = {}
    for item in options:
        values = [
            called[hop.relation] * (1.0 if hop.subject in known or hop.object in known else _FURTHER)
            for hop in item.triples
        ]
        met = any(end in named and end not in known for hop in item.triples for end in (hop.subject, hop.object))
        scores[item.number] = _BEST * max(values, default=0.0) + met
    return scores


def called_for(words: Sequence[str], rest: str, name: str, similarity: Similarity) -> float:
    """How far a question's words call for a relation: the best word, the share of the name that is said, the whole."""
    fits = [similarity.word(word, name) * max(weight(word), 0.6) for word in words]
    parts = [part for part in tokens(name) if part not in STOP] or tokens(name)
    shares = [max((similarity.word(word, part) for word in words), default=0.0) for part in parts]
    share = sum(shares) / len(shares) if shares else 0.0
    whole = min(max(similarity.cosine(rest, name), 0.0), 1.0) if rest else 0.0
    return 0.5 * max(fits, default=0.0) + 0.35 * share + 0.15 * whole


def _direction(question: QuestionWords, entity: str, name: str, *, outgoing: bool) -> float:
    at = question.places(entity)
    place = next((n for n, w in enumerate(question.words) if any(nearness(w, p) >= 1 for p in tokens(name))), -1)
    if not at or place < 0:
        return 0.0
    backwards = bool({"whose", "has", "have", "with"} & set(question.words[max(0, place - 3) : place])) and place < min(
        at
    )
    return -1.0 if backwards and outgoing else 0.5 if backwards or outgoing else 0.0


def text_scores(question_text: str, query: str, options: Sequence[Item], similarity: Similarity) -> dict[int, float]:
    """Score of each text option against the question and what is looked for. Of very many only those that share most words
    are encoded.
    """
    wanted = f"{question_text} {query}".strip()
    words = [word for word in dict.fromkeys(tokens(wanted)) if word not in STOP]
    texts = {item.number: as_text(item) for item in options}
    total = sum(weight(word) for word in words) or 1.0
    shared: dict[int, float] = {}
    for number, text in texts.items():
        inside = [w for w in tokens(text) if w not in STOP]
        shared[number] = (
            sum(weight(w) * max((nearness(w, other) for other in inside), default=0.0) for w in words) / total
        )
    encoded = sorted(texts, key=lambda number: (-shared[number], number))[:_MOST_ENCODED]
    similarity.warm([wanted, *(texts[number] for number in encoded)])
    near = {number: max(similarity.cosine(wanted, texts[number]), 0.0) for number in encoded}
    return {number: _BEST * (0.5 * shared[number] + 0.5 * near.get(number, 0.0)) for number in texts}


def as_text(item: Item) -> str:
    """An option in plain words."""
    if item.passage:
        return f"{item.title} {item.section}: {item.passage}"
    if item.hops:
        return ". ".join(_sentence(hop) for hop in item.triples)
    return item.text


def _sentence(hop: ShownHop) -> str:
    return f"{hop.subject} {hop.relation} {hop.object}"


def match_pairs(clues: Sequence[Item], options: Sequence[Item], similarity: Similarity) -> list[tuple[int, int]]:
    """Clues and options that mean the same, where that is good enough: a relation or a bare name with its best clue, a thing
    with every clue that its name or what is told of it fits.
    """
    names = {item.number: item.step[1] if item.step else item.label or item.text for item in options}
    similarity.warm([*(clue.text for clue in clues), *names.values(), *(item.about for item in options if item.about)])
    pairs: list[tuple[int, int]] = []
    for item in options:
        scored = [(_alike(clue.text, names[item.number], similarity), -clue.number) for clue in clues]
        best = max(scored, default=(0.0, 0))
        if best[0] >= _ENOUGH_PAIR:
            pairs.append((-best[1], item.number))
        if item.about:
            told = [clue for clue in clues if _alike(clue.text, item.about, similarity) >= _ENOUGH_PAIR]
            pairs += [(clue.number, item.number) for clue in told if (clue.number, item.number) not in pairs]
    return pairs


def _alike(one: str, other: str, similarity: Similarity) -> float:
    if tokens(one) == tokens(other):
        return 1.0
    words = [word for word in tokens(one) if word not in STOP]
    # "Largest export partner" is the relation "export partner"; which one is the largest is no part of its name.
    words = [word for word in words if word not in COMPARING] or words
    share = sum(similarity.word(word, other) for word in words) / len(words) if words else 0.0
    return max(share * 0.9, similarity.cosine(one, other))


def key_phrases(question: str) -> list[str]:
    """Names and phrases of a question, each as often as it occurs: quoted text, capitalised runs, and what stands between
    little words.
    """
    found = re.findall(r"[\"\u201c]([^\"\u201d]+)[\"\u201d]", question)
    rest = re.sub(r"[\"\u201c][^\"\u201d]+[\"\u201d]", " | ", question)
    words = re.findall(r"[\w'\u2019-]+|[^\w\s]", rest)
    run: list[str] = []
    first = True
    for word in [*words, "|"]:
        is_name = word[:1].isupper() and not (first and word.casefold() in STOP)
        same_sort = not run or run[-1][:1].isupper() == is_name
        first = False
        if re.match(r"\w", word) and tokens(word) and tokens(word)[0] not in STOP and same_sort:
            run.append(word)
            continue
        found += [" ".join(run)] if run else []
        run = [word] if re.match(r"\w", word) and tokens(word) and tokens(word)[0] not in STOP else []
    return [re.sub(r"['\u2019]s$", "", phrase) for phrase in found]


def proper_names(question: str) -> list[str]:
    """Those of a question's phrases that are written as names: quoted, or with a capital beyond the question's first word."""
    quoted = re.findall(r"[\"\u201c]([^\"\u201d]+)[\"\u201d]", question)
    return [phrase for phrase in key_phrases(question) if phrase in quoted or phrase[:1].isupper()]


_PLACE = re.compile(r"\?\d+")


def look_ups(questions: Sequence[str], *, linking: bool) -> list[tuple[list[str], int]]:
    """What to look up for listed questions, with the number of each: every name with the other words as its relation.

    Args:
        questions: `?n` in one stands for the answer to question n.
        linking: only triples, and only those that need another question's answer.
    """
    found: list[tuple[list[str], int]] = []
    for number, text in enumerate(questions, start=1):
        places = list(dict.fromkeys(_PLACE.findall(text)))
        phrases = key_phrases(_PLACE.sub(" | ", text))
        names = [phrase for phrase in phrases if phrase[:1].isupper()]
        if len(names) > 1 and " " not in names[0] and text.startswith(names[0]):
            names = names[1:]  # the capital of a sentence's first word
        rest = " ".join(phrase for phrase in phrases if phrase not in names)
        if not names and not places:
            # Written without capitals, or in a script that has none: any phrase may be a name.
            names, rest = phrases, ""
        starts = places if linking else [*names, *places]
        if rest:
            found += [([start, rest, f"?{number}"], number) for start in starts]
        elif not linking:
            found += [([name], number) for name in names]
    return found


_CLAUSE = re.compile(
    r"^(?P<main>.+?\b(?:of|in|for|to|from|by)) (?P<thing>the (?:[\w-]+ ){0,2}?[\w-]+) (?P<clause>"
    r"(?:whose|that|which|where|who|in which|from which|through which) .+?"
    r"|(?:with|bordering|surrounding|topped|crowned|ruled|governed) .+?)\?*$",
    re.IGNORECASE,
)


def split_question(question: str) -> list[tuple[str, list[int]]]:
    """A question about something told by a clause becomes two: which thing the clause tells, and the rest about it."""
    found = _CLAUSE.match(question.strip())
    if not found:
        return [(question.strip(), [])]
    thing = found["thing"].removeprefix("the ").removeprefix("The ")
    clause = re.sub(r"^(?:that|which|who) ", "", found["clause"], flags=re.IGNORECASE)
    whose = re.match(r"whose (.+)", clause, re.IGNORECASE)
    lead = f"Which {thing}'s {whose[1]}?" if whose else f"Which {thing} {clause}?"
    return [(lead, []), (f"{found['main']} #1?", [1])]
