"""Reads triples, entities, aliases and passages from the files that people have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.lines import (
    LINE_LIMIT,
    SIGNS,
    Format,
    cells_of,
    format_of,
    numbered_lines,
    open_binary,
    plain_cells,
    read_blocks,
    read_cells,
    read_objects,
    storable_text,
)
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.values import value_kind

Qualifiers: TypeAlias = tuple[tuple[str, str], ...]

TripleRow: TypeAlias = tuple[str, str, str, Qualifiers, str | None]
"""Subject, relation, object, qualifiers, and the datatype of an object that the file marks as a literal: None where it
is not marked, "" where it is without a type."""

# Names of the columns of a header, the surest first: a `source` beside a `head` says where a row is from, a `type` beside
# a `label` may be "Directed".
# fmt: off
_SUBJECT = [
    ":start_id", "subject_id", "head_id", "subject", "subj", "s", "head", "h", "subject_name", "head_entity", "source_node",
    "start_node", "node1", "node_1", "entity1", "entity_1", "source_id", "source_name", "source", "from",
]
_RELATION = [
    ":type", "relation", "rel", "r", "predicate", "pred", "p", "property", "edge", "relationship", "relationship_type",
    "relation_type", "relation_name", "rel_type", "edge_type", "label", "edge_label", "type",
]
_OBJECT = [
    ":end_id", "object_id", "tail_id", "object", "obj", "o", "tail", "t", "object_name", "tail_entity", "target_node",
    "end_node", "node2", "node_2", "entity2", "entity_2", "target_id", "target_name", "target", "to", "value",
]
# fmt: on
_QUALIFIERS = frozenset({"qualifier", "qualifiers"})
_LITERAL = frozenset({"literal", "is_literal"})
_TRUE = frozenset({"1", "true", "yes", "y", "t"})
_ADMIN_TYPE = re.compile(
    r"(?<=.):(?:byte|short|int|long|float|double|boolean|char|string|point|date|(?:local|date|localdate)?time|duration)"
    r"(?:\[\])?(?:\{.*\})?$",
    re.IGNORECASE,
)
"""What neo4j-admin's headers say of a property behind its name ("since:int")."""
_ADMIN_ID = re.compile(r".*:id(?:\(.*\))?")
_PAIRS = re.compile(r"[^=;]{1,60}=[^;]*(?:;\s*[^=;]{1,60}=[^;]*)*;?")
_TYPED = re.compile(
    r'"(?P<value>.*)"(?:\^\^<?(?P<type>[^\s">]+)>?|@(?P<lang>[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*))?', re.DOTALL
)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", '"': '"', "\\": "\\"}
LIST_SEPARATOR = "\x1f"
"""Between the elements of a list in an export for neo4j-admin."""
LONGEST_PASSAGE = 1_000_000
"""Characters: a text is encoded as a whole, which takes some fifty times its length of memory."""
_PARTS = ("subject", "relation", "object")
_COLUMNS = len(_PARTS)
_BATCH_ROWS = 50_000
_HEAD_ROWS = 200
_AS_WRITTEN_SHARE = 0.9


class EntityRow(NamedTuple):
    """A line of an entities file; empty fields say nothing."""

    id: str
    label: str
    type: str
    description: str


class PassageRow(NamedTuple):
    """A line of a passages file, before its entities are looked up."""

    line: int
    id: str
    title: str
    section: str
    text: str
    entities: list[str] | None
    """Ids or labels; None where the file names none, so that the title decides."""


class TripleBatch(NamedTuple):
    """Some rows, column by column: millions of tuples cost more than what is in them."""

    subjects: Sequence[str]
    relations: Sequence[str]
    objects: Sequence[str]
    qualifiers: Sequence[Qualifiers] = ()
    """Empty where no row has any."""
    datatypes: Sequence[str | None] = ()
    """Empty where no object is marked as a literal."""


