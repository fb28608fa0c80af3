"""Which role a request is about: prompts do not say it, so it is told by their instructions."""

from __future__ import annotations

import functools
import re

from thinkgraph.prompts.library import PromptLibrary, builtin_roles


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    library = PromptLibrary()
    return {
        role: re.compile("|".join(_pattern(part.text) for part in library.get(role).systems), re.DOTALL)
        for role in builtin_roles()
    }


def _pattern(system: str) -> str:
    return ".*?".join(map(re.escape, re.split(r"{{.*?}}", system)))


@functools.lru_cache(maxsize=256)
def role_of(system: str) -> str:
    """The built-in role whose instructions begin a system message; empty for none."""
    return next((role for role, pattern in _patterns().items() if pattern.match(system)), "")
