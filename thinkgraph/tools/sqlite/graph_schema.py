"""Layout of `graph.sqlite`.

Triples are numbered in the order (subject, relation, object, qualifiers): number 5 has the id "t5". `inverse` numbers
them a second time in the order (object, relation, triple). So the triples of an (entity, relation, direction) are a
range of one numbering, and an edge is one row that holds the range: a count costs one look-up whatever the hub, and a
sample of a hub reads only what it returns.
"""

from __future__ import annotations

GRAPH_FORMAT = 4
"""Raised whenever a store of an older layout could not be read any more."""

MAPPED_BYTES = 128 << 20
"""Size up to which a file is mapped into memory; a larger one is read through a cache, so that its pages do not pile up
in the process."""

LABEL, KEY, ALIAS = 0, 1, 2
"""Kinds of names: the label, the entity's key where it differs from the label, an alias."""

OUT, IN = 0, 1
"""Directions of edges."""

LITERAL_PREFIX = "literal:"
"""Starts the public ids of literal nodes (repeated where some entity's key starts like that)."""

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE node (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,            -- the entity's id in the files, or the literal's value
    literal INTEGER NOT NULL,
    label TEXT NOT NULL,          -- empty: made from the key
    type TEXT NOT NULL,
    description TEXT NOT NULL,
    triples INTEGER NOT NULL      -- that touch it, a loop counted once
);
CREATE TABLE relation (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    triples INTEGER NOT NULL,
    typing INTEGER NOT NULL       -- 1: its objects are classes ("instance of"); -1: the same thing elsewhere
);
CREATE TABLE qualifier (id INTEGER PRIMARY KEY, pairs TEXT NOT NULL);  -- a JSON list of [name, value]
CREATE TABLE triple (
    id INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL,
    relation INTEGER NOT NULL,
    object INTEGER NOT NULL,
    qualifiers INTEGER NOT NULL   -- 0: none
);
CREATE TABLE inverse (id INTEGER PRIMARY KEY, triple INTEGER NOT NULL);
CREATE TABLE edge (
    direction INTEGER,
    node INTEGER,
    relation INTEGER,
    first INTEGER NOT NULL,       -- number of its first triple, in `triple` (out) or in `inverse` (in)
    triples INTEGER NOT NULL,
    PRIMARY KEY (direction, node, relation)
) WITHOUT ROWID;
CREATE TABLE loop (node INTEGER, inverse INTEGER, PRIMARY KEY (node, inverse)) WITHOUT ROWID;
"""

COMMON_NAMES = 1_000
"""Names from which on a word or trigram is counted once for all: the full-text index itself counts by reading them."""

NAME_TABLES = f"""
CREATE TABLE name (
    id INTEGER PRIMARY KEY,
    node INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    norm TEXT NOT NULL,
    bare TEXT NOT NULL,           -- without accents; empty where that is no other text
    text TEXT NOT NULL            -- of an alias; empty for others
);
CREATE VIEW spelling AS SELECT id, ' ' || iif(bare = '', norm, bare) || ' ' AS name FROM name WHERE kind <> {KEY};
CREATE VIRTUAL TABLE name_word USING fts5(
    name, content='spelling', content_rowid='id', detail=none, columnsize=0,
    tokenize="unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
);
CREATE VIRTUAL TABLE name_gram USING fts5(
    name, content='spelling', content_rowid='id', detail=none, columnsize=0, tokenize="trigram case_sensitive 1"
);
CREATE TABLE common (
    source TEXT, term TEXT, names INTEGER NOT NULL, PRIMARY KEY (source, term)   -- source: the full-text index
) WITHOUT ROWID;
"""

NODE_INDEX = "CREATE UNIQUE INDEX node_key ON node (key, literal)"
NAME_INDEX = "CREATE INDEX name_norm ON name (norm, kind);"
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
