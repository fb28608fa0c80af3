"""A method as a LangChain retriever: the evidence that a run gathers for a question, as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackManager,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, PrivateAttr

from thinkgraph.errors import UsageError
from thinkgraph.graphs.build import offline_model
from thinkgraph.integrations.langchain.graph_fields import GraphFields, unbounded
from thinkgraph.models.ops import Flow
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.nodes.common.evidence_lines import Texts, evidence_line, fetch_texts
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import path_line, triple_sentence
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import Driver
from thinkgraph.state.answer import Answer
from thinkgraph.state.evidence import EvidenceItem


class ThinkGraphRetriever(GraphFields, BaseRetriever):
    """What one of the methods finds for a question: passages, and triples as sentences.

        retriever = tg.ThinkGraphRetriever(knowledge="world", method="tog2", model="openai:gpt-4o-mini", k=5)
        documents = retriever.invoke("Which countries border the one whose highest point is Mount Kenya?")

    What the answer stands on comes first, then what else the run kept, best first; of a long list of triples (the hundred
    members of something) one at a time in turn with other finds. Metadata of each document:

        kind      "passage" or "triple"
        id        the passage's or triple's id in the store (also the document's `id`, for a passage with the stretch)
        score     the run's own score, higher is better, not comparable between runs
        cited     whether the answer stands on it
        path      how the run came to it, in the grammar of the prompts; empty for what was searched for directly
        triples   ids of the triples on that path, the document's own included
        title, section, start, end, entity           of a passage
        subject, relation, object (ids), qualifiers  of a triple
        answer, status                               what the run itself answered

    A method that answers from the model's memory finds no documents.

    Args:
        knowledge: opened knowledge, or what `Knowledge.open` takes.
        method: a registered name, as for `thinkgraph.build`.
        model: as for `thinkgraph.build`: "offline", "provider:name", a LangChain chat model, or a mapping by role.
        settings: as for `thinkgraph.build`: a mapping by name, or the method's own settings.
        prompts: folder with files that override built-in prompts.
        journal: as for `thinkgraph.build`: where replies are kept.
        k: most documents; `invoke(…, k=3)` overrides it.
        cited_only: only what the answer stands on; nothing where there is no answer.

    Raises:
        ThinkGraphError: when it is made: an unknown method, settings out of range, knowledge that cannot be opened.
    """

    model_config = ConfigDict(extra="forbid")

    k: int = Field(default=10, ge=1)
    cited_only: bool = False

    _deps: Deps = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """As its base; makes what reads the texts of the finds as well."""
        super().model_post_init(context)
        models = Models(OFFLINE, offline=offline_model(self.knowledge))
        self._deps = Deps(knowledge=self.knowledge, models=models, prompts=PromptLibrary(), journal=None)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        most, asked = self._most(k), self._asked(query, run_manager.get_child())
        return Driver({}, self._deps).drive(self._documents(self._graph.invoke(**asked), most))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        most, asked = self._most(k), self._asked(query, run_manager.get_child())
        return await Driver({}, self._deps).adrive(self._documents(await self._graph.ainvoke(**asked), most))

    def _asked(self, query: str, callbacks: BaseCallbackManager) -> dict[str, Any]:
        return {
            "input": {"question": query},
            "config": unbounded({"callbacks": callbacks}),
            "context": self._context,
            "output_keys": ["answer", "evidence"],
        }

    def _most(self, k: object) -> int:
        """How many documents, checked before the run is paid for.

        Raises:
            UsageError: no whole number of at least one.
        """
        most = self.k if k is None else k
        if not isinstance(most, int) or most < 1:
            raise UsageError(f"k is {most!r:.80}: ask for at least one document, as a whole number")
        return most

    def _documents(self, found: Mapping[str, Any], most: int) -> Flow[list[Document]]:
        answer: Answer = found["answer"]
        items: dict[str, EvidenceItem] = found["evidence"]
        texts = yield from fetch_texts(list(items.values()))
        every = [document for item in items.values() for document in _of(item, texts, answer)]
        if self.cited_only:
            every = [document for document in every if document.metadata["cited"]]
        every.sort(key=lambda one: (not one.metadata["cited"], one.metadata["_place"], -one.metadata["score"], one.id))
        once: dict[str | None, Document] = {}
        for document in every:
            once.setdefault(document.id, document)
        kept = list(once.values())[:most]
        for document in kept:
            del document.metadata["_place"]
        return kept


def _of(item: EvidenceItem, texts: Texts, answer: Answer) -> Iterator[Document]:
    """The documents behind one evidence item, first what it stands for."""
    said = {"score": item["score"], "answer": answer["text"], "status": answer["status"]}
    path = item["path"]["triples"] if "path" in item else []
    if item["kind"] == "chunk":
        passage = texts.passages.get(item["passage"])
        if passage is None:
            return
        start, end = item["start"], item["end"]
        cited = {(one["id"], one["start"], one["end"]) for one in answer["evidence"]["passages"]}
        yield Document(
            passage["text"][start:end],
            id=f"{passage['id']}:{start}-{end}",
            metadata={
                "kind": "passage",
                "id": passage["id"],
                **said,
                "cited": (passage["id"], start, end) in cited,
                "path": _walked(item, path, texts),
                "triples": path,
                "title": passage["title"],
                "section": passage["section"],
                "start": start,
                "end": end,
                "entity": item.get("entity", ""),
                "_place": 0,
            },
        )
        return
    held = {triple["id"] for triple in answer["evidence"]["triples"]}
    line = evidence_line(item, texts)
    own = list(dict.fromkeys([*item.get("tails", ()), *item.get("triples", ()), *path]))
    for place, key in enumerate(own):
        if (triple := texts.triples.get(key)) is None:
            continue
        yield Document(
            triple_sentence(triple),
            id=key,
            metadata={
                "kind": "triple",
                "id": key,
                **said,
                "cited": key in held,
                "path": line,
                "triples": [*path, key] if key in item.get("tails", ()) else own,
                "_place": place,
                "subject": triple["subject"],
                "relation": triple["relation"],
                "object": triple["object"],
                "qualifiers": triple["qualifiers"],
            },
        )


def _walked(item: EvidenceItem, path: Sequence[str], texts: Texts) -> str:
    hops = [texts.triples[key] for key in path if key in texts.triples]
    return path_line(item["path"]["start"], hops) if hops and len(hops) == len(path) else ""
