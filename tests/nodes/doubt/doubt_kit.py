"""Holds answers against their question over statements by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodes.flows import deps_of, outcome

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Passage, Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

EMPTY = MemoryGraphStore([])


def against(
    question: str,
    *answers: str,
    cited: Sequence[Triple] = (),
    beside: Sequence[Triple] = (),
    communities: bool = False,
    graph: MemoryGraphStore = EMPTY,
) -> str:
    """What `misfit` says of answers.

    Args:
        question: the question.
        answers: its answers.
        cited: what they stand on, each a line of its own.
        beside: other statements that are shown beside them.
        communities: all of them are cited as one community.
        graph: what is looked up in.
    """
    known = {one["id"]: one for one in [*cited, *beside]}
    shown = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    items = shown[: len(cited)]
    if communities:
        items = [EvidenceItem(id="c", kind="community", score=1.0, round=1, triples=[*known], totals=[])]
    walk = Walk(question, items, Texts(known, {}))
    return str(outcome(misfit(answers, walk, shown=shown), deps_of(graph, HashEmbedder())))


def of_texts(
    question: str, *answers: str, texts: Mapping[str, tuple[str, str]], graph: MemoryGraphStore = EMPTY
) -> str:
    """What `misfit` says of answers that stand on texts alone.

    Args:
        question: the question.
        answers: its answers.
        texts: by id what each is about, and what it says.
        graph: what is looked up in.
    """
    passages = {
        key: Passage(id=key, title="", section="", text=text, entities=[of]) for key, (of, text) in texts.items()
    }
    items = [
        EvidenceItem(id=key, kind="chunk", score=1.0, round=0, passage=key, start=0, end=len(text), sentences=[])
        for key, (_, text) in texts.items()
    ]
    return str(outcome(misfit(answers, Walk(question, items, Texts({}, passages))), deps_of(graph, HashEmbedder())))
