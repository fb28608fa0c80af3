"""What every `Linker` must do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from thinkgraph.state.knowledge import Entity
from thinkgraph.testing.conformance import check_form, check_members
from thinkgraph.tools.protocols import Linker

METHODS = ("exact", "alias", "fulltext", "fuzzy", "vector")


def _entity(id_: str, label: str, description: str) -> Entity:
    return {"id": id_, "label": label, "type": "", "description": description, "literal": False}


class LinkerConformance:
    """Subclass it and define the fixture `linker`, over a store that holds `entities`."""

    entities: ClassVar[tuple[tuple[Entity, tuple[str, ...]], ...]] = (
        (_entity("austria", "Austria", "country in Europe"), ("Republic of Austria",)),
        (_entity("vienna", "Vienna", "capital of Austria"), ("Wien",)),
        (_entity("vienna-us", "Vienna", "town in Virginia"), ()),
        (_entity("york", "York", "city in England"), ()),
        (_entity("new-york", "New York City", "city in the United States"), ("Big Apple",)),
        (_entity("switzerland", "Switzerland", "country in Europe"), ("Swiss Confederation",)),
        (_entity("japan", "Japan", "country in Asia"), ("日本",)),
    )
    """Entities and their aliases."""
    odd: ClassVar[tuple[str, ...]] = ("", " ", "?!", "\0", "\ud800", "'" * 50, "a" * 9000, "漢" * 9000, "\u202e(")

    @pytest.fixture
    def linker(self) -> Linker:
        """The linker under test; override it."""
        raise NotImplementedError("give your subclass a fixture `linker`")

    def ids(self, linker: Linker, text: str) -> list[str]:
        """The ids that `text` links to, best first."""
        return [link["entity"]["id"] for link in linker.link([text])[0]]

    def test_is_a_linker(self, linker: Linker) -> None:
        """It has the protocol's method."""
        check_members(linker, Linker)

    def test_no_texts_no_links(self, linker: Linker) -> None:
        """An empty list gives an empty list."""
        assert linker.link([]) == []

    def test_order_of_texts(self, linker: Linker) -> None:
        """One list per text, in order."""
        found = linker.link(["Austria", "nothing known here", "Switzerland"])
        assert [row[0]["entity"]["id"] if row else None for row in (found[0], found[2])] == ["austria", "switzerland"]

    def test_links_are_well_formed_and_best_first(self, linker: Linker) -> None:
        """Scores are 0 to 1 and fall; offsets point at the mention; no entity comes twice."""
        text = "Is Wien, or Vienna, the capital of Austria or of Switzerlnd?"
        links = check_form(linker, Linker, "link", [text])[0]
        assert links
        scores = [link["score"] for link in links]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert len({link["entity"]["id"] for link in links}) == len(links)
        for link in links:
            assert link["method"] in METHODS
            if link["start"] >= 0:
                assert text[link["start"] :].startswith(link["mention"])

    @pytest.mark.parametrize(
        "text", ["Austria", "austria", "AUSTRIA", "What borders Austria?", "Austria's rivers", "\uff21ustria"]
    )
    def test_exact_names(self, linker: Linker, text: str) -> None:
        """A label is found in a question and bare, in any case or width, and is first."""
        link = linker.link([text])[0][0]
        assert (link["entity"]["id"], link["method"]) == ("austria", "exact")

    def test_aliases(self, linker: Linker) -> None:
        """An alias is found."""
        link = linker.link(["Who rules the Swiss Confederation?"])[0][0]
        assert (link["entity"]["id"], link["method"]) == ("switzerland", "alias")

    def test_longest_mention_wins(self, linker: Linker) -> None:
        """A name within a longer name is no mention of its own."""
        first = linker.link(["Who runs New York City?"])[0]
        assert first[0]["entity"]["id"] == "new-york"
        assert not [link for link in first if link["entity"]["id"] == "york" and link["method"] == "exact"]

    def test_namesakes(self, linker: Linker) -> None:
        """All entities of one name come."""
        assert {"vienna", "vienna-us"} <= set(self.ids(linker, "Where is Vienna?"))

    def test_names_before_guesses(self, linker: Linker) -> None:
        """Exact mentions score more than misspelt ones, which are found."""
        found = self.ids(linker, "Does Austria border Switzerlnd?")
        assert found.index("austria") < found.index("switzerland")

    def test_any_alphabet(self, linker: Linker) -> None:
        """A name is found in a script without spaces."""
        assert self.ids(linker, "日本の首都は?")[0] == "japan"

    def test_limit(self, linker: Linker) -> None:
        """At most `limit` candidates, the best ones."""
        text = "Austria, Switzerland, Vienna and New York City"
        everything = linker.link([text])[0]
        assert linker.link([text], limit=2)[0] == everything[:2]

    @pytest.mark.parametrize("text", odd)
    def test_odd_text_is_no_error(self, linker: Linker, text: str) -> None:
        """Nothing raises on text that is empty, long or malformed."""
        assert isinstance(linker.link([text])[0], list)

    def test_threads_and_repeats(self, linker: Linker) -> None:
        """The same texts give the same links, from several threads as well."""
        texts = ["Where is Vienna?", "Switzerlnd"]
        once = linker.link(texts)
        with ThreadPoolExecutor(4) as pool:
            assert all(again == once for again in pool.map(lambda _: linker.link(texts), range(4)))
