"""Every built-in prompt in every task, mode and profile: nothing is left empty, and no example contradicts what is asked for."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from thinkgraph.prompts.files import PROFILES, facts_of
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Prompt, PromptLibrary, builtin_roles
from thinkgraph.prompts.parsed import parse_prompt
from thinkgraph.prompts.tasks import TASK_LABELS, task_words
from thinkgraph.tools.knowledge import Knowledge

ROLES = builtin_roles()
SHOTS = 2
"""The default of the setting `shots`."""
MOST_SHOTS = 6
"""Most that ToG-2 shows of claims (section 4.3)."""
YES_NO = (False, True)
_OWN: Mapping[str, Any] = {"verdict": {"consistent": True}, "subquestions": {"compares": True}}
"""By kind, what some calls ask for beside that."""


def shapes(prompt: Prompt) -> Iterator[Shape]:
    """Every shape that a call of this prompt may have."""
    judges = prompt.kind.name == "judge"
    carried: list[tuple[str, ...]] = [()]
    if prompt.role in {"tog2.reason", "tog2.steer"}:
        carried = [(), ("clues",), ("clues", "query")]
    if prompt.role.endswith(".steer"):
        carried = [(*asked, "scores") for asked in carried]
    fields = [(), ("types",)] if prompt.kind.name == "triples" else carried
    for labels, asked, likely, explain in itertools.product(
        TASK_LABELS.values() if judges else [()], fields, YES_NO if judges else [False], YES_NO
    ):
        if not (likely and asked):  # what is carried on is asked for before the last round
            shape = Shape(
                options=3, evidence=3, clues=4, questions=4, labels=labels, fields=asked, likely=likely, explain=explain
            )
            yield shape
            if own := _OWN.get(prompt.kind.name):
                yield replace(shape, **own)


def modes(prompt: Prompt) -> Iterator[tuple[Shape, dict[str, Any]]]:
    # The labels of a judge tell the task.
    tasks = ["question"] if prompt.kind.name == "judge" else list(TASK_LABELS)
    for shape, profile, memory, task in itertools.product(shapes(prompt), PROFILES, YES_NO, tasks):
        yield shape, {"profile": profile, "memory": memory, "task": task}


@pytest.mark.parametrize("role", ROLES)
def test_it_says_all_and_nothing_empty(role: str) -> None:
    prompt = PromptLibrary().get(role)
    inputs = {place: f"[1] {place}" for place in prompt.places}
    for shape, mode in modes(prompt):
        messages = prompt.render(inputs, shape, shots=SHOTS, **mode)
        whole = "\n".join(text for _, text in messages)
        assert "{{" not in whole
        assert not re.search(r"^- *$|  |\n\n\n|^## .*\n*(?=## |\Z)", whole, re.MULTILINE)
        assert set(parse_prompt("", messages[-1][1]).sections) <= set(parse_prompt("", prompt.users[0].text).sections)


@pytest.mark.parametrize("role", ["tog2.reason", "tog2.steer", "fiske.conclude", "coggrag.reason", "coggrag.rethink"])
def test_what_the_model_knows_counts_for_sufficiency_where_it_may_be_used(role: str) -> None:
    prompt = PromptLibrary().get(role)
    for memory in YES_NO:
        inputs = dict.fromkeys(prompt.places, "x") | {"task": task_words("question", "", own=memory)}
        system = prompt.render(inputs, Shape(evidence=3), memory=memory)[0][1]
        assert ("You may also use what you know" in system) is memory
        assert ("together with what you know" in system) is memory
        strict = re.search(r"needs stands in it|Copy them from the evidence|that it does not say", system)
        assert bool(strict) is not memory


@pytest.mark.parametrize("role", ROLES)
def test_every_mode_has_examples_and_every_example_a_mode(role: str) -> None:
    prompt = PromptLibrary().get(role)
    shown: set[str] = set()
    for shape, mode in modes(prompt):
        facts = facts_of(prompt.shaped(shape, mode["profile"]), **mode)
        most = MOST_SHOTS if "task=fact" in facts else SHOTS
        fitting = [example for example in prompt.worked if example.fits(facts)][:most]
        assert bool(fitting) is not is_bare(role, mode), "at least one worked example"
        shown |= {example.text for example in fitting}
    assert shown == {example.text for example in prompt.worked}, "an example that is never sent"


def is_bare(role: str, mode: Mapping[str, Any]) -> bool:
    """Examples make a small model verify and reform worse: benchmarks/results/prompts.md."""
    return role in {"coggrag.verify", "tog2.query_reform"} and mode["profile"] == "small"


@pytest.mark.parametrize("role", [role for role in ROLES if role not in {"history.rephrase", "training.reword"}])
def test_claims_have_examples_of_claims_and_questions_have_none(role: str) -> None:
    prompt = PromptLibrary().get(role)
    if "question" not in prompt.places:
        pytest.skip("it is not told what is asked")
    for shape, mode in modes(prompt):
        if not is_bare(role, mode):
            asked = [parse_prompt("", user).text("question") for user, _ in prompt.examples(shape, **mode)[:SHOTS]]
            claims = "task=question" not in facts_of(shape, **mode)
            assert any(not text.endswith("?") for text in asked) is claims


@pytest.mark.parametrize("role", ["tog2.reason", "tog2.precheck", "recall.cot"])
def test_claims_have_as_many_examples_as_the_paper_shows(role: str) -> None:
    prompt = PromptLibrary().get(role)
    for likely, steps in itertools.product(YES_NO, YES_NO):
        shape = Shape(evidence=3, labels=TASK_LABELS["fact"], likely=likely, steps=steps)
        replies = [json.loads(reply) for _, reply in prompt.examples(shape)]
        assert len(replies) >= MOST_SHOTS
        for shots in (3, MOST_SHOTS):
            labels = {label for reply in replies[:shots] for label in reply["answers"]}
            assert {"SUPPORTS", "REFUTES"} <= labels <= set(TASK_LABELS["fact"])


@pytest.mark.parametrize("role", ROLES)
def test_every_example_is_what_the_call_asks_for(role: str) -> None:
    prompt = PromptLibrary().get(role)
    for shape, mode in modes(prompt):
        asked = prompt.shaped(shape, mode["profile"])
        for question, reply in prompt.examples(shape, **mode):
            counts = {name: len(items) for name, items in parse_prompt("", question).items.items()}
            for name, items in parse_prompt("", question).items.items():
                assert [item.number for item in items] == list(range(1, counts[name] + 1))
            own = Shape(
                **{
                    **asked.__dict__,
                    **{name: counts.get(name, 0) for name in ("options", "evidence", "clues", "questions")},
                    "nearest": (1,) * counts.get("options", 0),
                }
            )
            check_nothing_is_lost(prompt, reply, own)


def check_nothing_is_lost(prompt: Prompt, reply: str, shape: Shape) -> None:
    """The reply has the form asked for, nothing in it is out of range, and no rule is broken."""
    value, schema = prompt.kind.parse(reply, shape), prompt.kind.schema(shape)
    if schema is None:
        assert value == reply
        return
    said: dict[str, Any] = json.loads(reply)
    assert list(said) == list(schema["properties"])
    assert said.pop("why", "-"), "asked for, and left empty"
    for key, meant in said.items():
        got = value[key] if isinstance(value, dict) else value
        told = [list(pair) for pair in got.items()] if isinstance(got, dict) else got
        if key == "numbers" and prompt.kind.name != "pick":
            told = [one[prompt.kind.name == "pairs"] for one in got]
        assert json.loads(json.dumps(told)) == meant, f"{key} of an example of {prompt.role}"
    if prompt.kind.name == "judge":
        assert said["sufficient"] or shape.likely or not said["answers"], "a likely answer that is not asked for"
        assert not shape.labels or set(said["answers"]) <= set(shape.labels)


@pytest.mark.parametrize("role", [role for role in ROLES if PromptLibrary().get(role).kind.name == "judge"])
def test_judges_see_both_outcomes(role: str) -> None:
    prompt = PromptLibrary().get(role)
    if role == "search_agent.search":
        pytest.skip("what its tool finds is no part of an example")
    for shape, mode in modes(prompt):
        if not mode["memory"]:
            told = [json.loads(reply) for _, reply in prompt.examples(shape, **mode)[:SHOTS]]
            assert {reply["sufficient"] for reply in told} == {True, False}


def test_no_example_names_an_entity_of_the_bundled_knowledge() -> None:
    names: set[str] = set()
    for role in ROLES:
        for example in PromptLibrary().get(role).worked:
            names |= set(re.findall(r"(?:[A-Z][a-z]+ )*[A-Z][a-z]{3,}", example.text))
    with Knowledge.open("world") as knowledge:
        found = knowledge.graph.lookup(sorted(names), limit=1)
    known = {match["entity"]["label"] for matches in found for match in matches}
    assert not known
