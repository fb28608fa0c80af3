r"""Pairs of triples and texts: one's own as JSON Lines, and WebNLG's XML and JSON (`thinkgraph.training.webnlg`).

One object a line:

    {"triples": [["Aarhus_Airport", "cityServed", "\"Aarhus, Denmark\""]], "texts": ["Aarhus Airport serves …", "…"]}
    {"triples": [["Panama", "borders", "Colombia", [["length km", "339"]]]], "text": "Panama borders Colombia …"}

A triple is [subject, relation, object], perhaps with its qualifiers as pairs [name, value]. Underscores and capitals inside names
are read as a knowledge base reads them ("Aarhus Airport", "city served"); an object in quotes is a literal value. Other fields
("id", "category") are passed over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from thinkgraph.errors import UsageError
from thinkgraph.ingest.readers.files import literal_of
from thinkgraph.ingest.readers.lines import sample_of
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.linking.names import key_label, relation_label, well_formed
from thinkgraph.tools.values import value_kind
from thinkgraph.training.webnlg import files_of, rows_of


class TextPair(NamedTuple):
    """Some triples and the texts that say them."""

    line: str
    """The triples as T2T writes them: what a model reads."""
    triples: tuple[Triple, ...]
    texts: tuple[str, ...]
    """Several people's wordings; empty where a file has none."""


class Split(NamedTuple):
    """Pairs to learn from and pairs to choose the best checkpoint by; no triples stand in both."""

    train: Sequence[TextPair]
    validation: Sequence[TextPair]


def read_pairs(files: Sequence[Path], rejects: Rejects, *, texts: bool = True) -> list[TextPair]:
    """Every pair of the files, in order; pairs of the same triples are joined, malformed lines go to `rejects`.

    Args:
        files: JSON Lines, WebNLG's XML or JSON, plain or gzip; folders of XML.
        rejects: collects what could not be used, with its line number.
        texts: whether a line without a text is malformed.

    Raises:
        KnowledgeError: a file is missing, empty or not UTF-8 text.
        UsageError: no line of the files can be used.
    """
    found: dict[str, TextPair] = {}
    for path in files_of(files):
        sample_of(path)
        for number, row in rows_of(path, rejects):
            try:
                triples = _triples(row)
                wordings = _texts(row) if texts or "text" in row or "texts" in row else []
            except ValueError as error:
                rejects.add(path, number, str(error))
                continue
            line = community_line(triples)
            known = found[line].texts if line in found else ()
            found[line] = TextPair(line, triples, tuple(dict.fromkeys([*known, *wordings])))
    if not found:
        first = next(iter(rejects.kept), None)
        why = f"{first['file']}, line {first['line']}: {first['reason']}" if first else "there is no entry in them"
        raise UsageError(f"{', '.join(map(str, files))}: no line can be used ({why})")
    return list(found.values())


def _triples(row: Mapping[str, object]) -> tuple[Triple, ...]:
    rows = row.get("triples")
    if not isinstance(rows, list) or not rows:
        raise ValueError('field "triples" must be a list of [subject, relation, object]')
    found: dict[str, Triple] = {}
    for one in rows:
        match one:
            case [str(subject), str(relation), str(end), *more] if subject.strip() and relation.strip() and end.strip():
                # They stand in a list of their own, or follow the object.
                pairs = more[0] if len(more) == 1 else more
            case _:
                raise ValueError(f'field "triples": {one_line(str(one))[:80]} is no [subject, relation, object]')
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list) and [*map(type, pair)] == [str, str] for pair in pairs
        ):
            raise ValueError('field "triples": qualifiers must be pairs [name, value]')
        triple = make_triple(subject, relation, end, qualifiers=pairs)
        found[triple["id"]] = triple
    return tuple(found.values())


def make_triple(subject: str, relation: str, obj: str, *, qualifiers: Sequence[Sequence[str]] = ()) -> Triple:
    """A triple outside any store, its labels read from its names."""
    subject, relation, obj = (well_formed(part).strip() for part in (subject, relation, obj))
    value, datatype = literal_of(obj)
    pairs = [[*map(well_formed, pair)] for pair in qualifiers]
    return Triple(
        id=_hash(subject, relation, value, *chain(*pairs)),
        subject=subject,
        relation=relation,
        object=value,
        subject_label=key_label(subject),
        relation_label=relation_label(relation),
        object_label=key_label(value),
        literal=datatype is not None or value_kind(value) is not None,
        qualifiers=pairs,
    )


def _texts(row: Mapping[str, object]) -> list[str]:
    given = row.get("texts", row.get("text", []))
    texts = given if isinstance(given, list) else [given]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('field "texts" must be a list of texts')
    clean = [*filter(None, (" ".join(well_formed(str(text)).split()) for text in texts))]
    if not clean:
        raise ValueError('there is no text: give "text" or "texts"')
    return clean


def split(pairs: Sequence[TextPair], share: float, seed: int) -> Split:
    """Set a share of the pairs aside, chosen by a hash of their triples: the same whatever the order of the files.

    Args:
        pairs: as `read_pairs` gives them.
        share: 0 (none) to 1; more than 0 gives at least one, and leaves at least one.
        seed: another seed sets others aside.
    """
    count = min(max(round(share * len(pairs)), int(share > 0)), len(pairs) - 1)
    aside = {*sorted((pair.line for pair in pairs), key=lambda line: _hash(str(seed), line))[:count]}
    return Split([pair for pair in pairs if pair.line not in aside], [pair for pair in pairs if pair.line in aside])


def digest(pairs: Iterable[TextPair]) -> str:
    """A hash of pairs and their order."""
    return _hash(*(part for pair in pairs for part in (pair.line, *pair.texts, "")))


def _hash(*parts: str) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()
