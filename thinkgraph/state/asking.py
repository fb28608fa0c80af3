"""What a run asks the person who started it (`ask_user`): the value of LangGraph's interrupt, plain JSON."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class UserOption(TypedDict):
    """One entity that may be meant."""

    number: int
    """From 1: what the reply names it by."""
    id: str
    label: str
    description: str


class UserQuestion(TypedDict):
    """One question to a person. The run waits for `Command(resume=…)`."""

    kind: Literal["ambiguity", "budget"]
    text: str
    """The question, in one line."""
    options: list[UserOption]
    """Ambiguity: the entities of that name."""
    reply: str
    """How to reply, in one line."""
    problem: str
    """Why the last reply could not be used; empty at first."""
