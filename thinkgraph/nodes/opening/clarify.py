"""Asking which of several namesakes the question means (`ask_user`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thinkgraph.errors import UsageError
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.events import UserOption, UserQuestion
from thinkgraph.state.knowledge import Entity, Link
from thinkgraph.tools.linking.names import normal_name

MAX_LINKS = 50
"""Most links by name that are looked at."""
MAX_OPTIONS = 10
"""Most namesakes a person is shown."""
MAX_ASKED = 3
"""Most names of one question that are asked about."""


def clarify(question: str) -> Flow[list[str]]:
    """Ids of the entities that the question names and the person does not mean.

    A name is ambiguous where several entities have it as their label, or, where none has, as an alias. One round trip, no
    call; nothing is asked where every name has one bearer.
    """
    links = (yield from requests.link_names([question], limit=MAX_LINKS))[0]
    names: dict[str, list[Link]] = {}
    for link in sorted(links, key=lambda found: found["start"]):
        names.setdefault(normal_name(link["mention"]), []).append(link)
    rejected: list[str] = []
    asked = 0
    for group in names.values():
        options = _equals(group)
        if len(options) > 1 and asked < MAX_ASKED:
            asked += 1
            chosen = yield from requests.interrupt(_which(group[0]["mention"], options), _reader(options))
            if chosen is not None:
                rejected += [link["entity"]["id"] for link in group if link["entity"]["id"] != chosen]
    return list(dict.fromkeys(rejected))


def _equals(group: Sequence[Link]) -> list[Entity]:
    """The entities that stand equal: all of that very name, else all with that alias."""
    by_id = {link["entity"]["id"]: link for link in sorted(group, key=lambda link: -link["score"])}
    for method in ("exact", "alias"):
        found = [link["entity"] for link in by_id.values() if link["method"] == method]
        if found:
            return found[:MAX_OPTIONS]
    return []


def _which(mention: str, options: Sequence[Entity]) -> UserQuestion:
    return UserQuestion(
        kind="ambiguity",
        text=f"Which '{one_line(mention)}' is meant?",
        options=[
            UserOption(
                number=number,
                id=entity["id"],
                label=one_line(entity["label"]),
                description=one_line(entity["description"] or entity["type"]),
            )
            for number, entity in enumerate(options, start=1)
        ],
        reply=f"a number from 1 to {len(options)}, or the id; 0 if any of them may be meant",
        problem="",
    )


def _reader(options: Sequence[Entity]) -> Callable[[object], str | None]:
    ids = [entity["id"] for entity in options]
    meant = {str(number): key for number, key in enumerate([None, *ids])}

    def read(reply: object) -> str | None:
        text = str(reply).strip()
        if text in meant:
            return meant[text]
        if isinstance(reply, str) and reply in ids:
            return reply
        raise UsageError(
            f"{one_line(repr(reply))[:80]} names none of them: reply with a number from 0 to {len(ids)}, or an id"
        )

    return read
