"""Guesses, from a sample of a label's nodes, what its properties are: names, descriptions, long text, vectors, facts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.tools.linking.names import word_set

GENERIC = frozenset(
    {"entity", "node", "thing", "resource", "object", "concept", "item", "individual", "vertex", "kg builder"}
)
"""Labels, in plain words, that say nothing about a node's type: a property `type` may."""

RELATION_LABEL = "RelationType"
"""Nodes of this label with the properties `type` and `name` give types of relationships a name for people."""

BOOKKEEPING = re.compile(r"_ThinkGraph|_Bloom_|_Neodash_|_GraphConfig|_NsPrefDef|_MapDef|_MapNs|__Neo4jMigration|_n10s")
"""Labels of nodes that belong to a tool, not to the knowledge."""
_NAMESPACE = re.compile(r"^[A-Za-z][A-Za-z0-9]*__(?=.)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")

_BEST = {"name": 4.0, "title": 3.8, "label": 3.8}
_BEST |= dict.fromkeys(("fullname", "displayname", "preflabel", "canonicalname"), 3.9)
_NAMING = frozenset({"name", "title", "label"})
_SINGULAR = {"names": "name", "titles": "title"}
_BESIDE = word_set(
    "first last given family middle sur maiden contact user file short nick ship type status class brand original"
)
"""Words before "name" that make it the name of something else, or a part of one."""
_GIVEN, _FAMILY = ("first", "given", "fore"), ("last", "family", "sur")
_CODES = frozenset(
    {"code", "symbol", "iso", "abbreviation", "acronym", "handle", "username", "slug", "email", "login", "isbn"}
)
_IDS = frozenset({"id", "key", "uid", "uuid", "guid", "identifier", "number", "no", "nr", "iri", "uri", "url"})
_ALIASES = word_set(
    "alias aliases altlabel altlabels altname altnames alternativename alternativenames alternatename alternatenames "
    "alternativelabel alternativelabels synonym synonyms aka akas alsoknownas othername othernames nickname nicknames"
)
_DESCRIPTIONS = (  # noqa: SIM905 - a list would take a line for each
    "description shortdescription desc summary definition abstract overview comment about bio biography"
).split()
"""Best first."""
_TEXT_KEYS = frozenset(
    {"text", "content", "pagecontent", "body", "chunk", "passage", "paragraph", "sentence", "fulltext"}
)
_TEXT_LABELS = word_set(
    "chunk|passage|paragraph|sentence|snippet|fragment|text|text unit|text chunk|document chunk", "|"
)
_SPEAKING = frozenset({"mention", "mentions", "mentioned", "about", "describes", "discusses", "refers", "extracted"})
"""Words of the types of relationships that lead from a text to what it speaks of."""
_SHORTEST_TEXT = 4
"""Words of most values of a property that holds short texts."""
_DOCUMENT_LABELS = frozenset({"document", "article", "page", "section", "web page", "abstract"})
_SECTION_KEYS = frozenset({"section", "heading", "chapter", "sectiontitle"})
_OPAQUE = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{20,}|[a-z][a-z0-9+.-]*://\S+|[0-9a-f]{24,}|[\w+/=-]{40,}")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")

LONG_TEXT, VERY_LONG_TEXT = 120, 400
"""Characters from which a property holds text rather than a value: of its median, or of one value in ten."""
_LONG_VECTOR = 50
"""Elements of a list of numbers from which it is a vector rather than facts."""
_FEW_CHARACTERS = 100
_LONGEST_NAME = 120
_FALLBACKS = 3
_CODED, _TELLING = 1.0, 0.9
"""Least score of the key of a further name, and least share of different values."""


@dataclass(frozen=True)
class Template:
    """How a name is made: the values of `keys` with a space between, perhaps behind a word ("Order 10248")."""

    keys: tuple[str, ...]
    prefix: str = ""

    def render(self, values: Mapping[str, str]) -> str:
        """The name, "" where a value is missing."""
        parts = [values.get(key, "") for key in self.keys]
        return " ".join([self.prefix, *parts]).strip() if all(parts) else ""

    @property
    def is_plain(self) -> bool:
        """Whether it is the value of one property as it stands."""
        return len(self.keys) == 1 and not self.prefix

    def __str__(self) -> str:
        return "+".join(self.keys)


