"""What a run's own checks make of a judge's reply: answers that no line holds are refused, and those that do not fit the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.common.judging import supporting
from thinkgraph.nodes.doubt.judged import Held, settled, unfit
from thinkgraph.prompts.kinds import JUDGE, VERDICT, Verdict
from thinkgraph.prompts.lines import Item, ShownHop, parse_item
from thinkgraph.runtime import requests
from thinkgraph.state.coggrag import CogGragSettings
from thinkgraph.state.evidence import EvidenceItem, Path, chunk_item, path_item
from thinkgraph.state.knowledge import Entity, Passage, Triple
from thinkgraph.state.settings import DoubtSettings, RunSettings
from thinkgraph.tools.grounding import fold


def checked(case: Case, kind: str, value: Any, settings: RunSettings) -> Flow[Any]:
    """A reply after what code checks before it counts. Only judgements and verdicts are checked.

    An answer that no line holds is none, nor is one that does not fit the question where the method doubts (`backtracks`); the verdict
    on either is "wrong". An answer that the statements settle is right without a verifier (`skip_settled` of CogGRAG). What comes from
    memory has no lines to be held against.

    Args:
        case: what was asked.
        kind: the role's kind of reply.
        value: the reply as its kind reads it.
        settings: of the role's method.
    """
    verdict = kind == VERDICT.name
    judged = kind == JUDGE.name and "evidence" in case.inputs
    if value is None or not (verdict or (judged and value["sufficient"])):
        return value
    # A claim is no question.
    question = "" if case.bounds.labels else case.inputs["question"]
    answers = case.inputs["answer"].split("; ") if verdict else value["answers"]
    lines = lines_of(case.inputs["evidence"])
    cited = range(1, len(lines) + 1) if verdict else value["evidence"]
    held = supporting(answers, cited, lines, question)
    fits = bool(held)
    if held and question and isinstance(settings, DoubtSettings):
        items, texts = yield from _evidence([parse_item(number, line) for number, line in enumerate(lines, start=1)])
        every = list(items.values())
        about = Held(question, answers, [items[at]["id"] for at in held if at in items], every, texts, settings)
        fits = not (yield from unfit(about))
        spares = verdict and isinstance(settings, CogGragSettings) and settings.skip_settled
        if fits and spares and (yield from settled(about)):
            return Verdict(right=True)
    if fits:
        return value
    return Verdict(right=False) if verdict else {**value, "sufficient": False}


def _evidence(lines: Sequence[Item]) -> Flow[tuple[dict[int, EvidenceItem], Texts]]:
    """What lines of a prompt show, by their numbers, with the ids that the knowledge has for it. A label that it does not know is a value.

    Questions answered before are no evidence of their own.
    """
    labels = list(dict.fromkeys(end for line in lines for hop in line.triples for end in (hop.subject, hop.object)))
    links = yield from requests.link_names(labels, limit=1)
    found = {label: link[0]["entity"] for label, link in zip(labels, links, strict=True) if link}
    known = {label: entity for label, entity in found.items() if fold(entity["label"]) == fold(label)}
    edges = yield from requests.relations([entity["id"] for entity in known.values()])
    names = {edge["label"]: edge["name"] for near in edges for edge in near}
    texts: tuple[dict[str, Triple], dict[str, Passage]] = ({}, {})
    items: dict[int, EvidenceItem] = {}
    for line in lines:
        key = str(line.number)
        shown = [group for group in line.hops if group]
        hops = [[_triple(hop, known, names) for hop in group] for group in shown]
        texts[0].update((one["id"], one) for group in hops for one in group)
        ids = [[one["id"] for one in group] for group in hops]
        if line.community:
            every = [one for group in ids for one in group]
            items[line.number] = EvidenceItem(id=key, kind="community", score=0.0, round=0, triples=every)
        elif hops:
            start = hops[0][0]["subject" if shown[0][0].outgoing else "object"]
            path = Path(start=start, triples=[group[0] for group in ids[:-1]])
            items[line.number] = path_item(key, path, ids[-1], total=len(ids[-1]) + line.mores[-1])
        elif line.passage:
            texts[1][key] = Passage(id=key, entities=[], title=line.title, section=line.section, text=line.passage)
            items[line.number] = chunk_item(key, 0, len(line.passage), entity="")
    return items, Texts(*texts)


def _triple(hop: ShownHop, known: dict[str, Entity], names: dict[str, str]) -> Triple:
    target = known.get(hop.object)
    return Triple(
        id=f"{hop.subject}\n{hop.relation}\n{hop.object}",
        subject=known[hop.subject]["id"] if hop.subject in known else hop.subject,
        relation=names.get(hop.relation, hop.relation),
        object=target["id"] if target else hop.object,
        subject_label=hop.subject,
        relation_label=hop.relation,
        object_label=hop.object,
        literal=target is None or target["literal"],
        qualifiers=[list(pair) for pair in hop.qualifiers],
    )
