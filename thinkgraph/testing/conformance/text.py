"""What every `TextStore` must do."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from thinkgraph.state.knowledge import Passage, PassageHit
from thinkgraph.testing.conformance import check_form, check_members
from thinkgraph.tools.protocols import TextStore, candidates_of


def _passage(id_: str, entities: list[str], title: str, text: str) -> Passage:
    return {"id": id_, "entities": entities, "title": title, "section": "Overview", "text": text}


def sample_passages() -> list[Passage]:
    """Passages that the store under test must hold: some about two entities, one about none, one odd, one long."""
    return [
        _passage("p1", ["austria"], "Austria", "Vienna is the capital of Austria."),
        _passage("p2", ["austria", "danube"], "Danube", "The Danube river flows through Austria and Hungary."),
        _passage("p3", ["hungary"], "Hungary", "Budapest is the capital of Hungary."),
        _passage("p4", ["hungary"], "Hungary", "Hungarian cooking uses paprika."),
        _passage("p5", [], "Stray", "A passage that is about no entity at all."),
        _passage("p6", ["japan"], "日本", "東京は日本の首都です。 'quotes' % _ \"and\" \\ more"),
        _passage("p7", ["hungary"], "Hungary", "Old castles stand here. " * 400 + "Zebras graze on the puszta. " * 60),
        *[_passage(f"q{i:03}", ["many"], "Many", f"Note number {i} about nothing in particular.") for i in range(60)],
    ]


class TextStoreConformance:
    """Subclass it and define the fixture `store`, over a store that holds `sample_passages()`."""

    exact_texts: ClassVar[bool] = True
    """Whether the store hands texts back letter by letter."""
    counts: ClassVar[bool] = True
    """Whether the store can tell how much it holds."""
    exact: ClassVar[bool] = True
    """Whether no passage of the entities that is nearer is ever left out, as the protocol asks."""
    several: ClassVar[bool] = True
    """Whether a passage can be about several entities."""

    @pytest.fixture
    def store(self) -> TextStore:
        """The store under test; override it."""
        raise NotImplementedError("give your subclass a fixture `store`")

    def test_is_a_text_store(self, store: TextStore) -> None:
        """It has the protocol's methods."""
        check_members(store, TextStore)

    def test_info(self, store: TextStore) -> None:
        """Counts are right; name and fingerprint are there and stay."""
        info = store.info()
        sample = sample_passages()
        if self.counts:
            assert info["passages"] == len(sample)
            assert info["entities"] == len({id_ for passage in sample for id_ in passage["entities"]})
        assert info["name"]
        assert info["fingerprint"]
        assert store.info() == info

    def test_every_field_has_its_type(self, store: TextStore) -> None:
        """Whatever a method gives has all fields, of plain types."""
        check = functools.partial(check_form, store, TextStore)
        check("info")
        check("passages", ["p2", "nobody", "p5"])
        check("passages_of", ["austria", "danube"], "capital of Austria")
        check("search", ["The capital of Hungary is Budapest"])

    def test_passages_by_id(self, store: TextStore) -> None:
        """In the order asked for, None for unknown ids, repeated ids repeated."""
        ids = ["p3", "nobody", "p1", "p3", "p6", "", "\0", "x" * 5000]
        found = store.passages(ids)
        assert [passage and passage["id"] for passage in found] == ["p3", None, "p1", "p3", "p6", None, None, None]
        by_id = {passage["id"]: passage for passage in sample_passages()}
        for passage in found:
            if passage is not None and self.exact_texts:
                assert passage == by_id[passage["id"]]
        assert store.passages([]) == []

    def test_what_is_handed_over_is_the_callers(self, store: TextStore) -> None:
        """Changing a passage changes neither another nor the store."""
        one, other = store.passages(["p2", "p2"])
        assert one is not None
        assert other is not None
        one["entities"].append("changed")
        again = store.passages(["p2"])[0]
        assert again is not None
        assert again["entities"] == other["entities"] == (["austria", "danube"] if self.several else ["austria"])

    def test_passages_of_entities(self, store: TextStore) -> None:
        """Only those of the given entities, each once, best first."""
        hits = store.passages_of(["austria", "danube", "nobody", "austria"], "capital of Austria")
        assert ids_of(hits) == ["p1", "p2"]
        assert_falling(hits)

    def test_passages_of_is_exact(self, store: TextStore) -> None:
        """The best of `limit` are the head of all, however small the limit, and all come when it is large."""
        ask = functools.partial(store.passages_of, ["many", "hungary"], "Note number 17 about nothing")
        everything = ask(limit=1000)
        assert_falling(everything)
        assert len(set(ids_of(everything))) == len(everything)
        if not self.exact:
            assert everything
            return
        assert len(everything) == 63  # noqa: PLR2004 - 60 notes and 3 about Hungary
        for limit in (1, 5, 61):
            assert ask(limit=limit) == everything[:limit]

    def test_candidates(self, store: TextStore) -> None:
        """Passages to be ranked are those of the given entities, each once, at most `limit`."""
        every = candidates_of(store, ["austria", "danube", "nobody", "austria"], "capital of Austria", limit=50)
        assert sorted(passage["id"] for passage in every) == ["p1", "p2"]
        many = candidates_of(store, ["many", "hungary"], "Note number 17 about nothing", limit=7)
        assert len({passage["id"] for passage in many}) == len(many) == 7  # noqa: PLR2004 - the limit
        assert candidates_of(store, ["nobody", "", "\0"], "capital", limit=5) == []
        assert candidates_of(store, [], "capital", limit=5) == []

    def test_passages_of_ignores_the_order_of_entities(self, store: TextStore) -> None:
        """The same entities in another order give the same hits."""
        one = store.passages_of(["hungary", "austria"], "capital")
        assert one == store.passages_of(["austria", "hungary"], "capital")

    def test_the_end_of_a_long_passage_counts(self, store: TextStore) -> None:
        """A passage longer than the encoder's window is found by what it says last."""
        found = store.passages_of(["hungary"], "Zebras graze on the puszta", limit=1)
        if self.long_passages:
            assert ids_of(found) == ["p7"]

    long_passages: ClassVar[bool] = True
    """Whether the store reads long passages to their end."""

    @pytest.mark.parametrize("query", ["", "?", "首都", "\ud800\0", "word " * 2000, "' OR 1=1 --"])
    def test_odd_queries_are_no_error(self, store: TextStore, query: str) -> None:
        """Any text may be a query."""
        assert len(store.passages_of(["austria"], query)) == 2  # noqa: PLR2004 - p1 and p2
        assert len(store.search([query], limit=3)[0]) == 3  # noqa: PLR2004 - the limit

    def test_nothing_asked_nothing_found(self, store: TextStore) -> None:
        """Empty lists and unknown entities give empty lists."""
        assert store.passages_of([], "capital") == []
        assert store.passages_of(["nobody", "", "\0", "' OR 1=1 --"], "capital") == []
        assert store.search([]) == []

    def test_search_everything(self, store: TextStore) -> None:
        """One list per query in order, best first, at most `limit`; passages about no entity are found too."""
        found = store.search(["The capital of Hungary is Budapest", "a passage about no entity at all"], limit=4)
        assert [len(hits) for hits in found] == [4, 4]
        assert [ids_of(hits)[0] for hits in found] == ["p3", "p5"]
        for hits in found:
            assert len(set(ids_of(hits))) == len(hits)
            assert_falling(hits)

    def test_many_entities(self, store: TextStore) -> None:
        """A list of thousands of entities is one call like any other."""
        entities = [f"unknown {i}" for i in range(5000)] + ["austria"]
        assert ids_of(store.passages_of(entities, "capital of Austria"))[0] == "p1"

    def test_threads(self, store: TextStore) -> None:
        """Calls from several threads give what one call gives."""
        alone = store.passages_of(["many"], "Note number 3")
        with ThreadPoolExecutor(8) as pool:
            assert all(
                again == alone for again in pool.map(lambda _: store.passages_of(["many"], "Note number 3"), range(16))
            )


def ids_of(hits: list[PassageHit]) -> list[str]:
    """The ids of the hits' passages."""
    return [hit["passage"]["id"] for hit in hits]


def assert_falling(hits: list[PassageHit]) -> None:
    """The scores never rise."""
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