@dataclass(frozen=True)
class PropertyFacts:
    """What a sample of a label's nodes says about one property."""

    key: str
    present: int
    """In how many of the sampled nodes."""
    distinct: int
    """Different values among them, as far as their first characters tell."""
    length: int
    """Median length of its strings, in characters; 0 where it is something else."""
    long_length: int
    """The length that one in ten of its strings reaches."""
    size: int
    """Elements of its longest list; -1 where it is no list."""
    samples: Sequence[Any]
    """A few values, shortened."""

    @property
    def is_text(self) -> bool:
        """Whether its values are strings, as a rule: one of another kind among many says nothing of the others."""
        return self._mostly(lambda value: isinstance(value, str))

    @property
    def is_scalar_name(self) -> bool:
        """Whether most values may name a node, and more as strings or whole numbers than as lists of strings."""
        return self._mostly(_may_name) and not self.is_list_of_texts

    @property
    def is_list_of_texts(self) -> bool:
        """Whether most values may name a node, and at least half of these are lists of strings."""
        naming = [value for value in self.samples if _may_name(value)]
        return self._mostly(_may_name) and sum(isinstance(value, list) for value in naming) * 2 >= len(naming)

    @property
    def is_vector(self) -> bool:
        """Whether it is a long list of numbers."""
        return (
            self.size > _LONG_VECTOR
            and not self.is_text
            and any(isinstance(value, list) and value and not isinstance(value[0], str) for value in self.samples)
        )

    @property
    def is_long(self) -> bool:
        """Whether it holds prose: long as a rule, or very long often, and with words in it."""
        long = self.length >= LONG_TEXT or self.long_length >= VERY_LONG_TEXT
        return self.is_text and long and not self._mostly(lambda value: not _prose(str(value)))

    @property
    def is_data(self) -> bool:
        """Whether it is neither a fact nor prose: long strings without words (encoded files, JSON in one word)."""
        return self.is_text and self.length > 2 * LONG_TEXT and not self.is_long

    @property
    def has_words(self) -> bool:
        """Whether most values are several words."""
        return self._mostly(lambda value: len(str(value).split()) >= _SHORTEST_TEXT)

    @property
    def opaque(self) -> bool:
        """Whether most values are addresses, hashes or generated ids, which no question names."""
        return self._mostly(lambda value: _OPAQUE.fullmatch(str(value)))

    @property
    def numeric(self) -> bool:
        """Whether most values are numbers."""
        return self._mostly(lambda value: _NUMBER.fullmatch(str(value)))

    def _mostly(self, is_one: Callable[[Any], Any]) -> bool:
        return sum(bool(is_one(value)) for value in self.samples) * 2 > len(self.samples)


