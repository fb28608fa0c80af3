"""Can an answer be what its question asks for? The entities on the way to it stand in the cited evidence too.

English questions only. Where words, statements and types leave it open, nothing is said.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts, sentences_of, title_and_sentences, triples_of
from thinkgraph.nodes.doubt.asked_kind import (
    MADE,
    NUMBER_WORDS,
    SORTS,
    SQUARE,
    AskedKind,
    asked_for,
    asking_part,
    asks_for_something,
    counted_noun,
    described,
    is_phrase,
    measure_of,
    noun_of,
    noun_stem,
    root_of,
    sort_of_objects,
    tells_number,
    words_of,
)
from thinkgraph.nodes.doubt.compared import Comparison
from thinkgraph.nodes.doubt.joined import unjoined
from thinkgraph.nodes.doubt.walk import Surroundings, Walk, names_doer, names_object
from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.tasks import asks_yes_or_no
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Entity, Relation, both_ends, ends_of, far_end, step_along
from thinkgraph.tools.grounding import YES_OR_NO, asks_shared, fold, may_name_answer, naming, stands_in
from thinkgraph.tools.linking.lexical import article, content_tokens, is_plural

MAX_LOOKED_UP = 20
"""Most entities that are looked up for one answer."""
MAX_ENDS = 1000
"""Most ends of one relation that are looked through for what the question names."""
ON_THE_WAY = "on the way to it"
_BARE = re.compile(r"\d+(?: \d+)*")
_VAGUE = frozenset(["all", "both", "couple", "few", "half", "many", "most", "no", "pair", "several", "single", "some"])
"""Words that tell how many there are without a number."""
_UNITS = frozenset(["ft", "kg", "km", "m", "mi", "pct", "percent", "sq", "usd"])


def misfit(answers: Sequence[str], walk: Walk, *, shown: Sequence[EvidenceItem] = ()) -> Flow[str]:
    """Why one of the answers is not of the kind that the question asks for, in words; empty where none is known not to be.

    Args:
        answers: the answers.
        walk: the question, and the evidence that they stand on.
        shown: all the evidence that the answers were found in: of a chain of communities the model cites the last one alone, and what
            it does not cite may be the larger one.
    """
    if not answers:
        return ""
    asked = asked_for(walk.question)
    against = yield from _by_form(answers, asked, walk, shown)
    if against or asked is None:
        return against
    left = []
    for answer in answers:
        fault = _by_statements(fold(answer), asked, walk)
        if fault:
            return _words(asked, answer, fault)
        left += [answer] if fault is None else []
    return (
        _off_the_way(answers, walk, shown or walk.items)
        or (yield from _short_of(answers, asked, walk))
        or (yield from _by_owner(answers, asked, walk))
        or (yield from _by_lookup(left[:MAX_LOOKED_UP], asked, walk))
    )


def _by_form(answers: Sequence[str], asked: AskedKind | None, walk: Walk, shown: Sequence[EvidenceItem]) -> Flow[str]:
    """As `misfit`, by the form of the question: it asks for yes or no, compares, or names its answer itself."""
    if asks_yes_or_no(walk.question):
        replies = {fold(answer).split(" ")[0]: answer for answer in answers}
        if others := [answer for reply, answer in replies.items() if reply not in YES_OR_NO]:
            return f"the question asks for yes or no, and {one_line(others[0])} is neither"
        if not walk.compares and replies.keys().isdisjoint({"no", "false"}):
            return (yield from unjoined(walk))
    if walk.compares and (against := Comparison(walk, shown).fault(answers)):
        return f"the question compares, and {against}"
    if len(answers) > 1 and counted_noun(walk.question) and not any(map(_tells_how_many, map(fold, answers))):
        return f"the question asks how many, and {len(answers)} names are given"
    asks = walk.compares or asks_for_something(walk.question)
    if asks and not may_name_answer(walk.question):
        about = [one for one in answers if walk.is_asked_about(fold(one), asked)]
        # Among those who play with Ann may be Ann; what both have is neither of the two.
        if len(about) == len(answers) or (about and asks_shared(walk.question)):
            return _words(asked, about[0], "what it asks about")
    return ""


def _off_the_way(answers: Sequence[str], walk: Walk, shown: Sequence[EvidenceItem]) -> str:
    """As `misfit`: whether the way to an answer turns aside, or passes fewer things than the question describes."""
    way = walk
    if walk.communities:
        way = Walk(walk.question, [one for one in shown if one["round"] <= walk.round], walk.texts)
    if aside := next((answer for answer in answers if way.is_aside(fold(answer))), ""):
        return (
            f"the lines cited lead to {one_line(aside)} from something else than what the question names or describes"
        )
    passed = way.passed(answers)
    if passed is None or passed >= described(walk.question):
        return ""
    return "the question describes more things than the lines cited pass on the way to its answer"


def _short_of(answers: Sequence[str], asked: AskedKind, walk: Walk) -> Flow[str]:
    """As `misfit`: where texts about a thing that the question names hold the answers, and statements do not, whether the sentences
    that do, and those before them, name none of what another relation in the question than the one asked for leads to from there: for "the
    country that Chad borders" no country that Chad borders. Two round trips.
    """
    chunks = [item for item in walk.items if item["kind"] == "chunk"]
    if not chunks or not described(walk.question) or walk.ids(map(fold, answers)):
        return ""
    cited = {chunk["passage"] for chunk in chunks}
    about = [key for passage in walk.texts.passages.values() if passage["id"] in cited for key in passage["entities"]]
    edges = yield from requests.relations(list(dict.fromkeys(about))[:MAX_LOOKED_UP])
    steps = [
        step_along(edge)
        for near in edges
        for edge in near
        if walk.says(edge["label"]) and not (asked.named_by(edge["label"]) or asked.called(edge["label"], walk.words))
    ]
    found = yield from requests.neighbours(steps, limit=MAX_ENDS, seed=0)
    texts = [title_and_sentences(chunk, walk.texts) for chunk in chunks]
    names = set(map(fold, answers))
    holding = [
        (title, sentences[max(0, at - 1) : at + 1])
        for title, sentences in texts
        for at, sentence in enumerate(sentences)
        if naming([sentence], names)
    ]
    told = fold(" ".join(part for title, sentences in holding or texts for part in (title, *sentences)))
    wanted: dict[str, str] = {}
    for step, led in zip(steps, found, strict=True):
        ends = [end for one in led["triples"] if not one["literal"] for end in ends_of(one)]
        far = {fold(label): label for key, label, _ in ends if key != step["entity"]}
        from_named = any(walk.named(label) for key, label, _ in ends if key == step["entity"])
        # What leads to an answer is what is asked for.
        if from_named and not any(map(walk.named, far)) and not any(naming([end], names) for end in far):
            wanted |= far
    if not wanted or any(stands_in(label, told) for label in wanted):
        return ""
    return f"the lines cited do not name what the question describes, such as {one_line(min(wanted.values()))}"


def is_named(answers: Sequence[str], walk: Walk) -> Flow[bool | None]:
    """Whether the question names, for every answer, a relation of the cited statements that leads to it: by a word of its label, or
    because the encoder finds no other one nearer to the question. An answer that the question itself names is not looked for, and
    statements that share no name with the question lead nowhere from it.

    Args: as of `misfit`.

    Returns:
        None where only texts hold an answer, or the question's words do not tell what it asks for and do not spell out the
        relation that leads to the answers.
    """
    asked = asked_for(walk.question)
    if asked is not None and asked.kind == "number":
        return None
    stated = [answer for answer in map(fold, answers) if walk.about(answer).ids]
    if asked is None:
        return True if walk.spells_out(stated) else None
    if not stated:
        return None
    if not walk.is_rooted or (not walk.compares and any(map(walk.named, stated))):
        return False
    about = [walk.about(answer) for answer in stated]
    left = [one.role for one in about if not any(map(walk.says, one.leading(asked)))]
    if not all(left):
        return False
    return not left or (yield from _nearest(set().union(*left), walk)) in set.intersection(*left)


def _nearest(labels: AbstractSet[str], walk: Walk) -> Flow[str]:
    """The label nearest to the question, by the encoder: one of these, or of another relation of the things that they lead on from.

    Those that the question names by words are for other steps.
    """
    origins = {end for one in walk.triples if one["relation_label"] in labels for end in both_ends(one)}
    found = yield from requests.relations(sorted(origins)[:MAX_LOOKED_UP])
    others = {edge["label"] for edges in found for edge in edges}
    options = sorted(labels | {label for label in others if not walk.says(label)})
    (row,) = yield from requests.cosines([asking_part(walk.question)], [label.replace("_", " ") for label in options])
    return max(zip(row, options, strict=True))[1]


def fits_better(answers: Sequence[str], walk: Walk, others: Sequence[EvidenceItem]) -> Flow[bool]:
    """Whether what holds answers fits the question better than what the model cited for them, by at least two of three measures: nearness
    to the question, nearness to its part that asks (both by the encoder), and words in common. Never if another relation is nearer to the
    question, see `is_named`.

    Args:
        answers: the answers.
        walk: the question, and what holds them; its texts are those of `others` too.
        others: what the model cited.
    """
    if (yield from is_named(answers, walk)) is False:
        return False
    holding, cited = _told(walk.items, walk.texts, set(map(fold, answers))), _told(others, walk.texts)
    asked = [walk.question, asking_part(walk.question)]
    rows: list[list[float]] = yield from requests.cosines(asked, [*holding, *cited])
    rows.append([len(walk.roots.intersection(map(root_of, content_tokens(one)))) for one in (*holding, *cited)])
    at = len(holding)
    return sum(max(row[:at], default=-1.0) > max(row[at:], default=-1.0) for row in rows) > len(rows) / 2


def _told(items: Sequence[EvidenceItem], texts: Texts, ends: AbstractSet[str] = frozenset()) -> list[str]:
    """What items say beside their ends: a path's start and relations, a chunk's sentences, a community's statements; of a chunk and a
    community what speaks of `ends`, where something does.
    """
    told: list[str] = []
    for item in items:
        triples = list(triples_of([item], texts).values())
        if item["kind"] == "chunk":
            said = sentences_of(item, texts)
            told += naming(said, ends) or [" ".join(said)]
        elif item["kind"] == "community":
            about = [one for one in triples if not ends.isdisjoint(fold(label) for _, label, _ in ends_of(one))]
            told += [f"{one['subject_label']} {one['relation_label']}" for one in about or triples]
        elif triples:
            start = [label for key, label, _ in ends_of(triples[0]) if key == item["path"]["start"]]
            told.append(" ".join([*start, *dict.fromkeys(one["relation_label"] for one in triples)]))
    return [one.replace("_", " ") for one in told]


def _words(asked: AskedKind | None, answer: str, fault: str) -> str:
    return f"the question asks for {asked.said if asked else 'something else'}, and {one_line(answer)} is {fault}"


def _by_statements(answer: str, asked: AskedKind, walk: Walk) -> str | None:
    """What an answer is by the cited statements, where it is not what is asked for; empty where it is; None: open."""
    about = walk.about(answer)
    thing = bool(about.ids) and not about.literal
    # "Taxi 4" is a name, "12 May 1968" a date.
    numeric = bool(re.search(r"\d", answer) if about.literal else re.search(r"^\d|\d{4}", answer))
    # Folded, "20.65" reads "20 65".
    bare = r"\d\d?(?: \d+)?|\d{5,7}|\d{9,}" if asked.kind == "time" else r"[\d ]+"
    if asked.kind != "number" and asked.sort and about.literal and re.fullmatch(bare, answer):
        return "a number"
    if asked.kind in {"number", "time"} and thing and not numeric and not set(answer.split()) <= NUMBER_WORDS:
        return "a name"
    if (counted_noun(walk.question) and not _tells_how_many(answer)) or asked.is_no_number(answer):
        return "no number"
    if asked.kind in {"number", "time"}:
        return _other_measure(answer, about, asked, walk)
    if any(map(asked.named_by, about.role)):
        return _narrower(answer, about, walk) if asked.kind == "thing" and about.literal else ""
    return _by_role(answer, asked, about, walk) if all(map(is_phrase, about.role | about.own)) else None


def _tells_how_many(answer: str) -> bool:
    """Whether an answer, folded, has a number or a word for one."""
    return tells_number(answer) or not _VAGUE.isdisjoint(answer.split())


def _by_role(answer: str, asked: AskedKind, about: Surroundings, walk: Walk) -> str | None:
    """As `_by_statements`, by what relations call the answer, or its place among them where they tell nothing."""
    thing = bool(about.ids) and not about.literal
    if thing and any(map(asked.named_by, about.own)):
        return "what has it"
    if about.role and not about.own and asked.excludes({sort_of_objects(label) for label in about.role}):
        # Of a thing that is a subject too, what one statement calls it is not all.
        return _one_of(noun_of(min(about.role)))
    return _by_place(answer, asked, about, walk) if thing and not walk.compares else None


def _one_of(noun: str) -> str:
    return f"{'one of the' if is_plural(noun) else article(noun)} {noun}"


def _narrower(answer: str, about: Surroundings, walk: Walk) -> str:
    """What a number is by relations that all say more than the question does: "its median age" where an age is asked for; else empty."""
    more = [label for label in about.role if not walk.roots.issuperset(map(root_of, set(words_of(label)) - _UNITS))]
    return f"its {min(more).replace('_', ' ')}" if _BARE.fullmatch(answer) and len(more) == len(about.role) else ""


def _other_measure(answer: str, about: Surroundings, asked: AskedKind, walk: Walk) -> str:
    """What a number measures by its unit or by every statement whose value it is, where something else is asked for; else empty."""
    if asked.measure not in {"", "area"} and SQUARE.search(answer):
        return "an area"
    labels = about.role if about.literal and asked.measure else set()
    measures = {asked.measure if walk.says(label) else measure_of(label) for label in labels}
    return f"its {min(measures)}" if measures and measures.isdisjoint({"", asked.measure}) else ""


def _by_place(answer: str, asked: AskedKind, about: Surroundings, walk: Walk) -> str | None:
    """What an entity is by its place among the cited statements, where it is not at their end."""
    if walk.named(answer) and about.ids <= walk.starts - walk.ends:
        return "what it asks about"
    if asked.sort in MADE and not about.own and any(map(walk.calls_doer, about.role)):
        return ON_THE_WAY
    if not about.ids.isdisjoint(walk.arrivals):
        # A path of several steps ends there, whatever other lines say of it.
        return None
    back = {triple["relation"] for triple in walk.steps(about.ids, -1)}
    # "The country whose capital is Vientiane" asks for no other capital.
    back |= {one["relation"] for one in walk.triples if any(walk.named(label) for _, label, _ in ends_of(one))}
    further = {
        noun_stem(triple["relation_label"]) for triple in walk.steps(about.ids, 1) if triple["relation"] not in back
    }
    return ON_THE_WAY if further & walk.words else None


def _by_owner(answers: Sequence[str], asked: AskedKind, walk: Walk) -> Flow[str]:
    """As `misfit`: whether a number that is asked for of a river is one of things that are no rivers, by their types: a round trip."""
    ids = {answer: walk.about(answer).ids for answer in answers} if asked.owner else {}
    owners = {
        answer: [one["subject"] for one in walk.triples if one["literal"] and one["object"] in ids[answer]]
        for answer in ids
    }
    keys = list(dict.fromkeys(itertools.chain.from_iterable(owners.values())))[:MAX_LOOKED_UP]
    found = yield from requests.entities(keys)
    sorts = {key: sort_of(one) for key, one in zip(keys, found, strict=True)}
    for answer, having in owners.items():
        others = {sorts.get(key, "") for key in having}
        if others and others.isdisjoint({"", asked.owner}):
            return f"the question asks for {asked.said} of a {asked.owner}, and {one_line(answer)} is one of a {min(others)}"
    return ""


def _by_lookup(answers: Sequence[str], asked: AskedKind, walk: Walk) -> Flow[str]:
    """As `misfit`, by the types and then the relations that the graph has for the answers: at most two round trips."""
    ids = [key for answer in answers for key in sorted(walk.about(answer).ids)]
    if unstated := [answer for answer in answers if not walk.about(answer).ids]:
        links = yield from requests.link_names(unstated, limit=1)
        ids += [link["entity"]["id"] for found in links for link in found]
    nearby = [key for passage in walk.texts.passages.values() for key in passage["entities"]]
    wanted = list(dict.fromkeys([*ids, *nearby])) if answers else []
    found = yield from requests.entities(wanted[:MAX_LOOKED_UP])
    left: dict[str, str] = {}
    for answer in answers:
        known = [one for one in found if one is not None and fold(one["label"]) == fold(answer)]
        fault = _by_type(known, asked, walk)
        if fault:
            return _words(asked, answer, fault)
        left.update(dict.fromkeys((one["id"] for one in known), answer) if fault is None else ())
    values = [answer for answer in answers if walk.about(answer).literal]
    ids = list(dict.fromkeys([*left, *walk.things]))[:MAX_LOOKED_UP] if left or values else []
    edges = [edge for near in (yield from requests.relations(ids)) for edge in near if is_phrase(edge["label"])]
    if fault := _by_naming_relation(left, values, edges, asked, walk):
        return fault
    for edge in (edge for edge in edges if edge["entity"] in left):
        answer = left[edge["entity"]]
        names_other = names_object(edge["label"]) == (edge["direction"] == "out")
        if not names_other or edge["name"] in walk.about(answer).names:
            continue
        if asked.named_by(edge["label"]):
            return _words(asked, answer, "what has it")
        if (
            noun_stem(edge["label"]) in walk.words
            and edge["name"] not in walk.relations
            and not (walk.compares or walk.communities)
            and not (yield from _meets_named(edge, walk))
        ):
            return _words(asked, answer, ON_THE_WAY)
    return ""


def _meets_named(edge: Relation, walk: Walk) -> Flow[bool]:
    """Whether a relation leads to something that the question names, and so tells which one is meant ("Which country borders Mali and …"):
    a round trip.
    """
    (found,) = yield from requests.neighbours([step_along(edge)], limit=MAX_ENDS, seed=0)
    return any(walk.named(far_end(one, edge["entity"])[1]) for one in found["triples"])


def _by_naming_relation(
    left: Mapping[str, str], values: Sequence[str], edges: Sequence[Relation], asked: AskedKind, walk: Walk
) -> str:
    """As `misfit`: where the graph has a relation that is called as what is asked for, it leads to the answer."""
    naming = {edge["name"]: edge["label"] for edge in edges if asked.called(edge["label"], walk.words)}
    if not naming:
        return ""
    led_to = {
        edge["entity"]
        for edge in edges
        if edge["name"] in naming
        and (
            (asked.verb and not names_doer(edge["label"])) or names_object(edge["label"]) == (edge["direction"] == "in")
        )
    }
    reached = {left[key] for key in led_to & left.keys()}
    reached |= {one for one in values if any(asked.called(label, walk.words) for label in walk.about(one).role)}
    other = next((answer for answer in (*left.values(), *values) if answer not in reached), "")
    return _words(asked, other, f"nothing that {one_line(min(naming.values()))} leads to") if other else ""


def _by_type(known: Sequence[Entity], asked: AskedKind, walk: Walk) -> str | None:
    """What entities of one name are by their types, where none is what is asked for; empty where one is; None: open."""
    if not known or any(one["literal"] for one in known):
        return ""
    sorts = set(map(sort_of, known))
    if asked.sort and asked.sort in sorts:
        return ""
    if asked.excludes(sorts):
        return _one_of(one_line(known[0]["type"]))
    ids = {one["id"] for one in known}
    led_on = asked.kind == "person" and "" not in sorts and not walk.communities and walk.steps(ids, 1)
    return ON_THE_WAY if asked.sort and not walk.compares and (led_on or walk.passes(ids)) else None


def sort_of(entity: Entity | None) -> str:
    """The sort of thing that an entity is by its type; empty where that does not tell."""
    return SORTS.get(noun_stem(entity["type"]), "") if entity else ""