def read_triples(path: Path, rejects: Rejects) -> Iterator[TripleBatch]:
    """The triples of one file, in its order. Malformed rows go to `rejects`.

    Raises:
        KnowledgeError: the file is missing, empty, not UTF-8, damaged or of no known format, or its header names but two
            parts of a triple.
    """
    form = format_of(path)
    if form == "jsonl":
        return in_batches(_triples_of_objects(path, rejects))
    layout = ColumnLayout(path, form)
    if form in SIGNS and layout.in_order:
        return _triples_of_blocks(path, form, layout, rejects)
    rows = read_cells(path, form, rejects)
    if layout.headed:
        next(rows)
    return in_batches(_triples_in(rows, layout, path, rejects))


def in_batches(rows: Iterable[TripleRow]) -> Iterator[TripleBatch]:
    """The rows some at a time."""
    stream = iter(rows)
    while batch := list(islice(stream, _BATCH_ROWS)):
        yield TripleBatch(*zip(*batch, strict=True))


class ColumnLayout:
    """Where the parts of a triple stand in the rows of one file, found from its first rows."""

    def __init__(self, path: Path, form: Format) -> None:
        """Look at the first rows of a TSV, CSV or pipe file.

        Raises:
            KnowledgeError: its header names but two parts of a triple.
        """
        head = [cells for _, cells in islice(read_cells(path, form, Rejects()), _HEAD_ROWS)]
        if head and (missing := _part_without_column(head[0])):
            names = ", ".join(" ".join(cell.split()) for cell in head[0])[:200]
            raise KnowledgeError(f"{path} has the columns {names}; name the one of the {missing} '{missing}'")
        columns = _header(head[0]) if head else None
        self.headed = columns is not None
        self.subject, self.relation, self.object, self.flag = columns or (0, 1, 2, -1)
        # neo4j-admin's columns hold ids: quotes are part of one, and our export keeps values in a space of their own.
        end = head[0][self.object].strip().casefold() if columns else ""
        self.ids, self.values = end.startswith(":end_id"), end == ":end_id(literal)"
        self.in_order = (self.subject, self.relation, self.object, self.flag) == (0, 1, 2, -1) and not self.values
        self.needed = 1 + max(self.subject, self.relation, self.object)
        self._named: dict[int, str] = {}
        if columns:
            self._named = {i: cell.strip() for i, cell in enumerate(head[0]) if i not in columns and cell.strip()}
            if any(cell.strip().casefold().startswith(":start_id") for cell in head[0]):
                self._named = {i: _ADMIN_TYPE.sub("", name) for i, name in self._named.items()}
        elif _written_values(head):
            self._named = {_COLUMNS: "as written"}
        self._ends = set(columns or (0, 1, 2))

    def marked(self, cells: Sequence[str]) -> bool:
        """Whether the header, or the row's own column, says that its object is a literal."""
        return self.values or (0 <= self.flag < len(cells) and cells[self.flag].strip().casefold() in _TRUE)

    def qualifiers(self, cells: Sequence[str]) -> Qualifiers:
        """The qualifiers in the further columns of a row."""
        if len(cells) == _COLUMNS:
            return ()
        found: list[tuple[str, str]] = []
        for i, cell in enumerate(cells):
            if i not in self._ends and (text := cell.strip()):
                name = self._named.get(i, f"column {i + 1}")
                found += (
                    [(name, part) for part in text.split(LIST_SEPARATOR)] if self.ids else _qualifiers_in(name, text)
                )
        return tuple(found)


def _triples_of_blocks(path: Path, form: Format, layout: ColumnLayout, rejects: Rejects) -> Iterator[TripleBatch]:
    """The triples of many lines at a time where they have three plain cells each, which takes a quarter of the time."""
    header = layout.headed
    with open_binary(path) as stream:
        for first, block in read_blocks(stream):
            cells = None if header else plain_cells(block, SIGNS[form], _COLUMNS)
            if cells and not (b'"' in block and any(obj[0] == '"' for obj in cells[2::3])):
                yield TripleBatch(cells[::3], cells[1::3], cells[2::3])
                continue
            rows = cells_of(numbered_lines(path, first, block, rejects), path, form, rejects)
            header = header and next(rows, None) is None
            yield from in_batches(_triples_in(rows, layout, path, rejects))


