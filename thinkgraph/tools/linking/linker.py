"""Entity linking without a model: names first, then words, then spelling, then meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rapidfuzz.distance import OSA

from thinkgraph.state.knowledge import Entity, Link, LinkMethod, Match
from thinkgraph.tools.encoders.embeddings import embed_queries
from thinkgraph.tools.linking.lexical import bag, tokens
from thinkgraph.tools.linking.meaning import entity_text
from thinkgraph.tools.linking.mentions import Mentions, Span, Word, analyse, free, left_over, negligible, stretches
from thinkgraph.tools.linking.names import folded, normal_name, ways_to_write, well_formed
from thinkgraph.tools.meter import count_round_trip
from thinkgraph.tools.protocols import Embedder, GraphStore, call_checked

_MAX_NAMES = 24_000
"""Names looked up in one call, all texts together: 8,000 characters of English give some 12,000."""
_NAMESAKES = 10
_STRETCHES, _WORDS = 8, 24
"""Stretches, and words outside them, that are searched for in one text."""
_GUESSES = 5
"""Candidates kept for one stretch from full text, spelling or meaning."""

# Bands of the score, so that a surer method always outranks a less sure one.
_EXACT, _ALIAS, _PLAIN, _FULLTEXT, _FUZZY = 0.9, 0.8, 0.7, 0.5, 0.3
_OTHERWISE = 0.03
"""What a namesake loses that is written otherwise than a mention with capitals."""
_MIN_SHARE, _MIN_LIKENESS, _MIN_COSINE = 0.5, 0.7, 0.3
_MIN_FUZZY = 4
"""Letters of the shortest stretch that may be misspelt."""


class NearestEntities(Protocol):
    """Finds entities by meaning: `EntityIndex`, or a server's own index."""

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first."""


@dataclass(slots=True)
class _Text:
    """One text on its way through the steps."""

    mentions: Mentions
    taken: list[Span] = field(default_factory=list)
    links: dict[str, Link] = field(default_factory=dict)
    open: list[Span] = field(default_factory=list)
    """Stretches that look like names and that no name explains."""
    rest: list[Word] = field(default_factory=list)
    """Content words outside the spans taken."""

    def add(self, entity: Entity, span: Span | None, method: LinkMethod, score: float) -> None:
        link: Link = {
            "entity": entity,
            "mention": self.mentions.said(span) if span else self.mentions.text.strip(),
            "start": span.start if span else -1,
            "method": method,
            "score": round(min(max(score, 0.0), 1.0), 6),
        }
        known = self.links.get(entity["id"])
        if known is None or known["score"] < link["score"]:
            self.links[entity["id"]] = link


_Named = tuple[_Text, Span, "list[Match]"]
"""A span of a text with the entities of that name."""


class StandardLinker:
    """Links mentions by name, alias, full text, spelling and, with an index, meaning. Implements `Linker`.

    Scores lie in bands: exact names 0.9 to 1, aliases 0.8 to 0.9, names and aliases that are written as a common word
    beside a mention in capitals or quotes 0.7 to 0.8, full text 0.5 to 0.7, spelling 0.3 to 0.5, meaning below 0.3.

    One call makes at most three round trips to the graph, however many texts there are.
    """

    def __init__(
        self, graph: GraphStore, *, embedder: Embedder | None = None, entity_index: NearestEntities | None = None
    ) -> None:
        """Link to the entities of `graph`.

        Args:
            graph: Where names are looked up.
            embedder: Orders namesakes by how near their description is to the text; without one, the graph's order.
            entity_index: Finds entities by meaning for what no name explains; without one, that step is left out.
        """
        self._graph = graph
        self._embedder = embedder
        self._index = entity_index

    def link(self, texts: Sequence[str], *, limit: int = 20) -> list[list[Link]]:
        """Scored candidates for each text, best first, at most `limit`; an odd or empty text gives none.

        Raises:
            StoreError: The graph cannot be reached.
            KnowledgeError: The embedder or the index fails.
        """
        return self._linked(texts, limit, _NAMESAKES, guess=True, encode=True)

    def link_names(self, texts: Sequence[str], *, limit: int = 20, guess: bool = False) -> list[list[Link]]:
        """As `link`, by names and aliases alone and with every namesake; with `guess`, by words and spelling too. Nothing is
        encoded. One round trip to the graph, with `guess` at most three. Namesakes keep the graph's order.

        Raises:
            StoreError: The graph cannot be reached.
        """
        return self._linked(texts, limit, limit, guess=guess, encode=False)

    def _linked(
        self, texts: Sequence[str], limit: int, namesakes: int, *, guess: bool, encode: bool
    ) -> list[list[Link]]:
        if not texts or limit < 1:
            return [[] for _ in texts]
        budget = max(_MAX_NAMES // len(texts), 32)
        work = [_Text(analyse(well_formed(text).replace("\0", " "), budget)) for text in texts]
        named = self._by_name(work, namesakes)
        nearness = self._nearness(self._embedder, named) if encode and self._embedder else [{} for _ in named]
        for (text, span, matches), near in zip(named, nearness, strict=True):
            for rank, match in enumerate(matches):
                score = _name_score(text, span, match, rank, near.get(match["entity"]["id"], 0.0))
                text.add(match["entity"], span, match["method"], score)
        if guess:
            for text in work:
                text.open = stretches(text.mentions, text.taken, _STRETCHES)
                text.rest = left_over(text.mentions, text.taken, _WORDS)
            self._by_words(work)
            self._by_spelling(work)
        if encode:
            self._by_meaning(work)
        return [
            sorted(text.links.values(), key=lambda link: (-link["score"], link["start"], link["entity"]["id"]))[:limit]
            for text in work
        ]

    def _by_name(self, work: list[_Text], namesakes: int) -> list[_Named]:
        """The spans that have a name, the longest first, and none that overlaps another."""
        names: dict[str, str] = {}
        wanted: list[list[tuple[Span, list[str]]]] = []
        for text in work:
            spans = [span for span in text.mentions.spans if not negligible(span, text.mentions)]
            wanted.append([(span, _ways(text.mentions.said(span), names)) for span in spans])
        if not names:
            return []
        count_round_trip()
        matched = call_checked(GraphStore, self._graph, "lookup", list(names.values()), limit=namesakes)
        found = dict(zip(names, matched, strict=True))
        chosen: list[_Named] = []
        for text, pairs in zip(work, wanted, strict=True):
            pairs.sort(
                key=lambda pair: (pair[0].start - pair[0].end, -pair[0].quoted, -pair[0].capitals, pair[0].start)
            )
            for span, keys in pairs:
                matches = next(filter(None, (found[key] for key in keys)), None)
                if matches and free(span, text.taken):
                    text.taken.append(span)
                    chosen.append((text, span, matches))
        return chosen

    @staticmethod
    def _nearness(embedder: Embedder, named: list[_Named]) -> list[dict[str, float]]:
        """For each span with namesakes, how near each one's description is to the text."""
        several = [(text, matches) for text, _, matches in named if len(matches) > 1]
        asked = dict.fromkeys(text.mentions.text for text, _ in several)
        told = dict.fromkeys(entity_text(match["entity"]) for _, matches in several for match in matches)
        queries, texts = embed_queries(embedder, list(asked), list(told))
        query, vectors = dict(zip(asked, queries, strict=True)), dict(zip(told, texts, strict=True))
        return [
            {
                match["entity"]["id"]: float(vectors[entity_text(match["entity"])] @ query[text.mentions.text])
                for match in matches
                if len(matches) > 1
            }
            for text, _, matches in named
        ]

    def _by_words(self, work: list[_Text]) -> None:
        asked: list[tuple[_Text, Span | None, str]] = []
        for text in work:
            asked += [(text, span, text.mentions.said(span)) for span in text.open]
            outside = [
                word.text
                for word in text.rest
                if not any(span.start <= word.start and word.end <= span.end for span in text.open)
            ]
            if outside:
                asked.append((text, None, " ".join(outside)))
        if not asked:
            return
        count_round_trip()
        found = call_checked(GraphStore, self._graph, "search", [query for *_, query in asked], limit=_NAMESAKES)
        for (text, span, query), matches in zip(asked, found, strict=True):
            graded = []
            for match in matches:
                of_name, of_query = _shares(match["name"], query)
                share = of_name if span is None else max(of_name, of_query)
                # Beside names in capitals, lower-case words are common words: they must be a whole name ("language" is not).
                if share >= (1 if span is None and text.taken and text.mentions.has_capitals else _MIN_SHARE):
                    graded.append((share * 0.5 + (of_name + of_query) * 0.25, match))
            for share, match in _best(graded):
                score = _FULLTEXT + 0.17 * share + 0.02 * match["score"]
                text.add(match["entity"], span or _where(text, match["name"]), "fulltext", score)

    def _by_spelling(self, work: list[_Text]) -> None:
        asked: list[tuple[_Text, Span]] = []
        for text in work:
            spans = [span for span in text.open if not _explained(text, span)]
            if not spans and not text.taken and not text.mentions.has_capitals:
                # Nothing is written as a name and nothing was found: any longer word may be one, misspelt.
                spans = [Span(word.start, word.end, 1) for word in text.rest if len(word.text) > _MIN_FUZZY]
            asked += [(text, span) for span in spans[:_STRETCHES] if span.end - span.start >= _MIN_FUZZY]
        if not asked:
            return
        queries = [text.mentions.said(span) for text, span in asked]
        count_round_trip()
        found = call_checked(GraphStore, self._graph, "search", queries, limit=_NAMESAKES, fuzzy=True)
        for (text, span), query, matches in zip(asked, queries, found, strict=True):
            spelt = normal_name(query)
            graded = [(OSA.normalized_similarity(spelt, normal_name(match["name"])), match) for match in matches]
            for likeness, match in _best(graded):
                if likeness >= _MIN_LIKENESS:
                    text.add(match["entity"], span, "fuzzy", _FUZZY + 0.19 * likeness)

    def _by_meaning(self, work: list[_Text]) -> None:
        if self._index is None:
            return
        asked: list[tuple[_Text, Span | None, str]] = []
        for text in work:
            # An encoder is slow to load: only what no other step has found is looked for here.
            spans = [span for span in text.open if not _explained(text, span) and not _spelt_out(text, span)]
            asked += [(text, span, text.mentions.said(span)) for span in spans]
            if not text.open and not text.taken and text.rest and not _named(text):
                asked.append((text, None, text.mentions.text))
        if not asked:
            return
        found = self._index.nearest([query for *_, query in asked], limit=_GUESSES)
        for (text, span, _), near in zip(asked, found, strict=True):
            for entity, cosine in near:
                if cosine >= _MIN_COSINE:
                    text.add(entity, span, "vector", _FUZZY * 0.99 * cosine)


