"""Layout of `graph.sqlite`.

Triples are stored twice over as sorted runs rather than under two indexes: `triple` in the order (subject, relation,
object), `inverse` in the order (object, relation, subject), both numbered without gaps. The triples of an (entity,
relation, direction) are then one range of numbers, which `edge_out` and `edge_in` name together with its length: counts
cost one look-up whatever the hub, and a sample of a hub reads only the rows it returns.
"""

from __future__ import annotations

GRAPH_FORMAT = 1
"""Raised whenever a store of an older layout could not be read any more."""

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
CREATE TABLE triple (id INTEGER PRIMARY KEY, s INTEGER NOT NULL, r INTEGER NOT NULL, o INTEGER NOT NULL, q INTEGER);
CREATE TABLE inverse (id INTEGER PRIMARY KEY, triple INTEGER NOT NULL);
CREATE TABLE edge_out (
    node INTEGER, relation INTEGER, first INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (node, relation)
) WITHOUT ROWID;
CREATE TABLE edge_in (
    node INTEGER, relation INTEGER, first INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (node, relation)
) WITHOUT ROWID;
CREATE TABLE loop (node INTEGER, inverse INTEGER, PRIMARY KEY (node, inverse)) WITHOUT ROWID;
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    node INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    triples INTEGER NOT NULL,     -- of the node: namesakes are listed by it
    words INTEGER NOT NULL,
    norm TEXT NOT NULL,
    text TEXT                     -- aliases only
);
"""

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
CREATE VIRTUAL TABLE temp.word_count USING fts5vocab(main, 'name_word', 'row');
CREATE VIRTUAL TABLE temp.gram_count USING fts5vocab(main, 'name_gram', 'row');
"""

TYPING_RELATIONS = frozenset(
    {"instance of", "instanceof", "type", "is a", "isa", "a", "rdf:type", "p31", "wdt:p31", "class", "category", "kind"}
    | {"http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.wikidata.org/prop/direct/p31"}
)
"""Names or labels (in lower case) of relations that say what kind of thing an entity is."""

SAMENESS_RELATIONS = frozenset({"same as", "sameas", "owl:sameas", "http://www.w3.org/2002/07/owl#sameas"})
"""Names or labels of relations that lead to another entry for the same thing, which describes nothing."""
