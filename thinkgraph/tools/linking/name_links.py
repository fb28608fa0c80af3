"""Linking by names alone, with any linker."""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.state.knowledge import Link
from thinkgraph.tools.protocols import Linker, NameLinker


def link_by_name(linker: Linker, texts: Sequence[str], *, limit: int, guess: bool = False) -> list[list[Link]]:
    """Links by name and alias, with `guess` by words and spelling too; never by meaning. See `NameLinker.link_names`."""
    if isinstance(linker, NameLinker):
        return linker.link_names(texts, limit=limit, guess=guess)
    wanted = {"exact", "alias", "fulltext", "fuzzy"} if guess else {"exact", "alias"}
    return [[link for link in links if link["method"] in wanted] for links in linker.link(texts, limit=limit)]
