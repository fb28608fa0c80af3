"""What becomes a record, and what does not: a prompt must tell the reply that is to be learnt from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.making import Maker
from thinkgraph.eval.roles.recording import Oracle, Recorded
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import numbered, safe_block
from thinkgraph.state.settings import RunSettings
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.training.chat.records import Record, records_of
from thinkgraph.training.chat.split import parted

ROWS = [
    ("Frost", "starred", "Ann"),
    ("Ember", "starred", "Ann"),
    ("Frost", "written by", "Bo"),
    ("Frost", "genre", "Drama"),
]
QUESTION = Question(
    "q", "Which genre has a film that starred Ann?", ("Drama",), gold_path=(("Ann", "-starred"), ("*", "genre"))
)


def made(
    role: str, question: Question, rows: Sequence[Any] = ROWS, /, *, right: Any, order: tuple[int, ...] = (),
    profile: Literal["standard", "small"] = "standard", **inputs: Any
) -> list[Record]:  # fmt: skip
    """The records of one call."""
    shape = {
        name: inputs.pop(name)
        for name in ("options_shown", "clues_shown", "evidence_shown", "most_shown")
        if name in inputs
    }
    bounds = {name.removesuffix("_shown"): count for name, count in shape.items()}
    blank = dict.fromkeys(PromptLibrary().get(role).places, "")
    case = Case(id=f"{role}/q/right1", role=role, question="q", type="", inputs=blank | {"question": safe_block(question.question)} | inputs, shape=bounds,
                right=right, order=order)  # fmt: skip
    with Knowledge(graph=MemoryGraphStore(rows), embedder=BundledEmbedder()) as knowledge:
        (gold,) = resolve_golds([question], knowledge.graph)
        chooser = PerfectChooser({question.question: gold})
        settings = RunSettings(shots=0, prompt_profile=profile)
        return list(
            records_of([case], chooser=chooser, knowledge=knowledge, prompts=PromptLibrary(), settings=settings, golds={"q": gold})
        )  # fmt: skip


MAPPING = {
    "clues": "[1] starred\n[2] genre",
    "clues_shown": 2,
    "options": "[1] Frost -- Frost starred Ann\n[2] Ember -- Ember starred Ann",
    "options_shown": 2,
    "right": {"choices": [[1, 1]]},
}


def test_what_only_the_next_hop_tells_is_not_learnt() -> None:
    assert made("fiske.e_mapping", QUESTION, **MAPPING) == []
    both = [*ROWS, ("Ember", "genre", "Drama")]
    (known,) = made("fiske.e_mapping", QUESTION, both, **{**MAPPING, "right": {"choices": [[1, 1], [1, 2]]}})
    assert known.reply == '{"pairs": [[1, 1], [1, 2]]}'


def test_another_order_has_its_own_reply() -> None:
    options = {"options": "[1] (Frost) genre: (1 thing)\n[2] (Frost) written by: (1 thing)", "options_shown": 2}
    first, second = made("tog2.relation_prune", QUESTION, right={"choices": [1]}, order=(2, 1), **options)
    assert [(one.sort, one.reply) for one in (first, second)] == [
        ("right", '{"scores": [[1, 10]]}'),
        ("shuffled", '{"scores": [[2, 10]]}'),
    ]
    assert "[2] (Frost) genre" in second.messages[-1][1]


def test_a_ranked_reply_has_as_many_of_each_entity_as_the_prompt_asks_for() -> None:
    options = ["(Frost) written by: (1 thing)", "(Frost) genre: (1 thing)", "(Frost) starred: (1 thing)", "(Ember) starred: (1 thing)"]  # fmt: skip
    shown = {"options": numbered(options), "options_shown": 4, "most": "2", "most_shown": 4}
    (known,) = made("tog2.relation_prune", QUESTION, right={"choices": [2]}, profile="small", **shown)
    assert "Name the best 2 relations of each entity" in known.messages[0][1]
    # The path's relation, then those that the question names; "written by" is one too many.
    assert json.loads(known.reply) == {"numbers": [2, 3, 4]}
    # Where no number is asked for, what the path does not need is not named.
    facts = numbered(["(Frost) written by: (Bo)", "(Frost) genre: (Drama)"])
    (known,) = made("rank.texts", QUESTION, right={"choices": [2]}, profile="small", options=facts, options_shown=2)
    assert json.loads(known.reply) == {"numbers": [2]}


def test_clues_stand_in_the_question() -> None:
    right = {"names": ["Ann"], "words": []}
    (known,) = made("fiske.extract_clues", QUESTION, right=right)
    assert known.reply == '{"keywords": ["Ann", "starred", "genre"]}'
    other = Question(**{**vars(QUESTION), "question": "Of what sort is the film with Ann?"})
    assert made("fiske.extract_clues", other, right=right) == []
    # What led nowhere is not to be said again.
    assert made("fiske.extract_clues", QUESTION, right=right, tried="[1] Ann") == []


def test_sub_questions_are_questions() -> None:
    asked = Question(
        "q", "Who wrote a film that starred Ann?", ("Bo",), gold_path=(("Ann", "-starred"), ("*", "written by"))
    )
    right = {"names": ["Ann"], "words": [], "least": 2, "most": 2, "refers": True}
    (known,) = made("coggrag.decompose", asked, right=right, most="5")
    texts = [one["question"] for one in json.loads(known.reply)["questions"]]
    assert texts == ["What starred Ann?", "#1 is written by what?"]


def test_sub_questions_are_questions_wherever_they_are_shown() -> None:
    asked = Question(
        "q", "Who wrote a film that starred Ann?", ("Bo",), gold_path=(("Ann", "-starred"), ("*", "written by"))
    )
    lines = [
        "(Frost), (Ember) starred: (Ann)",
        "(Frost) written by: (Bo)",
        "asked | What has Ann as its starred? | Frost; Ember",
    ]
    right = {"sufficient": True, "answers": ["Bo"], "aliases": []}
    (known,) = made("coggrag.reason", asked, right=right, evidence=numbered(lines), evidence_shown=3)
    assert "[3] asked | What starred Ann? | Frost; Ember" in known.messages[-1][1]


def test_a_sub_question_keeps_no_answer_back_that_its_evidence_gives() -> None:
    films = [("Frost", "written by", "Bo"), ("Frost", "starred", "Ann"), ("Frost", "starred", "Bo")]
    path: tuple[tuple[str, ...], ...] = (("Bo", "-written by"), ("*", "starred", "new"))
    asked = Question("q", "Who starred in a film by Bo?", ("Ann",), gold_path=path)
    right = {"sufficient": True, "answers": ["Ann"], "aliases": []}
    shown = {"evidence": "[1] (Frost) starred: (Ann), (Bo)", "evidence_shown": 1}
    part = {**shown, "question": "What is the starred of Frost?"}
    assert made("coggrag.reason", asked, films, right=right, **part) == []
    alone = {**part, "evidence": "[1] (Frost) starred: (Ann)"}
    assert len(made("coggrag.reason", asked, films, right=right, **alone)) == 1


def test_one_number_is_one_number() -> None:
    options = {"options": "[1] (Frost) genre: (Drama)\n[2] (Ember) genre: (Drama)", "options_shown": 2, "most_shown": 1}
    evidence = {"evidence": "[1] (Frost), (Ember) starred: (Ann)", "evidence_shown": 1, "most": "1"}
    both = [*ROWS, ("Ember", "genre", "Drama")]
    (known,) = made("fasttog.community_prune", QUESTION, both, right={"choices": [1, 2]}, **options, **evidence)
    assert len(json.loads(known.reply)["numbers"]) == 1


@pytest.mark.parametrize(("role", "cited"), [("kg_rag.reason", []), ("fasttog.reason", [1])])
def test_evidence_that_does_not_suffice_is_named_as_the_examples_do(role: str, cited: list[int]) -> None:
    right = {"sufficient": False, "answers": [], "aliases": []}
    (known,) = made(role, QUESTION, right=right, evidence="[1] (Frost) starred: (Ann)", evidence_shown=1)
    assert json.loads(known.reply)["evidence"] == cited


def test_a_part_of_what_is_counted_is_not_learnt_from() -> None:
    path: tuple[tuple[str, ...], ...] = (("Ann", "-starred"), ("count",))
    asked = Question("q", "How many films starred Ann?", ("2",), gold_path=path)
    right = {"sufficient": False, "answers": [], "aliases": []}
    part, other = "[1] (Frost) starred: (Ann)", "[1] (Frost) genre: (Drama)"
    assert made("kg_rag.reason", asked, right=right, evidence=part, evidence_shown=1) == []
    assert len(made("kg_rag.reason", asked, right=right, evidence=other, evidence_shown=1)) == 1


def test_no_name_of_the_question_is_left_out() -> None:
    asked = Question("q", "Which genre has Frost, the film with Ann?", ("Drama",), gold_path=(("Frost", "genre"),))
    right = {"names": ["Frost"], "words": []}
    assert made("fasttog.extract_subjects", asked, right=right) == []
    plain = Question("q", "Which genre has Frost?", ("Drama",), gold_path=(("Frost", "genre"),))
    (known,) = made("fasttog.extract_subjects", plain, right=right)
    assert known.reply == '{"names": ["Frost"]}'


@pytest.mark.parametrize(("said", "kept"), [("Drama -- genre of Frost", 0), ("Ann -- starred in Frost", 1)])
def test_an_entity_line_that_tells_the_answer_is_evidence(said: str, kept: int) -> None:
    with Knowledge(graph=MemoryGraphStore(ROWS)) as knowledge:
        (gold,) = resolve_golds([QUESTION], knowledge.graph)
    inputs = dict.fromkeys(PromptLibrary().get("fasttog.reason").places, "")
    inputs |= {"question": QUESTION.question, "evidence": "[1] (Frost) starred: (Ann)", "entities": f"[1] {said}"}
    oracle = Oracle(PerfectChooser({QUESTION.question: gold}))
    maker = Maker(["fasttog.reason"], {"q": gold}, oracle, cases=100, seed=0, measures=False)
    maker.add(QUESTION, [Recorded("fasttog.reason", inputs, Shape(evidence=1))])
    assert len(maker.cases()) == kept


def test_the_test_takes_from_every_type_and_loses_few() -> None:
    hub = [Question(f"h{at}", f"h{at}", ("Drama",), type="a", topic=(f"H{at}",)) for at in range(10)]
    rare = [Question(f"r{at}", f"r{at}", (f"R{at}",), type="b", topic=(f"T{at}",)) for at in range(10)]
    alone = [Question("lone", "lone", ("Comedy",), type="a", topic=("Lone",))]
    found = parted([*hub, *rare, *alone], {}, test=0.1, seed=0)
    assert {question.type for question in found.test} == {"a", "b"}
    assert (len(found.test), len(found.train), found.dropped) == (2, 19, [])
    every = parted([*hub, *rare], {}, test=0.1, seed=0)
    # All share one answer: one of them in the test leaves none to learn from.
    assert [question.type for question in every.dropped] == ["a"] * 9
    assert [question.type for question in every.train] == ["b"] * 9