def _ways(said: str, names: dict[str, str]) -> list[str]:
    """The keys that a mention is looked up under, as it is written first; they are added to `names`."""
    ways = {normal_name(way): way for way in ways_to_write(said)}
    for key, way in ways.items():
        names.setdefault(key, way)
    return list(ways)


def _name_score(text: _Text, span: Span, match: Match, rank: int, near: float) -> float:
    """A score in the band of the match: more for emphasis, for length and for a description near the text."""
    exact = match["method"] == "exact"
    length, near = min(span.end - span.start, 30) / 30, max(near, 0.0)
    emphasised = span.quoted or span.capitals
    if not emphasised and span.words == 1 and any(other.quoted or other.capitals for other in text.taken):
        return _PLAIN + 0.05 * exact + 0.02 * length + 0.02 * near - _later(rank)
    base = _EXACT if exact else _ALIAS
    if exact and span.capitals and match["entity"]["label"] != text.mentions.said(span):
        # Of "Heist" and "heist" the one that is written so is meant.
        base -= _OTHERWISE
    return base + 0.005 + (0.04 * emphasised + 0.025 * length) + 0.025 * near - _later(rank)


def _later(rank: int) -> float:
    """What a namesake loses for its place in the graph's order; below 0.05, however many there are."""
    return 0.0005 * rank / (1 + 0.01 * rank)


