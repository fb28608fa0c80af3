"""What names a text store (`chroma:FOLDER?collection=NAME&entity=KEY…`), and what in its metadata names entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from thinkgraph.errors import KnowledgeError
from thinkgraph.state.knowledge import Passage

FORM = "chroma:FOLDER?collection=NAME&entity=KEY"
_OPTIONS = ("collection", "entity", "title", "section", "embedder")


class MetadataKeys(NamedTuple):
    """The metadata that hold an entity's id (a string or a whole number, or a list of them), a document's title and its section."""

    entity: str
    title: str
    section: str

    def entities(self, metadata: Mapping[str, Any]) -> list[str]:
        """The ids of the entities that a document is about."""
        found = metadata.get(self.entity)
        several = found if isinstance(found, list | tuple | set) else [found]
        # A column of whole numbers with gaps is one of floats to pandas, and Chroma finds 7.0 for 7.
        whole = [int(one) if isinstance(one, float) and one.is_integer() else one for one in several]
        return [str(one) for one in whole if one is not None and one != ""]

    def passage(self, id_: str, text: str | None, metadata: Mapping[str, Any] | None) -> Passage:
        """A document as a passage."""
        metadata = metadata or {}
        return {
            "id": id_,
            "entities": self.entities(metadata),
            "title": str(metadata.get(self.title) or ""),
            "section": str(metadata.get(self.section) or ""),
            "text": text or "",
        }


def parsed(spec: str) -> tuple[str, dict[str, str]]:
    """The folder and the options of a line.

    Raises:
        KnowledgeError: it has another form.
    """
    kind, colon, rest = spec.partition(":")
    folder, _, query = rest.partition("?")
    if kind != "chroma" or not colon or not folder:
        raise KnowledgeError(f"{spec!r} names no texts: write {FORM}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if unknown := sorted(options.keys() - {*_OPTIONS}):
        raise KnowledgeError(f"{unknown[0]!r} is no option of {FORM} (known: {', '.join(_OPTIONS)})")
    if not options.get("collection"):
        raise KnowledgeError(f"{spec!r} names no collection: write {FORM}")
    return folder, options
