"""Layout of `graph.sqlite`.

Triples are sorted twice over rather than indexed: once by (subject, relation, object), once by (object, relation,
subject). The triples of an (entity, relation, direction) are then one range, which an edge names: counts cost one
look-up whatever the hub, and a sample of a hub reads only what it returns. All this is not kept as rows but as flat
arrays of 32-bit integers (little-endian), cut into pages that each fill one leaf of SQLite's tree: they are written at
the speed of the disk and read by their place. Places in arrays count from 0; numbers of nodes and relations from 1; the
triple at place p has the id "t<p + 1>".

    triple      subject, relation, object of each triple
    qualified   the triple's set of qualifiers, 0 for none; pages of nothing but zeros are left out
    inverse     places of triples, in the other order
    edge_out    relation, and place of the first triple, of each edge (subject, relation); at the end (0, all triples)
    edge_in     the same for (object, relation) and places in `inverse`
    span        by node, the places of its first edge in `edge_out` and in `edge_in`; the next node's end them
"""

from __future__ import annotations

GRAPH_FORMAT = 2
"""Raised whenever a store of an older layout could not be read any more."""

ARRAYS = {"triple": 3, "qualified": 1, "inverse": 1, "edge_out": 2, "edge_in": 2, "span": 2}
"""The arrays, each in a table of pages (id, data), with the integers of one entry."""

PAGE_BYTES = 4056
"""Bytes of a full page: with its row's header they fill a leaf of 4 KB, so that no page spills over; whole entries of
one, two or three integers."""

MAPPED_BYTES = 128 << 20
"""Size up to which a file is mapped into memory; a larger one is read through a cache, so that its pages do not pile up
in the process."""

LABEL, KEY, ALIAS = 0, 1, 2
"""Kinds of names: the label, the entity's key where it differs from the label, an alias."""

LITERAL_PREFIX = "literal:"
"""Starts the public ids of literal nodes (repeated where some entity's key starts like that)."""

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,            -- the entity's id in the files, or the literal's value
    literal INTEGER NOT NULL,
    label TEXT,                   -- NULL: made from the key
    type TEXT,
    description TEXT
);
CREATE TABLE relation (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    triples INTEGER NOT NULL DEFAULT 0,
    typing INTEGER NOT NULL DEFAULT 0   -- 1: its objects are classes ("instance of"); -1: the same thing elsewhere
);
CREATE TABLE qualifier (id INTEGER PRIMARY KEY, pairs TEXT NOT NULL);  -- a JSON list of [name, value]
CREATE TABLE loop (node INTEGER, inverse INTEGER, PRIMARY KEY (node, inverse)) WITHOUT ROWID;  -- places of loops
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    node INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    triples INTEGER NOT NULL,     -- of the node: namesakes are listed by it
    words INTEGER NOT NULL,       -- of a label or alias; a key is never looked up by them
    norm TEXT NOT NULL,
    text TEXT                     -- aliases only
);
"""

COMMON_NAMES = 1_000
"""Names from which on a word or trigram is counted once for all: the full-text index itself counts by reading them."""

COMMON = """
CREATE TABLE common (
    source TEXT, term TEXT, names INTEGER NOT NULL, PRIMARY KEY (source, term)   -- source: the full-text index
) WITHOUT ROWID;
"""

PAGES = "".join(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, data BLOB NOT NULL);\n" for name in ARRAYS)

WORDS = """
CREATE VIRTUAL TABLE name_word USING fts5(
    words, content='', detail=none, columnsize=0, tokenize="unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
);
"""

GRAMS = """
CREATE VIRTUAL TABLE name_gram USING fts5(
    name, content='', detail=none, columnsize=0, tokenize="trigram case_sensitive 1"
);
"""

NODE_INDEX = "CREATE UNIQUE INDEX node_key ON node (key, literal)"
NAME_INDEX = "CREATE INDEX name_norm ON name (norm, kind, triples)"
RELATION_INDEX = "CREATE UNIQUE INDEX relation_name ON relation (name)"

VOCABULARY = """
CREATE VIRTUAL TABLE temp.name_word_count USING fts5vocab(main, 'name_word', 'row');
CREATE VIRTUAL TABLE temp.name_gram_count USING fts5vocab(main, 'name_gram', 'row');
"""

TYPING_RELATIONS = frozenset(
    {"instance of", "instanceof", "type", "is a", "isa", "a", "rdf:type", "p31", "wdt:p31", "class", "category", "kind"}
    | {"http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.wikidata.org/prop/direct/p31"}
)
"""Names or labels (in lower case) of relations that say what kind of thing an entity is."""

SAMENESS_RELATIONS = frozenset({"same as", "sameas", "owl:sameas", "http://www.w3.org/2002/07/owl#sameas"})
"""Names or labels of relations that lead to another entry for the same thing, which describes nothing."""
