"""WebNLG's own files: a folder of XML, one XML file, or the same entries as one JSON object.

    <entry><modifiedtripleset><mtriple>Aarhus | leader | Jacob_Bundsgaard</mtriple>…</modifiedtripleset><lex>…</lex>…</entry>
    {"entries": [{"1": {"modifiedtripleset": [{"subject", "property", "object"}], "lexicalisations": [{"lex", "lang"}]}}]}

English texts are taken, of those that the corpus does not mark as faulty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from thinkgraph.ingest.readers.lines import open_binary, read_lines, read_objects, suffix_of
from thinkgraph.ingest.readers.rejects import Rejects

_ENGLISH = frozenset({"", "en"})
_FAULTY = frozenset({"toFix", "toDelete"})
_PARTS = ("subject", "property", "object")


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and in the place of a folder every XML file below it, where there is any."""
    return [file for path in paths for file in (path.is_dir() and sorted(path.rglob("*.xml*"))) or [path]]


def rows_of(path: Path, rejects: Rejects) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Number and {"triples", "texts"} of each row of a file: of WebNLG's XML or JSON, else the objects of JSON Lines.

    Args:
        path: plain or gzip.
        rejects: collects what could not be used, with its line number.

    Raises:
        KnowledgeError: the file cannot be read.
    """
    suffix = suffix_of(path)
    if suffix == ".xml":
        return _of_xml(path, rejects)
    entries = _entries(path) if suffix == ".json" else None
    return read_objects(path, rejects) if entries is None else _of_json(path, entries, rejects)


def _of_xml(path: Path, rejects: Rejects) -> Iterator[tuple[int, Mapping[str, object]]]:
    parser: XMLPullParser[Element] = XMLPullParser(["end"])
    number = entries = 0
    try:
        for number, line in read_lines(path, rejects):
            # The file is decoded already, whatever its first line says.
            parser.feed(line.partition("?>")[2] if number == 1 and line.startswith("<?xml") else f"{line}\n")
            for _, found in parser.read_events():  # type: ignore[misc]
                if isinstance(found, Element) and found.tag == "entry":
                    entries += 1
                    yield (
                        number,
                        _row(
                            [(one.text or "").split(" | ", 2) for one in found.findall("modifiedtripleset[1]/mtriple")],
                            [
                                (one.findtext("text") or one.text or "", one.get("lang", ""), one.get("comment", ""))
                                for one in found.findall("lex")
                            ],
                        ),
                    )
                    found.clear()
        parser.close()
    except ParseError as error:
        rejects.add(path, number, f"bad XML ({error}): what came before was used")
        return
    if not entries:
        rejects.add(path, 0, "holds no entry of WebNLG")


def _entries(path: Path) -> Sequence[Any] | None:
    """The entries of one JSON object; None where the file is something else."""
    with open_binary(path) as stream:
        try:
            value = json.loads(stream.read())
        except (ValueError, RecursionError):
            return None
    entries = value.get("entries") if isinstance(value, dict) else None
    return entries if isinstance(entries, list) else None


def _of_json(path: Path, entries: Sequence[Any], rejects: Rejects) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, numbered in enumerate(entries, start=1):
        for entry in numbered.values() if isinstance(numbered, dict) else [numbered]:
            try:
                triples = [[str(one[part]) for part in _PARTS] for one in entry["modifiedtripleset"]]
                texts = [
                    (str(one["lex"]), str(one.get("lang", "")), str(one.get("comment", "")))
                    for one in entry.get("lexicalisations", ())
                ]
            except (KeyError, TypeError, AttributeError):
                rejects.add(path, number, "no entry of WebNLG (the number is the entry's)")
                continue
            yield number, _row(triples, texts)


def _row(triples: Sequence[Sequence[str]], texts: Iterable[tuple[str, str, str]]) -> Mapping[str, object]:
    good = [
        text for text, language, comment in texts if language in _ENGLISH and comment not in _FAULTY and text.strip()
    ]
    return {"triples": triples, **({"texts": good} if good else {})}