def _triples_in(
    rows: Iterable[tuple[int, Sequence[str]]], layout: ColumnLayout, path: Path, rejects: Rejects
) -> Iterator[TripleRow]:
    """The triples in rows (line number, cells) without a header; malformed ones go to `rejects`."""
    s, r, o = layout.subject, layout.relation, layout.object
    plain = layout.needed == _COLUMNS and layout.flag < 0 and not layout.values
    for line, cells in rows:
        if len(cells) < layout.needed:
            rejects.add(path, line, f"{len(cells)} column{'s' * (len(cells) != 1)} where {layout.needed} are needed")
            continue
        subject, relation, obj = cells[s].strip(), cells[r].strip(), cells[o].strip()
        datatype = None
        if obj[:1] == '"' and not layout.ids:
            obj, datatype = literal_of(obj)
        if not (subject and relation and obj):
            rejects.add(path, line, f"empty {_empty_part(subject, relation, obj)}")
            continue
        if plain and len(cells) == _COLUMNS:
            yield subject, relation, obj, (), datatype
            continue
        if datatype is None and layout.marked(cells):
            datatype = ""
        yield subject, relation, obj, layout.qualifiers(cells), datatype


def _empty_part(*texts: str) -> str:
    """The first part of a triple that has no text."""
    return next(part for part, text in zip(_PARTS, texts, strict=True) if not text)


@lru_cache(maxsize=1024)
def _column_name(cell: str) -> str:
    """What the names above call a column: "Source Node" is source_node; ":START_ID(Person)" is :start_id."""
    return re.sub(r"[\s-]+", "_", cell.partition("(")[0].strip().casefold())


def _columns(names: Sequence[str]) -> tuple[int, int, int, int]:
    """Columns of subject, relation, object and literal flag; -1: none."""

    def column(known: Iterable[str]) -> int:
        return next((names.index(name) for name in known if name in names), -1)

    return column(_SUBJECT), column(_RELATION), column(_OBJECT), column(_LITERAL)


def _header(cells: Sequence[str]) -> tuple[int, int, int, int] | None:
    """The columns if the row is a header."""
    found = _columns([_column_name(cell) for cell in cells])
    return found if min(found[:_COLUMNS]) >= 0 else None


def _part_without_column(cells: Sequence[str]) -> str:
    """The part of a triple that a header does not name; "" if it names all or the row is no header.

    Single letters may be names of things.
    """
    found = _columns([name if len(name) > 1 else "" for name in map(_column_name, cells)])[:_COLUMNS]
    return _PARTS[found.index(-1)] if found.count(-1) == 1 and _header(cells) is None else ""


def _written_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the fourth column is the number in the third as a person wrote it ("2381740.0", "2,381,740 sq km")."""
    full = [row for row in rows if len(row) > _COLUMNS and row[3].strip()]
    written = sum(
        value_kind(row[2].strip()) in ("number", "date")
        and any(c.isdigit() for c in row[3])
        and value_kind(row[3].strip()) not in ("number", "date")
        for row in full
    )
    return bool(full) and written >= _AS_WRITTEN_SHARE * len(full)


def _qualifiers_in(name: str, text: str) -> list[tuple[str, str]]:
    """`name=value; name=value` gives its own pairs, anything else one pair under the column's name."""
    if "=" in text and _PAIRS.fullmatch(text):
        pairs = [part.partition("=") for part in text.split(";") if part.strip()]
        if all(left.strip() and right.strip() for left, _, right in pairs):
            return [(left.strip(), right.strip()) for left, _, right in pairs]
    return [("qualifier" if name.casefold() in _QUALIFIERS else name, text)]


def literal_of(text: str) -> tuple[str, str | None]:
    """Value and datatype of a quoted object (`"x"`, `"x"^^xsd:date`, `"x"@en`); any other text is given back with None."""
    found = _TYPED.fullmatch(text)
    if found is None:
        return text, None
    value = re.sub(r'\\([tnr"\\])', lambda escape: _ESCAPES[escape[1]], found["value"]).strip()
    return value, re.split(r"[#/:]", found["type"])[-1] if found["type"] else found["lang"] or ""


