"""Checks that a graph store keeps the promises of `thinkgraph.tools.protocols.GraphStore`."""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from thinkgraph.state.knowledge import Neighbours, Step, Triple, both_ends, other_end
from thinkgraph.testing.conformance import check_form, check_members
from thinkgraph.testing.conformance import graph_data as data
from thinkgraph.tools.protocols import GraphStore

UNKNOWN = ["", "no such id", "t0", "Paris\0", "paris", "' OR 1=1 --", "\ud800", "t" + "9" * 30]
THREADS = 8


def _shape(triple: Triple) -> tuple[object, ...]:
    pairs = tuple((name, value) for name, value in triple["qualifiers"])
    return triple["subject_label"], triple["relation"], triple["object_label"], pairs, triple["literal"]


def _step(entity: str, relation: str, direction: str) -> Step:
    return {"entity": entity, "relation": relation, "direction": "in" if direction == "in" else "out"}


class GraphStoreConformance:
    """Subclass it in your tests and give it a fixture `store`: your store, holding the graph of `graph_data`.

    The store may have ids of its own: then override `key` and `relation`, which tell your ids of the suite's.
    """

    @pytest.fixture
    def store(self) -> GraphStore:
        """The store to check, with the suite's graph in it (`graph_data.STATEMENTS`, `LABELS`, `ALIASES`)."""
        raise NotImplementedError("give your subclass a fixture `store`")

    qualifiers: ClassVar[bool] = True
    """Whether the store keeps qualifiers; where it has none, the suite's are not expected."""

    def key(self, entity: str) -> str:
        """The store's id of an entity of the suite."""
        return entity

    def relation(self, name: str) -> str:
        """The store's name of a relation of the suite."""
        return name

    def _step(self, entity: str, relation: str, direction: str) -> Step:
        """A step of the store, from the suite's names."""
        return _step(self.key(entity), self.relation(relation), direction)

    def _expected(
        self, entity: str, relation: str | None = None, direction: str | None = None
    ) -> Counter[tuple[object, ...]]:
        """What the store should hand over of the suite's statements."""
        return Counter(
            (
                data.LABELS.get(one.subject, one.subject),
                self.relation(one.relation),
                one.object if one.literal else data.LABELS.get(one.object, one.object),
                one.qualifiers if self.qualifiers else (),
                one.literal,
            )
            for one in data.statements_of(entity, relation, direction)
        )

    def snapshot(self) -> object:
        """Something that changes when the store is written to; by default nothing is looked at."""
        return None

    def test_is_a_graph_store(self, store: GraphStore) -> None:
        """All methods of the protocol are there."""
        check_members(store, GraphStore)

    def test_info(self, store: GraphStore) -> None:
        """Counts are those of the graph."""
        info = store.info()
        ends = {s.subject for s in data.STATEMENTS} | {s.object for s in data.STATEMENTS if not s.literal}
        assert info["entities"] == len(ends)
        assert info["literals"] == len({s.object for s in data.STATEMENTS if s.literal})
        assert info["triples"] == len(data.STATEMENTS)
        assert info["relations"] == len({s.relation for s in data.STATEMENTS})
        assert info["name"]
        assert info["fingerprint"] == store.info()["fingerprint"] != ""

    def test_every_field_has_its_type(self, store: GraphStore) -> None:
        """Whatever a method gives has all fields, of plain types, however it was found."""
        check = functools.partial(check_form, store, GraphStore)
        ids = [self.key(name) for name in ("Paris", "ada", "springfield-2", data.UNICODE_ID)]
        check("info")
        check("lookup", ["Springfield", "City of Light"])
        check("search", ["the countess of lovelace"])
        check("search", ["Sprinfgield"], fuzzy=True)
        steps = [_step(one["entity"], one["name"], one["direction"]) for row in check("relations", ids) for one in row]
        check("neighbours", steps)
        triples = [triple for one in check("neighbourhood", ids) for triple in one["triples"]]
        check("triples", [triple["id"] for triple in triples])
        check("edges_among", [end for triple in triples for end in both_ends(triple)])
        check("entities", [*ids, *(triple["object"] for triple in triples if triple["literal"])])

    def test_empty_lists(self, store: GraphStore) -> None:
        """No argument, no result."""
        results: list[Sequence[object]] = [store.lookup([]), store.search([]), store.search([], fuzzy=True)]
        results += [store.entities([]), store.triples([]), store.relations([]), store.edges_among([])]
        results += [store.neighbours([]), store.neighbourhood([])]
        assert all(result == [] for result in results)

    def test_unknown_ids_are_no_error(self, store: GraphStore) -> None:
        """Unknown ids give nothing, and give it in place."""
        nothing: list[Neighbours] = [{"triples": [], "total": 0}] * len(UNKNOWN)
        assert store.entities(UNKNOWN) == [None] * len(UNKNOWN)
        assert store.triples(UNKNOWN) == [None] * len(UNKNOWN)
        assert store.relations(UNKNOWN) == [[] for _ in UNKNOWN]
        assert store.neighbourhood(UNKNOWN) == nothing
        assert store.neighbours([_step(one, self.relation("part_of"), "out") for one in UNKNOWN]) == nothing
        assert store.neighbours([_step(self.key("Paris"), one, "out") for one in UNKNOWN]) == nothing
        assert store.edges_among(UNKNOWN) == []

    def test_entities_in_order_with_repetitions(self, store: GraphStore) -> None:
        """Entities come in the order asked for, unknown ones as None, repeated ones again."""
        asked = [self.key("springfield-2"), "no such id", self.key(data.ODD_ID), self.key("springfield-2")]
        found = store.entities(asked)
        assert [one and one["id"] for one in found] == [asked[0], None, asked[2], asked[3]]
        assert [one and one["label"] for one in found] == ["Springfield", None, data.ODD_ID, "Springfield"]
        assert all(one is None or (one["literal"] is False and "\n" not in one["description"]) for one in found)

    def test_results_are_the_callers_own(self, store: GraphStore) -> None:
        """Changing a result changes no later one."""
        first = store.neighbourhood([self.key("Paris")] * 2)
        kept = copy.deepcopy(first)
        first[0]["triples"][0]["qualifiers"].append(["changed", "yes"])
        first[0]["triples"].clear()
        assert first[1] == kept[1]
        assert store.neighbourhood([self.key("Paris")] * 2) == kept
        for method in (store.relations, store.entities):
            found: Any = method([self.key("Paris")])
            before = copy.deepcopy(found)
            (found[0][0] if isinstance(found[0], list) else found[0])["label"] = "changed"
            assert method([self.key("Paris")]) == before

    def test_lookup_exact_and_alias(self, store: GraphStore) -> None:
        """Labels come before aliases, then the entity with more triples, each with its method and score 1."""
        (found,) = store.lookup(["Springfield"])
        assert [one["method"] for one in found] == ["exact", "exact", "alias"]
        assert [one["entity"]["id"] for one in found] == [
            self.key("springfield-2"),
            self.key("springfield-1"),
            self.key("ada"),
        ]
        assert {one["score"] for one in found} == {1}
        assert [one["name"] for one in found] == ["Springfield"] * 3

    def test_lookup_normalises(self, store: GraphStore) -> None:
        """Case, width and white space are ignored; accents and the rest are not."""
        asked = [
            "pARIS",
            "  city   OF light ",
            "\uff30\uff41\uff52\uff49\uff53",
            "Lodz",
            "łódź",
            data.ODD_ID.upper(),
            "Par",
        ]
        found = [[match["entity"]["id"] for match in one] for one in store.lookup(asked)]
        paris = [self.key("Paris")]
        assert found == [paris, paris, paris, [], [self.key("Łódź")], [self.key(data.ODD_ID)], []]

    def test_lookup_limit_and_literals(self, store: GraphStore) -> None:
        """At most `limit`; a literal's value is no name."""
        assert [len(one) for one in store.lookup(["Springfield", "nobody"], limit=1)] == [1, 0]
        assert store.lookup(["1815-12-10", ""]) == [[], []]

    @pytest.mark.parametrize("fuzzy", [False, True])
    def test_search_limit_and_literals(self, store: GraphStore, fuzzy: bool) -> None:  # noqa: FBT001 (parametrised)
        """At most `limit`; a literal's value is no name."""
        assert all(len(one) <= 2 for one in store.search(["ring", "leaf 0001"], limit=2, fuzzy=fuzzy))  # noqa: PLR2004
        (found,) = store.search(["1815-12-10"], fuzzy=fuzzy)
        assert all(not match["entity"]["literal"] for match in found)

    def test_search_words(self, store: GraphStore) -> None:
        """Names that share words, best first, with scores inside (0, 1)."""
        first, second, none = store.search(["the countess of lovelace?", "ring", "qqqq"], limit=3)
        assert first[0]["entity"]["id"] == self.key("ada")
        assert first[0]["name"] in {"Ada Lovelace", "Countess of Lovelace"}
        assert {one["entity"]["id"] for one in second} <= {self.key(f"ring {x}") for x in "abc"}
        assert len(second) == 3  # noqa: PLR2004 (the ring's three)
        assert none == []
        for found in (first, second):
            scores = [one["score"] for one in found]
            assert scores == sorted(scores, reverse=True)
            assert all(0 < score < 1 for score in scores)
            assert {one["method"] for one in found} == {"fulltext"}

    def test_search_fuzzy(self, store: GraphStore) -> None:
        """Names spelt like the text."""
        first, second = store.search(["Sprinfgield", "Ada Lovelase"], fuzzy=True)
        assert {self.key("springfield-1"), self.key("springfield-2")} <= {one["entity"]["id"] for one in first}
        assert second[0]["entity"]["id"] == self.key("ada")
        assert all(0 < one["score"] < 1 and one["method"] == "fuzzy" for one in first + second)

    @pytest.mark.parametrize("fuzzy", [False, True])
    def test_search_takes_any_text(self, store: GraphStore, fuzzy: bool) -> None:  # noqa: FBT001 (parametrised)
        """Operators of query languages, quotes, controls and broken Unicode are text like any other."""
        texts = [
            '"',
            "' OR 1=1 --",
            "a AND b NOT c*",
            "NEAR(a b)",
            "name:x",
            "(",
            "\0",
            "\ud800",
            "",
            "   ",
            "*",
            "^x -y",
        ]
        texts += ["x" * 5_000, "word " * 2_000, "{}[]~/\\+&|!", data.UNICODE_ID]
        found = store.search(texts, fuzzy=fuzzy)
        assert len(found) == len(texts)
        assert [len(one) for one in store.lookup(texts)][:-1] == [0] * (len(texts) - 1)
        assert found[-1][0]["entity"]["id"] == self.key(data.UNICODE_ID)

    def test_relations(self, store: GraphStore) -> None:
        """Kinds of edges in both directions with counts; few first, then by name and direction."""
        asked = ["Paris", data.HUB, data.ONLY_INCOMING, "ada", data.UNICODE_ID]
        for entity, found in zip(asked, store.relations([self.key(one) for one in asked]), strict=True):
            expected = Counter(
                (self.relation(one.relation), direction)
                for direction in ("out", "in")
                for one in data.statements_of(entity, None, direction)
            )
            assert {(one["name"], one["direction"]): one["count"] for one in found} == expected
            order = [(one["count"], one["name"], one["direction"]) for one in found]
            assert order == sorted(order)
            assert all(one["entity"] == self.key(entity) and one["label"] for one in found)

    def test_relations_count_what_neighbours_give(self, store: GraphStore) -> None:
        """Each count is the total of the step."""
        (edges,) = store.relations([self.key("Paris")])
        steps = [_step(one["entity"], one["name"], one["direction"]) for one in edges]
        assert [one["total"] for one in store.neighbours(steps)] == [one["count"] for one in edges]

    def test_neighbours(self, store: GraphStore) -> None:
        """The triples of each step, in the order of the steps, with qualifiers and labels."""
        asked = [
            ("Paris", "population", "out"),
            ("France", "part_of", "in"),
            ("Paris", "part_of", "out"),
            ("ada", "knows", "in"),
            ("ada", "knows", "out"),
            (data.ODD_ID, "knows", "out"),
            ("Paris", "né(e) 'relation' \"x\"", "in"),
            ("Paris", "population", "out"),
        ]
        found = store.neighbours([self._step(*step) for step in asked])
        for step, one in zip(asked, found, strict=True):
            expected = self._expected(*step)
            assert Counter(map(_shape, one["triples"])) == expected
            assert one["total"] == expected.total()
            assert all(triple["relation_label"] for triple in one["triples"])

    def test_neighbourhood(self, store: GraphStore) -> None:
        """All triples that touch an entity, a loop once."""
        asked = ["Paris", "ada", data.ONLY_INCOMING, "ring a", data.UNICODE_ID]
        for entity, one in zip(asked, store.neighbourhood([self.key(e) for e in asked]), strict=True):
            assert Counter(map(_shape, one["triples"])) == self._expected(entity)
            assert one["total"] == len(one["triples"])
            assert all(self.key(entity) in (t["subject"], t["object"]) for t in one["triples"])

    def test_sampling(self, store: GraphStore) -> None:
        """A cut result is a sample of distinct triples that only step, limit and seed decide."""
        hub = self.key(data.HUB)
        step = self._step(data.HUB, "linked_to", "in")

        def of_step(limit: int, seed: int) -> Neighbours:
            return store.neighbours([step], limit=limit, seed=seed)[0]

        def of_hub(limit: int, seed: int) -> Neighbours:
            return store.neighbourhood([hub], limit=limit, seed=seed)[0]

        for cut, total in ((of_step, data.HUB_EDGES), (of_hub, data.HUB_EDGES + 1)):
            first = cut(50, 1)
            ids = [one["id"] for one in first["triples"]]
            assert first["total"] == total
            assert len(set(ids)) == len(ids) == 50  # noqa: PLR2004 (the limit)
            assert cut(50, 1) == first
            # Two seeds may happen to draw the same sample.
            others = [{one["id"] for one in cut(50, seed)["triples"]} for seed in (2, 3, 4)]
            assert any(other != set(ids) for other in others)
            assert len(cut(0, 1)["triples"]) == 0
            assert len({one["id"] for one in cut(total, 1)["triples"]}) == total
            assert cut(total, 1) == cut(total + 1, 2)
        # The company a step is asked in changes nothing.
        assert (
            store.neighbours([self._step(data.HUB, "next", "out"), step], limit=50, seed=1)[1]
            == store.neighbours([step], limit=50, seed=1)[0]
        )

    def test_triples_by_id(self, store: GraphStore) -> None:
        """Triples come back by id as they were handed out, in the order asked for."""
        handed = store.neighbourhood([self.key("Paris"), self.key("ada")])
        triples = [triple for one in handed for triple in one["triples"]]
        ids = [triple["id"] for triple in reversed(triples)]
        assert store.triples([*ids, "no such id", ids[0]]) == [*reversed(triples), None, triples[-1]]
        assert len({triple["id"] for triple in triples}) == len(triples)

    def test_literals(self, store: GraphStore) -> None:
        """A literal ends a triple, is marked, and its id is no entity's."""
        (found,) = store.neighbours([self._step("ada", "born", "out")])
        (triple,) = found["triples"]
        assert triple["literal"]
        assert triple["object_label"] == "1815-12-10"
        end = other_end(triple, self.key("ada"))
        (node,) = store.entities([end])
        assert node is not None
        assert node["literal"]
        assert (node["id"], node["label"]) == (end, "1815-12-10")
        ((back,),) = store.relations([end])
        assert (back["name"], back["direction"], back["count"]) == (self.relation("born"), "in", 1)
        assert store.entities(["1815-12-10"]) == [None] or end == "1815-12-10"

    def test_edges_among(self, store: GraphStore) -> None:
        """Exactly the triples with both ends among the ids, each once, whatever is repeated."""
        names = ["ada", "Babbage", "ring a", "ring b", "Paris", "France", data.HUB, "leaf 0007", "ada"]
        found = store.edges_among([self.key(name) for name in names] + ["no such id"])
        inside = set(names)
        expected = Counter(
            (data.LABELS.get(s.subject, s.subject), self.relation(s.relation), data.LABELS.get(s.object, s.object))
            for s in data.STATEMENTS
            if s.subject in inside and s.object in inside and not s.literal
        )
        assert Counter((t["subject_label"], t["relation"], t["object_label"]) for t in found) == expected
        assert len(store.edges_among([self.key(name) for name in names], limit=2)) == 2  # noqa: PLR2004 (the limit)
        assert store.edges_among([self.key("ring a")], limit=0) == []
        assert store.triples([triple["id"] for triple in found]) == found

    def test_long_lists(self, store: GraphStore) -> None:
        """Lists longer than any server's limit on parameters are taken, in order."""
        names = [f"leaf {i:04d}" for i in range(data.HUB_EDGES)] * 3 + [f"nothing {i}" for i in range(3_000)]
        ids = [self.key(name) for name in names]
        known = 3 * data.HUB_EDGES
        assert [one and one["id"] for one in store.entities(ids)] == ids[:known] + [None] * 3_000
        assert [len(one) for one in store.relations(ids)] == [1] * known + [0] * 3_000
        assert [len(one) for one in store.lookup(names)] == [1] * known + [0] * 3_000
        steps = [_step(one, self.relation("linked_to"), "out") for one in ids]
        assert [one["total"] for one in store.neighbours(steps)] == [1] * known + [0] * 3_000
        assert len(store.edges_among([*ids, self.key(data.HUB)])) == data.HUB_EDGES

    def test_threads(self, store: GraphStore) -> None:
        """Many threads at once get what one gets."""
        ids = [self.key(one) for one in ("Paris", "ada", data.HUB, data.UNICODE_ID)]

        def ask(_: int) -> tuple[object, ...]:
            return (
                store.lookup(["Springfield"]),
                store.search(["lovelace"]),
                store.entities(ids),
                store.relations(ids),
                store.neighbourhood(ids, limit=20, seed=3),
                store.neighbours([self._step(data.HUB, "linked_to", "in")], limit=20, seed=3),
                store.edges_among(ids),
            )

        alone = ask(0)
        with ThreadPoolExecutor(THREADS) as pool:
            assert all(one == alone for one in pool.map(ask, range(8 * THREADS)))

    def test_nothing_is_written(self, store: GraphStore) -> None:
        """Reading leaves what `snapshot` looks at as it was."""
        before = self.snapshot()
        ids = [self.key("Paris"), self.key(data.HUB)]
        store.lookup(["Paris"])
        store.search(["Paris"])
        store.search(["Paris"], fuzzy=True)
        store.neighbourhood(ids)
        store.edges_among(ids)
        assert self.snapshot() == before
