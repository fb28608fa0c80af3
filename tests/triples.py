"""Statements by hand."""

from __future__ import annotations

from thinkgraph.state.knowledge import Triple


def triple(subject: str, relation: str, obj: str, *, literal: bool = False, **qualifiers: str) -> Triple:
    """A triple whose labels are its ids."""
    return Triple(
        id=f"{subject}|{relation}|{obj}",
        subject=subject,
        relation=relation,
        object=obj,
        subject_label=subject,
        relation_label=relation,
        object_label=obj,
        literal=literal,
        qualifiers=[[name, value] for name, value in qualifiers.items()],
    )