def _triples_of_objects(path: Path, rejects: Rejects) -> Iterator[TripleRow]:
    for line, row in read_objects(path, rejects):
        keys = {_column_name(name): name for name in row}
        named = [next((keys[k] for k in known if k in keys), "") for known in (_SUBJECT, _RELATION, _OBJECT)]
        if not all(named):
            rejects.add(path, line, f"no {_empty_part(*named)}")
            continue
        values = [row[name] for name in named]
        subject, relation, obj = texts = [_text(value) for value in values]
        if not all(texts):
            part = _empty_part(*texts)
            given = values[_PARTS.index(part)]
            rejects.add(path, line, _unusable(part, given, f"{part} is empty or no text"))
            continue
        datatype: str | None = None
        marks = [row[keys[k]] for k in keys if k in _LITERAL]
        if not isinstance(values[2], str):
            datatype = "boolean" if isinstance(values[2], bool) else "number"
        elif obj[0] == '"' and False not in marks:
            obj, datatype = literal_of(obj)
            if not obj:
                rejects.add(path, line, "empty object")
                continue
        try:
            qualifiers = _qualifiers_of(row, set(named))
        except ValueError as error:
            rejects.add(path, line, str(error))
            continue
        if marks and datatype is None and (marks[0] is True or str(marks[0]).casefold() in _TRUE):
            datatype = ""
        yield subject, relation, obj, qualifiers, datatype


