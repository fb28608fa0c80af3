"""Prompt files: the built-in ones are sound, a folder of one's own overrides them, and faults are named in one line.

The rendering of every built-in prompt is kept under snapshots/. After a prompt was changed on purpose:

    UPDATE_SNAPSHOTS=1 python -m pytest tests/prompts/test_library.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thinkgraph.errors import PromptError
from thinkgraph.prompts.files import PROFILES
from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.library import DATA_NOTE, Prompt, PromptLibrary, builtin_roles, parse_prompt_file
from thinkgraph.prompts.lines import numbered
from thinkgraph.prompts.parsed import parse_prompt

SNAPSHOTS = Path(__file__).parent / "snapshots"
ROLES = builtin_roles()
INPUTS = {
    "question": "Which seas does the country border whose capital is Panama City?",
    "query": "country whose capital is Panama City",
    "task": "(what the task wants)",
    "next": "(what to do if it is not sufficient)",
    "most": "3",
    "several": "Choose several only if the question needs several or you are not sure.",
    "clues": "The country is Panama.",
    "doubted": numbered(["the question asks for a sea, and Panama is on the way to it"]),
    "tried": numbered(["Panama City"]),
    "entities": numbered(["Panama -- country in Central America"]),
    "options": numbered(["(Panama) -[capital]-> x1", "(Panama) -[borders]-> x4"]),
    "passage": numbered(["text | Panama | | It lies between two seas."]),
    "evidence": numbered(["(Panama) -[capital]-> (Panama City)", "text | Panama | | It lies between two seas."]),
}
SHAPE = Shape(options=2, evidence=2, clues=2, questions=2, fields=("clues", "query"))
GOOD = "---\nkind: pick\nstage: explore\n---\n=== system\nMine.\n=== user\n## Question\n{{question}}\n"
Write = Callable[[str, str], Path]


def inputs_of(prompt: Prompt) -> dict[str, str]:
    """Something for every place, those of methods to come included."""
    return {place: INPUTS.get(place, f"({place})") for place in prompt.places}


@pytest.fixture
def folder(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return tmp_path

    return write


def test_there_are_prompts() -> None:
    assert {"tog2.reason", "tog2.relation_prune", "rank.texts"} <= set(ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_the_rendering_of_a_built_in_prompt_is_as_it_was(role: str) -> None:
    prompt = PromptLibrary().get(role)
    messages = prompt.render(inputs_of(prompt), SHAPE, shots=8)
    shown = "".join(f"<<< {who} >>>\n{text}\n\n" for who, text in messages)
    file = SNAPSHOTS / f"{role}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, "utf-8")
    kept = file.read_text("utf-8") if file.exists() else ""
    assert shown == kept, "changed on purpose? UPDATE_SNAPSHOTS=1 python -m pytest tests/prompts/test_library.py"


def test_no_snapshot_outlives_its_prompt() -> None:
    assert sorted(file.stem for file in SNAPSHOTS.glob("*.txt")) == list(ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_a_built_in_prompt_is_sound(role: str) -> None:
    prompt = PromptLibrary().get(role)
    messages = prompt.render(inputs_of(prompt), SHAPE, shots=8)
    whole = "\n".join(text for _, text in messages)
    assert "{{" not in whole, "a place is unfilled"
    assert "=== " not in whole
    system, user = messages[0][1], messages[-1][1]
    assert "thinkgraph" not in system, "a model is told its task, not our names"
    assert system.endswith(prompt.kind.instruction(SHAPE))
    assert (DATA_NOTE in system) == bool({"options", "evidence", "questions", "passage"} & prompt.places)
    parsed = parse_prompt(system, user)
    assert parsed.kind == prompt.kind.name
    for place in prompt.places & {"question", "passage"}:
        assert parsed.text(place) == INPUTS[place]
    varying = {"question", "query", "clues", "entities", "options", "evidence", "passage"}
    assert not varying & set(re.findall(r"{{(.*?)}}", prompt.systems[0].text)), "it stands last"


@pytest.mark.parametrize("role", ROLES)
def test_shots_say_how_many_examples_are_shown(role: str) -> None:
    prompt = PromptLibrary().get(role)
    for shots in (0, 1, 99):
        messages = prompt.render(inputs_of(prompt), SHAPE, shots=shots)
        pairs = min(shots, len(prompt.examples(SHAPE)))
        assert [who for who, _ in messages] == ["system", *(["user", "assistant"] * pairs), "user"]


def test_a_section_without_a_body_is_left_out() -> None:
    prompt = PromptLibrary().get("tog2.reason")
    for nothing in ("", "  \n "):
        user = prompt.render({**inputs_of(prompt), "clues": nothing, "doubted": nothing}, SHAPE)[-1][1]
        assert list(parse_prompt("", user).sections) == ["question", "evidence"]


def test_text_before_the_first_section_stays() -> None:
    prompt = parse_prompt_file("a.b", GOOD.replace("## Question", "Look:\n\n## Question"), "file")
    assert prompt.render({"question": "q"}, SHAPE)[-1][1] == "Look:\n\n## Question\nq"


def test_what_is_filled_in_is_not_filled_again() -> None:
    prompt = parse_prompt_file("a.b", GOOD, "file")
    assert "{{question}}" in prompt.render({"question": "{{question}} {{evil}}"}, SHAPE)[-1][1]


def test_a_missing_input_is_named() -> None:
    prompt = parse_prompt_file("a.b", GOOD, "file")
    with pytest.raises(PromptError, match=r"a\.b uses \{\{question\}\}.*may use: task, words") as raised:
        prompt.render({"words": "", "task": ""}, SHAPE)
    assert "\n" not in str(raised.value)


STYLED = """---
kind: pick
stage: explore
flat: true
small: {lines: plain, last: question, form: {steps: true}}
---
=== system
Mine. {{path lines}}
=== system [small, not task=question]
Small, and a claim.
=== user
## Question
{{question}}

