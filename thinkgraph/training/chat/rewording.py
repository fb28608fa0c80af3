"""Made questions, put into better words by a model; one whose new words lose a name keeps its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.asking import put_to
from thinkgraph.eval.roles.cases import Case
from thinkgraph.models.roles import Models
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import safe_block
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress

ROLE = "training.reword"
_LONGEST = 300


def reworded(
    questions: Sequence[Question],
    name: str,
    models: Models,
    knowledge: Knowledge,
    settings: RunSettings,
    *,
    folder: Path,
    progress: Progress = no_progress,
) -> list[Question]:
    """The questions in a model's words, one call each.

    Args:
        questions: made by template.
        name: the model's.
        models: makes its client.
        knowledge: what they are about.
        settings: of the calls.
        folder: where the replies are kept: what stands there is not asked again.
        progress: told after every call.

    Raises:
        ModelError: the model cannot be reached.
    """
    cases = [
        Case(
            id=one.id,
            role=ROLE,
            question=one.id,
            type=one.type,
            inputs={"question": safe_block(one.question)},
            shape={},
            right={},
        )
        for one in questions
    ]
    asked = put_to(
        name,
        models,
        cases,
        knowledge=knowledge,
        prompts=PromptLibrary(),
        settings=settings,
        folder=folder,
        progress=progress,
    )
    said = {one["id"]: " ".join(str(one["value"] or "").split()) for one in asked}
    return [replace(one, question=said[one.id]) if _says(said[one.id], one) else one for one in questions]


def _says(text: str, question: Question) -> bool:
    """Whether new words ask for the same as far as can be told: they name the topic and no answer."""
    named = all(fold(topic) in fold(text) for topic in question.topic)
    told = f" {fold(text)} "
    return named and 0 < len(text) <= _LONGEST and not any(f" {fold(one)} " in told for one in question.answers)