def _text(value: object) -> str:
    """A JSON scalar as text; "" for anything else and for what is blank or cannot be stored."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return storable_text(value).strip()


def _unusable(what: str, given: object, blank: str) -> str:
    """Why nothing is left of a value: it cannot be stored, or else `blank`."""
    unstorable = isinstance(given, str) and bool(given.strip())
    return f"{what} has a NUL character or half a character" if unstorable else blank


def _qualifiers_of(row: dict[str, object], used: set[str]) -> Qualifiers:
    """The pairs of a `qualifiers` field (an object or a list of pairs) and of every other scalar field."""
    pairs: list[tuple[str, str]] = []
    for name, value in row.items():
        if name in used or name.casefold() in _LITERAL or value is None:
            continue
        if name.casefold() in _QUALIFIERS and isinstance(value, dict | list):
            items = list(value.items()) if isinstance(value, dict) else value
            for item in items:
                if not (isinstance(item, tuple | list) and len(item) == 2):  # noqa: PLR2004 (a pair)
                    raise ValueError("qualifiers are neither an object nor a list of pairs")
                pairs += _pairs(*item)
        elif name.casefold() in _QUALIFIERS and isinstance(value, str) and value.strip():
            pairs += _qualifiers_in(name, value)
        else:
            pairs += _pairs(name, value)
    return tuple(pairs)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _pairs(name: object, value: object) -> list[tuple[str, str]]:
    """One qualifier, or one for each part of a list; blank ones say nothing."""
    said = [one for one in _listed(value) if not (one is None or (isinstance(one, str) and not one.strip()))]
    pairs = [(_text(name), _text(one)) for one in said]
    if not all(map(all, pairs)):
        raise ValueError(f"the qualifier {str(name)[:80]!r} is no text")
    return pairs


def read_entities(path: Path, rejects: Rejects) -> Iterator[EntityRow]:
    """Ids with label, type and description. TSV or CSV with a header of any subset, or in this order; or JSON Lines."""
    form = format_of(path, columns=2)
    if form == "jsonl":
        for line, row in read_objects(path, rejects):
            given = {name.strip().casefold(): value for name, value in row.items()}
            fields = [next(filter(None, (_text(given.get(name)) for name in known)), "") for known in _ENTITY_COLUMNS]
            if not fields[0]:
                rejects.add(path, line, "no id")
                continue
            said = ((name, given.get(name)) for known in _ENTITY_COLUMNS for name in known)
            if lost := [name for name, value in said if value and not _text(value) and not str(value).isspace()]:
                reason = f"what it says of {fields[0][:80]!r} in {', '.join(lost)} is no text and not used"
                rejects.add(path, line, reason)
            yield EntityRow(*fields)
        return
    order = [0, 1, 2, 3]
    for number, (line, cells) in enumerate(read_cells(path, form, rejects)):
        if number == 0:
            names = [_ADMIN_TYPE.sub("", cell.strip().casefold()) for cell in cells]
            names = ["id" if _ADMIN_ID.fullmatch(name) else name for name in names]
            if {"id", "entity"} & set(names):
                order = [next((i for i, n in enumerate(names) if n in known), -1) for known in _ENTITY_COLUMNS]
                continue
            if sum(not {*known}.isdisjoint(names) for known in _ENTITY_COLUMNS) > 1:
                named = ", ".join(" ".join(cell.split()) for cell in cells)[:200]
                raise KnowledgeError(f"{path} has the columns {named}; name the one of the ids 'id'")
        fields = [cells[i].strip() if 0 <= i < len(cells) else "" for i in order]
        if fields[0]:
            yield EntityRow(*fields)
        else:
            rejects.add(path, line, "no id")


_ENTITY_COLUMNS = (
    ("id", "entity"),
    ("label", "name"),
    ("type", "class", ":label"),
    ("description",),
)


def _merged(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which a name that comes twice has what both say."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = [*_listed(found[name]), *_listed(value)] if name in found else value
    return found


def read_aliases(path: Path, rejects: Rejects) -> dict[str, list[str]]:
    """The aliases of each entity, from a JSON object {entity: [alias, …]}.

    Raises:
        KnowledgeError: the file cannot be read or is not such an object.
    """
    with open_binary(path) as stream:
        raw = stream.read(LINE_LIMIT + 1)
    if len(raw) > LINE_LIMIT:
        raise KnowledgeError(
            f"{path} is longer than {LINE_LIMIT >> 20} MiB: keep so many aliases as triples of the graph"
        )
    try:
        table = json.loads(raw.decode("utf-8"), object_pairs_hook=_merged)
    except UnicodeDecodeError:
        raise KnowledgeError(f"{path} is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise KnowledgeError(f"{path} is not JSON: {error}") from None
    if not isinstance(table, dict):
        raise KnowledgeError(f"{path} must be one JSON object {{entity: [alias, …]}}")
    found: dict[str, list[str]] = {}
    for entity, aliases in table.items():
        name, texts = _text(entity), [_text(alias) for alias in _listed(aliases)]
        if not name or not all(texts):
            rejects.add(path, 0, f"the aliases of {key_label(entity)[:80]!r} are not all texts")
        if name:
            found[name] = list(dict.fromkeys([*found.get(name, ()), *filter(None, texts)]))
    return found


def _named(entity: object) -> str:
    """The id or name of an entity of a passage, which may be an object that says more about it."""
    if isinstance(entity, dict):
        return next((text for key in ("id", "name", "label") if (text := _text(entity.get(key)))), "")
    return _text(entity)


def read_passages(path: Path, rejects: Rejects) -> Iterator[PassageRow]:
    """The passages of one JSON Lines file; malformed ones go to `rejects`. Duplicate ids are not looked for here."""
    if format_of(path) != "jsonl":
        raise KnowledgeError(f'{path} is not JSON Lines; write one object a line: {{"id": …, "text": …, "title": …}}')
    for line, row in read_objects(path, rejects):
        text = row.get("text")
        if text is None and isinstance(sentences := row.get("sentences"), list):
            text = " ".join(part.strip() for part in sentences if isinstance(part, str))
        identifier, body = _text(row.get("id")), storable_text(text).strip()
        if not identifier or not body:
            field, given = ("text", text) if identifier else ("id", row.get("id"))
            rejects.add(path, line, _unusable(f"the {field}", given, f"no {field}"))
            continue
        if len(body) > LONGEST_PASSAGE:
            rejects.add(path, line, f"the text is longer than {LONGEST_PASSAGE:,} characters; cut it into passages")
            continue
        entities = row.get("entities")
        if entities is not None and not isinstance(entities, list):
            rejects.add(path, line, "entities is not a list")
            continue
        names = None if entities is None else [name for name in map(_named, entities) if name]
        title, section = (_text(row.get(name)) for name in ("title", "section"))
        yield PassageRow(line, identifier, title, section, body, names)