## Evidence
{{evidence}}
=== example user
## Question
a

## Evidence
Chain 1:
[1] (Osk) -[mouth]-> (Varn)
=== example reply
{"numbers": [1], "why": "It ends there."}
=== example user [likely]
## Question
b
=== example reply
{"numbers": []}
"""


def test_a_header_says_how_a_prompt_is_laid_out() -> None:
    prompt = parse_prompt_file("a.b", STYLED, "file")
    inputs = {"question": "q", "evidence": "Chain 1:\n[1] (Tarr) <-[mouth]- (Nim)"}
    shape = Shape(options=1, labels=("true", "false"))
    standard, small = (prompt.render(inputs, shape, shots=2, profile=profile) for profile in PROFILES[::-1])
    assert standard[0][1].startswith("Mine. (a) -[relation]-> (b)")
    assert [text for _, text in standard[1:]] == [
        "## Question\na\n\n## Evidence\n[1] (Osk) -[mouth]-> (Varn)",
        '{"numbers": [1]}',
        "## Question\nq\n\n## Evidence\n[1] (Tarr) <-[mouth]- (Nim)",
    ]
    assert small[0][1].startswith("Small, and a claim.")
    assert [text for _, text in small[1:]] == [
        "## Evidence\n[1] (Osk) mouth: (Varn)\n\n## Question\na",
        '{"why": "It ends there.", "numbers": [1]}',
        "## Evidence\n[1] (Nim) mouth: (Tarr)\n\n## Question\nq",
    ]


def test_examples_are_those_whose_conditions_hold() -> None:
    prompt = parse_prompt_file("a.b", STYLED, "file")
    assert [reply for _, reply in prompt.examples(Shape(likely=True))] == ['{"numbers": [1]}', '{"numbers": []}']
    assert len(prompt.examples(Shape())) == 1


def test_an_overriding_file_is_used_and_the_others_stay(folder: Write) -> None:
    library = PromptLibrary(folder("tog2/topic_prune.prompt", GOOD))
    mine, built_in = library.get("tog2.topic_prune"), PromptLibrary().get("tog2.topic_prune")
    assert mine.systems[0].text == "Mine."
    assert mine.digest != built_in.digest
    assert library.get("tog2.reason") == PromptLibrary().get("tog2.reason")


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.replace("{{question}}", "{{ question }}"),
        GOOD.replace("=== system", "===  System "),
    ],
    ids=["windows line ends", "byte order mark", "blanks in a place", "loose part names"],
)
def test_what_editors_do_to_files_is_understood(folder: Write, text: str) -> None:
    prompt = PromptLibrary(folder("tog2/topic_prune.prompt", text)).get("tog2.topic_prune")
    assert prompt.render({"question": "q"}, SHAPE)[-1][1] == "## Question\nq"
    assert prompt.systems[0].text == "Mine."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "header between two lines"),
        ("=== system\nx\n=== user\ny\n", "header between two lines"),
        (GOOD.replace("kind: pick", "kind: {"), "not YAML"),
        (GOOD.replace("kind: pick", "kind: picks"), "kind \\(one of pick, score"),
        (GOOD.replace("kind: pick", "kind: [pick]"), "kind \\(one of pick, score"),
        (GOOD.replace("kind: pick\n", ""), "kind \\(one of pick, score"),
        (GOOD.replace("stage: explore", "stage: {a: 1}"), "stage \\(explore or reason\\)"),
        (GOOD.replace("kind: pick\nstage: explore", "words"), "header needs"),
        (GOOD.replace("kind: pick", "kind: score"), "must stay pick"),
        (GOOD.replace("=== user", "=== usr"), "unknown part '=== usr'"),
        (GOOD.replace("=== system\nMine.\n", ""), "one '=== system' and one '=== user'"),
        (GOOD + "=== user\nagain\n", "one '=== system' and one '=== user' without conditions"),
        (GOOD.replace("=== user", "=== user [small]"), "one '=== system' and one '=== user' without conditions"),
        (
            GOOD + "=== example user [task=facts]\nx\n=== example reply\n{}\n",
            "a condition that is none of: clues, ",
        ),
        (GOOD + "=== example user [not]\nx\n=== example reply\n{}\n", "a condition that is none of"),
        (GOOD + "=== example user [small\nx\n=== example reply\n{}\n", "in one pair of brackets"),
        (GOOD + "=== example user\nx\n=== example reply [small]\n{}\n", "stand at its '=== example user'"),
        (GOOD + "=== example user\nx\n=== example reply\n[2]\n", "'\\[2\\]' is no JSON object"),
        (GOOD.replace("kind: pick", "kind: pick\nline: plain"), "no 'line'; known: kind, stage, pruning, lines"),
        (GOOD.replace("kind: pick", "kind: pick\npruning: encoder"), "'pruning' is true or false"),
        (GOOD.replace("kind: pick", "kind: pick\nlines: dots"), "'lines' cannot be 'dots'"),
        (GOOD.replace("kind: pick", "kind: pick\noptions: many"), "'options' cannot be 'many'"),
        (
            GOOD.replace("kind: pick", "kind: pick\nform: {labels: yes}"),
            "cannot set 'labels' to True; it sets explain: True or False;",
        ),
        (GOOD.replace("kind: pick", "kind: pick\nsmall: plain"), "'small' must be a mapping"),
        (GOOD.replace("Mine.", ""), "'=== system' is empty"),
        (GOOD.replace("=== system", "words\n=== system"), "before the first part"),
        (GOOD + "=== example user\nx\n", "needs an '=== example reply'"),
        (GOOD + "=== example reply\nx\n=== example user\ny\n", "needs an '=== example reply' right after it"),
        (
            GOOD.replace("question}}", "evidence}}"),
            "\\{\\{evidence\\}\\} is not provided; it may use: options, question",
        ),
        (GOOD.replace("question}}", "the-question}}"), "\\{\\{the-question\\}\\} is not provided"),
    ],
)
def test_a_fault_is_named_with_its_file_in_one_line(folder: Write, text: str, fault: str) -> None:
    root = folder("tog2/topic_prune.prompt", text)
    with pytest.raises(PromptError, match=fault) as raised:
        PromptLibrary(root)
    assert str(raised.value).startswith(str(root / "tog2" / "topic_prune.prompt"))
    assert "\n" not in str(raised.value)


def test_a_file_for_no_role_is_named(folder: Write) -> None:
    with pytest.raises(
        PromptError, match=r"topic_prun\.prompt: there is no role tog2\.topic_prun; known: .*rank\.texts"
    ):
        PromptLibrary(folder("tog2/topic_prun.prompt", GOOD))


@pytest.mark.parametrize("place", ["topic_prune.prompt", "tog2/deep/topic_prune.prompt"])
def test_a_file_that_lies_too_high_or_too_deep_is_named(folder: Write, place: str) -> None:
    folder("tog2/topic_prune.prompt", GOOD)
    with pytest.raises(PromptError, match=rf"{place}: there is no role "):
        PromptLibrary(folder(place, GOOD))


def test_a_folder_of_much_else_is_not_walked_to_its_ends(folder: Write) -> None:
    """Of the root, given by an empty variable before a slash, the whole disk was read."""
    root = folder("tog2/topic_prune.prompt", GOOD)
    (root / "a/b/c/tog2").mkdir(parents=True)
    root = folder("a/b/c/tog2/topic_prune.prompt", GOOD)
    assert list(PromptLibrary(root).own) == ["tog2.topic_prune"]


def test_a_folder_of_a_method_may_be_a_link(folder: Write, tmp_path: Path) -> None:
    kept = folder("tog2/topic_prune.prompt", GOOD)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tog2").symlink_to(kept / "tog2")
    known, own = PromptLibrary(), PromptLibrary(tmp_path / "own")
    assert own.get("tog2.topic_prune").digest != known.get("tog2.topic_prune").digest


def test_a_file_that_is_no_text_is_named(folder: Write) -> None:
    root = folder("tog2/topic_prune.prompt", GOOD)
    (root / "tog2" / "topic_prune.prompt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PromptError, match=r"topic_prune\.prompt: cannot be read as UTF-8") as raised:
        PromptLibrary(root)
    assert "\n" not in str(raised.value)


def test_a_folder_must_exist_and_hold_prompts(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="is not a directory"):
        PromptLibrary(tmp_path / "nowhere")
    with pytest.raises(PromptError, match="holds no <method>/<role>"):
        PromptLibrary(tmp_path)


def test_an_unknown_role_is_named() -> None:
    for role in ("tog2.nothing", "nothing", "nowhere.reason"):
        with pytest.raises(PromptError, match=f"no prompt for role {role}"):
            PromptLibrary().get(role)


def test_every_kind_is_known_by_its_name() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("folder", ["", 5, b"prompts"])
def test_what_names_no_folder_is_refused(folder: Any) -> None:
    with pytest.raises(PromptError, match=r"^prompt folder .+ is not a directory$"):
        PromptLibrary(folder)
