"""Every error a user can meet. Each message is one line that says what is wrong and what to do."""

from __future__ import annotations

HELD = "another program holds it: end that one, and try again"
"""What to do about an SQLite file that stayed locked for as long as was waited."""


class ThinkGraphError(RuntimeError):
    """Base of all errors of this package. `str(error)` is one line fit to be shown to a person.

    A RuntimeError, because LangGraph's server keeps the words of other kinds to itself.
    """

    exit_code = 1
    """What the command line exits with: 2 usage or a prompt, 3 knowledge, 4 a model, 5 a run, 1 anything else."""


def first_line(error: BaseException | str) -> str:
    """The first line of an error's message, bounded; the kind of one that has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


class UsageError(ThinkGraphError):
    """A wrong argument, setting, flag or question."""

    exit_code = 2


class SettingsError(UsageError):
    """An unknown or out-of-range setting."""


class StateFormError(UsageError, ValueError):
    """What a channel of a thread cannot hold was written there by hand.

    A ValueError, because LangGraph's server answers an edit with the words of this kind alone.
    """


class KnowledgeError(ThinkGraphError):
    """A knowledge base that cannot be opened, built or read."""

    exit_code = 3


class StoreError(KnowledgeError):
    """A graph or text store that failed while it was being read (a dead server, a corrupt file)."""


class ModelError(ThinkGraphError):
    """A model that cannot be reached, refuses the request, or keeps failing."""

    exit_code = 4


class PromptError(ThinkGraphError):
    """A prompt file that is missing or malformed."""

    exit_code = 2


class RunError(ThinkGraphError):
    """A run that cannot be started, resumed or found."""

    exit_code = 5


class ManifestMismatchError(RunError):
    """A resumed run whose method, settings, model, prompts or knowledge are not the ones it was started with."""


class UnfinishedRunError(RunError):
    """A new question on a thread whose run is not finished."""