def _best(graded: Sequence[tuple[float, Match]]) -> list[tuple[float, Match]]:
    """The matches of the best grades, those that are kept for one stretch; of equal ones the graph's best."""
    return sorted(graded, key=lambda pair: (-pair[0], -pair[1]["score"], pair[1]["entity"]["id"]))[:_GUESSES]


def _explained(text: _Text, span: Span) -> bool:
    """Whether full text found an entity whose name has all the words of the stretch: then it is not misspelt."""
    words = _words(text.mentions.said(span))
    return any(
        link["start"] == span.start and not words - _words(link["entity"]["label"]) for link in text.links.values()
    )


def _spelt_out(text: _Text, span: Span) -> bool:
    """Whether an entity is spelt like the stretch."""
    return any(link["start"] == span.start and link["method"] == "fuzzy" for link in text.links.values())


def _named(text: _Text) -> bool:
    """Whether an entity was found whose whole name stands in the text, perhaps misspelt."""
    words = _words(text.mentions.text)
    return any(link["method"] == "fuzzy" or not _words(link["entity"]["label"]) - words for link in text.links.values())


def _shares(name: str, query: str) -> tuple[float, float]:
    """The share of the name's words that the query has, and the other way round."""
    of_name, of_query = _words(name), _words(query)
    common = (of_name & of_query).total()
    return common / max(of_name.total(), 1), common / max(of_query.total(), 1)


def _words(text: str) -> Counter[str]:
    """The words that a text is looked for by, without accents: the stores find them so."""
    return bag(folded(text))


def _where(text: _Text, name: str) -> Span | None:
    """The first left-over word that the name shares."""
    shared = set(_words(name))
    for word in text.rest:
        if shared.intersection(tokens(folded(word.text))):
            return Span(word.start, word.end, 1)
    return None