@dataclass(frozen=True)
class LabelFacts:
    """A sample of one label's nodes."""

    label: str
    count: int
    """Nodes of the label, exactly."""
    sampled: int
    properties: Mapping[str, PropertyFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class Roles:
    """The role of each property of one label."""

    label: str
    names: tuple[Template, ...] = ()
    """Best first: the first that a node has all values for names it."""
    aliases: tuple[str, ...] = ()
    description: str = ""
    texts: tuple[str, ...] = ()
    """Long text about the node itself."""
    type_key: str = ""
    """Property with the type of a node whose label is generic."""
    passage: str = ""
    """Property that holds the text, where the label's nodes are passages rather than things."""
    section: str = ""
    data: frozenset[str] = frozenset()
    """Vectors and encoded data: neither facts nor text."""
    keys: frozenset[str] = frozenset()
    """Properties that identify the nodes."""

    @property
    def told(self) -> list[Any]:
        """What a fingerprint covers of it: all but the keys."""
        single = [self.aliases, self.description, self.texts, self.type_key, self.passage, self.section]
        return [list(map(str, self.names)), single, sorted(self.data)]

    @functools.cached_property
    def non_facts(self) -> frozenset[str]:
        """Properties that are no facts: keys, names, text, data; of generic labels also description and type."""
        spoken = {self.description, self.type_key} if is_generic(self.label) else set()
        names = {key for template in self.names[:1] for key in template.keys}
        return frozenset({*self.keys, *names, *self.aliases, *self.texts, *spoken, *self.data} - {""})


def plain_words(name: str) -> list[str]:
    """The words of a label or property key, lower case, without a namespace: `ns0__companyName` is company, name."""
    return [word.lower() for word in _WORD.findall(_NAMESPACE.sub("", name))]


def is_generic(label: str) -> bool:
    """Whether a label says nothing about a node."""
    return label.startswith("__") or " ".join(plain_words(label)) in GENERIC


def is_alias(key: str) -> bool:
    """Whether a property is called as further names are."""
    return "".join(plain_words(key)) in _ALIASES


def guess(facts: LabelFacts, vectors: frozenset[str] = frozenset(), *, things: bool = False) -> Roles:
    """The roles of a label's properties; `vectors` are those that a vector index covers. `things`: its nodes are no passages."""
    found = facts.properties.values()
    data = frozenset({one.key for one in found if one.is_vector or one.is_data} | (vectors & set(facts.properties)))
    long = tuple(sorted(one.key for one in found if one.is_long and not _names_mostly(one) and one.key not in data))
    names = _names(facts, {*long, *data})
    passage = "" if things else _passage(facts, long, names)
    joined = {"".join(plain_words(one.key)): one.key for one in found if one.key not in data}
    # Of a list of names the first stands for the node, and all find it.
    listed = {
        key for name in names for key in name.keys if any(isinstance(v, list) for v in facts.properties[key].samples)
    }
    described = [joined[word] for word in _DESCRIPTIONS if word in joined]
    description = next((key for key in described if facts.properties[key].is_text), "")
    return Roles(
        label=facts.label,
        names=names,
        aliases=tuple(sorted(listed | {key for key in joined.values() if is_alias(key)})),
        description=description if description != passage else "",
        texts=() if passage else long,
        type_key=joined.get("type", "") if is_generic(facts.label) else "",
        passage=passage,
        section=next((key for word, key in joined.items() if word in _SECTION_KEYS), "") if passage else "",
        data=data,
    )


def _names_mostly(one: PropertyFacts) -> bool:
    """Whether a `name` or `title` is short as a rule: among a few nodes, one overlong value is one in ten."""
    return one.length <= _LONGEST_NAME and "".join(plain_words(one.key)) in _BEST


def _names(facts: LabelFacts, unfit: set[str]) -> tuple[Template, ...]:
    """Templates that fit to name the label's nodes, best first."""
    own = plain_words(facts.label)
    scored: list[tuple[float, Template]] = []
    others: set[Template] = set()
    parts: dict[str, PropertyFacts] = {}
    for one in facts.properties.values():
        words = plain_words(one.key)
        if one.is_list_of_texts and words:
            words[-1] = _SINGULAR.get(words[-1], words[-1])
        if one.key in unfit or not words or not (one.is_scalar_name or _is_list_of_names(one, words)):
            continue
        base = _base(words, own, one)
        if base <= 0 or "".join(words) in _ALIASES:
            continue
        if words[-1] == "name" and len(words) > 1:
            parts.setdefault("given" if words[0] in _GIVEN else "family" if words[0] in _FAMILY else "", one)
        prefix = " ".join(own) if one.numeric and words != own and words[-1] not in _NAMING else ""
        score = base + _fitness(one, facts)
        scored.append((score, Template((one.key,), prefix.capitalize())))
        if base >= _CODED and one.distinct >= _TELLING * one.present:
            others.add(scored[-1][1])
    if {"given", "family"} <= parts.keys():
        given, family = parts["given"], parts["family"]
        both = min(_fitness(given, facts, unique=False), _fitness(family, facts, unique=False))
        scored.append((3.6 + both + 1.5, Template((given.key, family.key))))
    scored.sort(key=lambda pair: (-pair[0], pair[1].keys))
    # Further names must name: a value that many nodes share, or any short text, would link half the graph to one mention.
    return tuple(template for at, (_, template) in enumerate(scored) if not at or template in others)[:_FALLBACKS]


def _is_list_of_names(one: PropertyFacts, words: Sequence[str]) -> bool:
    return one.is_list_of_texts and words[-1] in _NAMING and words[0] not in _BESIDE and "".join(words) not in _ALIASES


def _base(words: Sequence[str], own: Sequence[str], one: PropertyFacts) -> float:  # noqa: PLR0911 - a table
    """How much a key sounds like a name's; 0: not at all."""
    joined = "".join(words)
    if joined in _BEST:
        return _BEST[joined]
    if list(words) == list(own):
        return 3.5
    if words[-1] in _NAMING or joined.endswith("name"):
        if words[0] in _BESIDE:
            return 1.4
        return 3.8 if list(words[:-1]) == list(own) else 3.0
    if words[-1] in _CODES:
        return 1.5
    if words[-1] in _IDS or joined.endswith("id"):
        return 1.2 if list(words[:-1]) == list(own) else 1.0
    if joined == "value":
        return 2.0
    return 0.3 if one.is_text and one.length <= _FEW_CHARACTERS else 0.0


def _fitness(one: PropertyFacts, facts: LabelFacts, *, unique: bool = True) -> float:
    different = one.distinct / one.present if one.present else 0.0
    spread = one.present / facts.sampled if facts.sampled else 0.0
    return (1.5 * different if unique else 0.0) + 1.5 * spread - 2.0 * one.opaque - 2.0 * (one.length > _LONGEST_NAME)


def _passage(facts: LabelFacts, long: Sequence[str], names: Sequence[Template]) -> str:
    """The text of a label whose nodes are passages; "" where they are things."""
    spoken = [key for key, one in facts.properties.items() if "".join(plain_words(key)) in _TEXT_KEYS and one.is_text]
    if is_piece(facts.label) and (spoken or long):
        return (spoken or list(long))[0]
    if is_document(facts.label) and long:
        return next((key for key in spoken if key in long), long[0])
    return next((key for key in spoken if key in long and not _has_name(names)), "")


def _has_name(names: Sequence[Template]) -> bool:
    """Whether one of the properties that name a node is called so, as fullName is."""
    return any(not _NAMING.isdisjoint(plain_words(template.keys[0])[-1:]) for template in names)


def is_piece(label: str) -> bool:
    """Whether a label says that its nodes are pieces of text, as Chunk does."""
    return " ".join(plain_words(label)) in _TEXT_LABELS


def is_document(label: str) -> bool:
    """Whether a label says that its nodes are documents, which may be things of their own as well."""
    return " ".join(plain_words(label)) in _DOCUMENT_LABELS


def speaks(kind: str) -> bool:
    """Whether a type of relationships leads from a text to what it speaks of, as MENTIONS does."""
    words = plain_words(kind)
    return not _SPEAKING.isdisjoint(words) or words in (["has", "entity"], ["from", "document"], ["from", "chunk"])


def short_text(facts: LabelFacts, one: Roles) -> str:
    """The property with the short texts of a label whose nodes may be passages; "" where they are things or passages already."""
    if one.passage or (_has_name(one.names) and not is_document(facts.label)):
        return ""
    spoken = (found for key, found in facts.properties.items() if "".join(plain_words(key)) in _TEXT_KEYS)
    return next((found.key for found in spoken if found.is_text and found.has_words), "")


def _may_name(value: Any) -> bool:
    """Whether a value is a string, a whole number or a list of strings."""
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | int) and not isinstance(value, bool)


def _prose(value: str) -> bool:
    """Whether a stretch of text has words: spaces now and then, or a script that needs none."""
    return value.count(" ") * 25 >= len(value) or not value.isascii()
