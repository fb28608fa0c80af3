"""Settings that all methods share, validated wherever we see them: command line, Python, LangGraph context, server."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from thinkgraph.errors import SettingsError

S = TypeVar("S", bound="RunSettings")

Effort = Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh"]

RANKER = r"^(dense|bm25|llm|cross-encoder(:.+)?)$"
"""The rankers a setting can name; "cross-encoder:" may be followed by a model's name or folder."""
LONGEST_TIMEOUT = 3600
"""Seconds: the largest `call_timeout`."""


class RunSettings(BaseModel):
    """Settings of one run. Unknown names and values out of range are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    paper: ClassVar[Mapping[str, Any]] = {
        "own_knowledge": True,
        "abstain": False,
        "evidence_tokens": 1_000_000,
        "prompt_profile": "standard",
    }
    """What `preset="paper"` sets, where the user sets nothing else: the papers' behaviour instead of ours (docs/presets.md)."""
    small: ClassVar[Mapping[str, Any]] = {"strict": True}
    """What a run with a small model sets (`prompt_profile`), where the user sets nothing else."""
    paper_tasks: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What it sets beside that, by task."""
    of_memory: ClassVar[frozenset[str]] = frozenset()
    """What of it is left out where `own_knowledge` is off."""

    preset: Literal["default", "paper"] = Field(
        "default", description="`paper`: what the method's paper sets (docs/presets.md)."
    )
    task: Literal["question", "fact", "truth"] = Field(
        "question", description="`fact`: verify a claim (SUPPORTS, REFUTES, NOT ENOUGH INFO); `truth`: true or false."
    )
    own_knowledge: bool = Field(
        False, description="May the answer come from the model's memory? Off: `unknown` instead."
    )
    abstain: bool = Field(
        True,
        description="Where memory is asked alone, may the model say that it does not know? Off: it always answers.",
    )
    verify: bool = Field(
        False,
        description="Ask the model once more whether a grounded answer follows from the lines cited alone. Where not, it is `partial`.",
    )
    strict: bool = Field(
        False,
        description="Is an answer `grounded` only where the question names a relation that leads to it? Where it names none, the "
        "answer is `partial`. On for small models.",
    )
    min_confidence: float = Field(
        0.0,
        ge=0,
        le=1,
        description="An answer less sure than this (`confidence`) becomes `unknown`, as does one of which nothing says how sure it "
        "is. 0: every answer is given.",
    )
    max_calls: int | None = Field(
        100, ge=1, le=10_000, description="Ceiling on model calls, repairs and retries included."
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        description="Ceiling on input and output tokens together. Room for a reply is kept before it is asked for.",
    )
    max_cost: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Ceiling in US dollars, by the price table. As max_tokens, kept before a call is made.",
    )
    max_seconds: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Ceiling on active time; pauses do not count."
    )
    call_timeout: float = Field(
        300.0,
        gt=0,
        le=LONGEST_TIMEOUT,
        description="Seconds a model may take to its first token, or be silent between two; in all twelve times as long.",
    )
    call_retries: int = Field(3, ge=0, le=10, description="How often a call that can pass later is tried again.")
    max_output_tokens: int | None = Field(
        None,
        ge=16,
        description="Limit on a reply's length, doubled once for a reply that it cut off. Without it each kind of reply has its own.",
    )
    temperature_explore: float = Field(0.4, ge=0, le=2, description="Temperature of calls that explore.")
    temperature_reason: float = Field(0.0, ge=0, le=2, description="Temperature of calls that reason.")
    reasoning_effort_explore: Effort = Field(
        "auto", description="How much a reasoning model thinks in calls that explore; auto: as little as it can."
    )
    reasoning_effort_reason: Effort = Field(
        "auto", description="How much a reasoning model thinks in calls that reason; auto: medium."
    )
    shots: int = Field(2, ge=0, le=8, description="Worked examples per prompt.")
    prompt_profile: Literal["auto", "small", "standard"] = Field(
        "auto", description="How prompts are laid out: for small models or others; `auto`: by the model's size."
    )
    pruning: Literal["model", "encoder"] = Field(
        "model",
        description="What chooses among relations, header communities and nodes: the model, or the encoder without a call (ToG-2, section "
        "4.5.2, compares such pruning tools). Small models: `encoder` in `fasttog` and `fiske`.",
    )
    explain: bool = Field(
        False, description="Ask for a sentence of explanation with every choice (costs output tokens)."
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="The only source of randomness of ours.")
    max_question: int = Field(8000, ge=1, le=100_000, description="Longest question taken, in characters.")
    history: bool = Field(
        False,
        description="Put a follow-up question in full by what was said before on the thread (one more call then).",
    )
    ask_user: Literal["never", "ambiguity", "budget", "both"] = Field(
        "never", description="When to pause and ask the person: a name of several entities, a spent ceiling, or both."
    )
    evidence_tokens: int = Field(
        4000, ge=100, le=1_000_000, description="Bound on the evidence in one prompt, in tokens."
    )
    on_unfinished: Literal["replace", "refuse"] = Field(
        "replace", description="What a new question does on a thread whose run is not finished."
    )

    @property
    def verifies_at_end(self) -> bool:
        """Whether the finished answer is verified."""
        return self.verify

    @property
    def offers_memory(self) -> bool:
        """Whether prompts with evidence say that what the model knows counts too."""
        return self.own_knowledge

    def for_small(self) -> Self:
        """The same settings for a small model."""
        return self.model_copy(
            update={name: self.small[name] for name in self.small if name not in self.model_fields_set}
        )

    @model_validator(mode="before")
    @classmethod
    def _apply_preset(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("preset") == "paper":
            wanted = {**cls.paper, **cls.paper_tasks.get(str(data.get("task")), {})}
            left_out = cls.of_memory if data.get("own_knowledge") is False else ()
            return {**{name: value for name, value in wanted.items() if name not in left_out}, **data}
        return data

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        # Python's true is a 1, which a width or a ceiling would take.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("true and false are for switches")
        return value


class DoubtSettings(RunSettings):
    """What methods share that doubt their answers and go back to what they pruned."""

    backtracks: int = Field(
        3,
        ge=0,
        le=20,
        description="How often a search that ends without a supported answer goes back to what it pruned. An answer that does not "
        "fit the question is then judged again too. 0: neither, and such an answer is given as `partial`.",
    )


class ChunkSettings(RunSettings):
    """What methods share that read documents in chunks."""

    chunk_size: int = Field(1000, ge=50, le=20_000, description="Longest chunk, in characters.")
    chunk_overlap: int = Field(100, ge=0, le=5_000, description="Characters that neighbouring chunks share.")
    sentences: bool = Field(False, description="A chunk is one sentence (off: as many as chunk_size holds).")
    ranker: str = Field(
        "dense", pattern=RANKER, description="What scores chunks: dense, cross-encoder[:model or folder], bm25 or llm."
    )

    @model_validator(mode="after")
    def _chunks_advance(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError("chunk_overlap must be smaller than chunk_size")
        return self


def one_line_fault(error: ValidationError) -> str:
    """The first fault of a validation error as one line that says what to do."""
    fault = error.errors()[0]
    name = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"there is no setting '{name}'"
    # Pydantic puts its own words before those of a validator.
    said = fault["msg"].removeprefix("Value error, ")
    place = f"setting '{name}'" if name else "settings"
    return f"{place}: {said} (given: {fault['input']!r:.80})"


def meant(name: str, known: Iterable[str]) -> str:
    """What a misspelt name may stand for, as the end of a message; empty where none is near."""
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f"; did you mean '{near[0]}'?" if near else ""


def explicit(settings: RunSettings | Mapping[str, Any] | None) -> dict[str, Any]:
    """The values that were set on purpose, defaults left out.

    Raises:
        SettingsError: no settings at all, but something else.
    """
    if settings is None:
        return {}
    if isinstance(settings, RunSettings):
        return settings.model_dump(exclude_unset=True)
    if not isinstance(settings, Mapping):
        raise SettingsError(f"settings are given by name, as {{'max_calls': 20}}, not {settings!r:.80}")
    return dict(settings)


def resolve_settings(schema: type[S], *layers: RunSettings | Mapping[str, Any] | None) -> S:
    """One validated settings object from layers, later ones winning.

    Args:
        schema: the method's settings class.
        layers: for example the build's defaults, then the run's context; None adds nothing.

    Raises:
        SettingsError: an unknown name or a value out of range.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(explicit(layer))
    try:
        return schema.model_validate(merged)
    except ValidationError as error:
        fault, hint = error.errors()[0], ""
        if fault["type"] == "extra_forbidden":
            # The whole list is some 70 names.
            known = ", ".join(sorted(schema.model_fields))
            hint = meant(str(fault["loc"][0]), schema.model_fields) or f"; known: {known}"
        raise SettingsError(one_line_fault(error) + hint) from None
