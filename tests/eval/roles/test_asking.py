from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, ServedCall
from replies import Fault, Reply

from thinkgraph.config import load_config
from thinkgraph.errors import ModelError, UsageError
from thinkgraph.eval.roles.asking import Asked, put_to
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.eval.roles.scoring import figures, is_right
from thinkgraph.eval.roles.table import render, rows_of, toml, verdicts
from thinkgraph.models.roles import Models
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.state.settings import RunSettings
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

MODEL = "openai:test-model"
PRUNE = Case(
    id="tog2.relation_prune/q1/right1",
    role="tog2.relation_prune",
    question="q1",
    type="1hop",
    inputs={
        "question": "What is the capital of Panama?",
        "entities": "[1] Panama",
        "options": "[1] (Panama) -[borders]-> x2\n[2] (Panama) -[capital]-> x1\n[3] (Panama) -[area]-> x1",
        "most": "3",
    },
    shape={"options": 3},
    right={"choices": [2]},
    order=(3, 1, 2),
)
JUDGED = [
    Case(
        id=f"kg_rag.reason/q{number}/x1",
        role="kg_rag.reason",
        question=f"q{number}",
        type="1hop",
        inputs={
            "question": "What is the capital of Panama?",
            "evidence": "[1] (Panama) -[borders]-> (Colombia)"
            + "\n[2] (Panama) -[capital]-> (Panama City)" * (number == 1),
            "task": "",
        },
        shape={"evidence": 3 - number},
        right={"sufficient": number == 1, "answers": ["Panama City"] if number == 1 else [], "aliases": []},
    )
    for number in (1, 2)
]
CASES = [PRUNE, *JUDGED]
KNOWLEDGE = Knowledge(graph=MemoryGraphStore([]), embedder=HashEmbedder(), name="empty")


def ask(
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    folder: Path | None = None,
    cases: Any = CASES,
    **settings: Any,
):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    models = Models(MODEL, offline=lambda: pytest.fail("not asked for"))
    called = RunSettings(max_calls=None, **settings)
    return put_to(MODEL, models, cases, knowledge=KNOWLEDGE, prompts=PromptLibrary(), settings=called, folder=folder)


def judge(*answers: str) -> str:
    return json.dumps({"sufficient": bool(answers), "answers": answers, "evidence": []})


def test_replies_are_read_repaired_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    script = ['{"scores": [[2, 9]]}', "what?", '{"scores": [[2, 9]]}', judge("Panama City"), "no", "no"]
    with ModelServer(script) as server:
        asked = ask(server, monkeypatch)
        assert "(Panama) -[area]-> x1" in server.calls[1].text.partition("[2]")[0]
    prune, judged = rows_of(CASES, {MODEL: asked}, PromptLibrary())
    assert (prune["cases"], prune["calls"], prune["readable"], prune["repaired"]) == (1, 2, 0.5, 0.5)
    # Number 2 of the second order is option 1 of the first.
    assert (prune["recall"], prune["same"], prune["holds"]) == (0.5, 0.0, False)
    assert (judged["can"], judged["must"], judged["wrong"], judged["fell_back"]) == (1.0, 0.0, 0.0, 0.5)
    text = render([prune, judged])
    assert text.splitlines()[0].split()[:3] == ["role", "cases", "readable"]
    assert verdicts([prune, judged]) == [
        f"{MODEL}: good enough for: nothing; not for: tog2.relation_prune, kg_rag.reason"
    ]


def test_a_server_gets_all_calls_of_a_role_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    other = dataclasses.replace(PRUNE, id="tog2.relation_prune/q2/right1", question="q2")

    def reply(call: ServedCall) -> str:
        return '{"scores": [[2, 9]]}' if call.role == PRUNE.role else judge()

    with ModelServer(reply) as server:
        asked = ask(server, monkeypatch, cases=[JUDGED[0], PRUNE, JUDGED[1], other])
        roles = [call.role for call in server.calls]
    assert roles == ["kg_rag.reason"] * 2 + [PRUNE.role] * 4
    assert [one["id"] for one in asked] == [JUDGED[0].id, JUDGED[1].id, *[PRUNE.id] * 2, *[other.id] * 2]


def test_the_tokens_of_a_call_are_those_of_all_its_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    said = (("what?", 100, 5), (judge("Panama City"), 130, 20), (judge(), 90, 15))
    with ModelServer([Reply(text, input_tokens=read, output_tokens=wrote) for text, read, wrote in said]) as server:
        asked = ask(server, monkeypatch, cases=JUDGED)
    (row,) = rows_of(JUDGED, {MODEL: asked}, PromptLibrary())
    assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (2, (100 + 130 + 90) / 2, (5 + 20 + 15) / 2)


def test_a_small_model_is_shown_the_options_that_a_run_would_show(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [f"thing {number}" for number in range(1, 41)]
    labels[19] = "capital of Panama"
    options = "\n".join(f"[{number}] (Panama) -[{label}]-> x1" for number, label in enumerate(labels, start=1))
    many = dataclasses.replace(
        PRUNE, inputs={**PRUNE.inputs, "options": options}, shape={"options": 40}, order=tuple(range(40, 0, -1))
    )
    with ModelServer(['{"numbers": [1]}', '{"numbers": [10]}']) as server:
        asked = ask(server, monkeypatch, cases=[many], prompt_profile="small")
        prompts = [lines_of(call.text.partition("## Options")[2]) for call in server.calls]
    assert [len(lines) for lines in prompts] == [10, 10]
    assert sorted(prompts[0]) == sorted(prompts[1])
    assert "capital of Panama" in prompts[0][0], "the nearest to the question stands first"
    assert asked[0]["shown"][0] == 20
    assert asked[1]["shown"] == sorted(asked[0]["shown"], reverse=True)
    cut = next(number for number in range(1, 41) if number not in asked[0]["shown"])

    def recall(one: Asked, right: int) -> float:
        case = dataclasses.replace(many, right={"choices": [right]})
        return figures(case, "score", one["value"], one["shown"])["recall"]

    assert [recall(asked[0], 20), recall(asked[1], min(asked[1]["shown"]))] == [1.0, 1.0]
    assert [recall(one, cut) for one in asked] == [0.0, 0.0], "what the shortlist cuts is missed"


def test_where_the_encoder_chooses_no_model_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with ModelServer([judge("Panama City"), judge()]) as server:
        asked = ask(server, monkeypatch, tmp_path, pruning="encoder")
        assert len(server.calls) == 2, "the judging role alone"
    rows = rows_of(CASES, {MODEL: asked}, PromptLibrary())
    assert verdicts(rows) == [
        f"{MODEL}: good enough for: kg_rag.reason; not for: nothing; by the encoder: tog2.relation_prune"
    ]
    asked_itself = {**rows[0], "model": "openai:large", "encoder": False}
    assert f"# tog2.relation_prune: the encoder chooses for {MODEL}\n" in toml(rows)
    assert "relation_prune" not in toml([*rows, asked_itself]), "the first that holds by itself is the default"
    prune, _ = rows
    assert prune["holds"]
    assert (prune["calls"], prune["readable"], prune["recall"], prune["same"]) == (2, 1.0, 1.0, 1.0)
    assert (prune["input_tokens"], prune["seconds"]) == (0.0, 0.0)
    with ModelServer([]) as server:
        again = ask(server, monkeypatch, tmp_path, pruning="encoder")
    assert json.loads(json.dumps(again)) == json.loads(json.dumps(asked))


def test_the_encoder_chooses_for_a_small_model_where_a_run_of_its_method_lets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mapping = dataclasses.replace(
        PRUNE,
        id="fiske.r_mapping/q1",
        role="fiske.r_mapping",
        inputs={**PRUNE.inputs, "clues": "[1] capital"},
        order=(),
    )
    mapping = dataclasses.replace(mapping, shape={"options": 3, "clues": 1, "most": 1}, right={"choices": [[1, 2]]})
    with ModelServer([]) as server:
        (asked,) = ask(server, monkeypatch, cases=[mapping], prompt_profile="small")
    assert (asked["value"], asked["replies"]) == ([(1, 2)], [])


def test_a_stopped_bench_asks_only_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ['{"scores": [[2, 9]]}', '{"scores": [[3, 9]]}', judge("Panama City"), Fault(500, "gone")]
    with ModelServer(script) as server, pytest.raises(ModelError, match="gone"):
        ask(server, monkeypatch, tmp_path, call_retries=0)
    with ModelServer([judge()]) as server:
        asked = ask(server, monkeypatch, tmp_path, call_retries=0)
        assert len(server.calls) == 1
    assert [row["holds"] for row in rows_of(CASES, {MODEL: asked}, PromptLibrary())] == [True, True]
    file = tmp_path / "openai_test-model" / "kg_rag.reason.jsonl"
    assert len(file.read_text("utf-8").splitlines()) == 2
    with ModelServer([]) as server:
        # As cases that were saved come back.
        again = ask(server, monkeypatch, tmp_path, cases=CASES[::-1], call_retries=0)
    assert {one["id"]: one["replies"] for one in again} == {one["id"]: one["replies"] for one in asked}
    with ModelServer([judge()]) as server, pytest.raises(UsageError, match="holds other results"):
        ask(server, monkeypatch, tmp_path, shots=0)
    file.write_text('{"id": "other"}\n', "utf-8")
    with ModelServer([judge()]) as server, pytest.raises(UsageError, match="line 1: not a result"):
        ask(server, monkeypatch, tmp_path, call_retries=0)


def test_a_refused_call_is_a_fallback_and_the_bench_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Fault(400, "the prompt exceeds n_ctx"), judge()]) as server:
        asked = ask(server, monkeypatch, cases=JUDGED)
    assert "n_ctx" in asked[0]["error"]
    (row,) = rows_of(JUDGED, {MODEL: asked}, PromptLibrary())
    assert (row["fell_back"], row["can"], row["must"]) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize(("case", "reply"), [(JUDGED[0], "Panama City"), (JUDGED[1], "")])
def test_a_judge_holds_only_where_both_shares_were_measured(
    monkeypatch: pytest.MonkeyPatch, case: Case, reply: str
) -> None:
    with ModelServer([judge(reply) if reply else judge()]) as server:
        rows = rows_of([case], {MODEL: ask(server, monkeypatch, cases=[case])}, PromptLibrary())
    assert {rows[0]["can"], rows[0]["must"]} == {1.0, None}
    assert not rows[0]["holds"]
    said = "good enough for: nothing; not for: nothing; not measured on both can and must: kg_rag.reason"
    assert verdicts(rows) == [f"{MODEL}: {said}"]
    assert "kg_rag.reason: no model here holds" in toml(rows)


def checked_figures(
    monkeypatch: pytest.MonkeyPatch, case: Case, role: str, *replies: str, **settings: Any
) -> list[dict[str, float]]:
    cases = [dataclasses.replace(case, id=f"{role}/{number}", role=role) for number in range(len(replies))]
    with ModelServer(list(replies)) as server:
        asked = ask(server, monkeypatch, cases=cases, **settings)
        assert len(server.calls) == len(replies)
    kind = PromptLibrary().get(role).kind.name
    return [figures(one, kind, reply["value"]) for one, reply in zip(cases, asked, strict=True)]


def test_a_judge_is_measured_as_a_run_takes_its_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"can": 1.0, "wrong": 0.0}
    refused = {"can": 0.0, "wrong": 0.0}
    wrong = {"can": 0.0, "wrong": 1.0}
    first = JUDGED[0]
    # No line holds it; the question names it; it is another thing of the evidence, which nothing speaks against.
    replies = [judge(name) for name in ("Panama City", "Bogota", "Panama", "Colombia")]
    assert checked_figures(monkeypatch, first, "coggrag.reason", *replies) == [held, refused, refused, wrong]
    # A baseline doubts nothing that stands in the evidence.
    assert checked_figures(monkeypatch, first, "kg_rag.reason", *replies) == [held, refused, wrong, wrong]
    who = dataclasses.replace(
        first, inputs={**first.inputs, "question": "Which architect built it?"}, right=JUDGED[1].right
    )
    copied = {"must": 1.0, "wrong": 0.0}
    assert checked_figures(monkeypatch, who, "coggrag.reason", judge("Tomas Brede")) == [copied]


def test_an_answer_from_memory_has_no_lines_to_be_held_against(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"question": "What is the capital of Panama?", "task": ""}
    case = dataclasses.replace(JUDGED[0], id="recall.direct/q1", role="recall.direct", inputs=inputs, shape={})
    with ModelServer([judge("Panama City")]) as server:
        (one,) = ask(server, monkeypatch, cases=[case])
    assert (one["value"]["sufficient"], one["value"]["answers"]) == (True, ["Panama City"])


def test_a_verifier_is_measured_with_what_it_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def verified(answer: str, *, right: bool, **inputs: str) -> list[dict[str, float]]:
        inputs = {**JUDGED[0].inputs, "answer": answer, **inputs}
        case = dataclasses.replace(JUDGED[0], inputs=inputs, right={"right": right})
        replies = [json.dumps({"right": said}) for said in (True, False)]
        return checked_figures(monkeypatch, case, "coggrag.verify", *replies)

    wrong = {"must": 1.0, "wrong": 0.0}
    assert verified("Bogota", right=False) == verified("Panama", right=False) == [wrong, wrong]
    # The question names the relation that leads to it.
    assert verified("Panama City", right=True) == [{"can": 1.0, "wrong": 0.0}] * 2
    # What a text says is for the model to verify.
    told = {
        "question": "Which town was built first?",
        "evidence": "[1] text | Panama | Towns | Nata was the first, not Colon.",
    }
    assert verified("Colon", right=False, **told) == [{"must": 0.0, "wrong": 1.0}, wrong]


def test_the_first_model_that_holds_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"scores": [[2, 9]]}, {"scores": [[3, 9]]}
    replies: dict[str, Any] = {
        "openai:small": [*map(json.dumps, good), judge(), judge()],
        "openai:large": [*map(json.dumps, good), judge("Panama City"), judge()],
    }
    asked = {}
    for name, script in replies.items():
        with ModelServer(script) as server:
            asked[name] = ask(server, monkeypatch)
    rows = rows_of(CASES, asked, PromptLibrary())
    assert render(rows).splitlines()[0].split()[:2] == ["role", "model"]
    text = toml(rows)
    assert tomllib.loads(text) == {"model": {"default": "openai:large", "tog2.relation_prune": "openai:small"}}
    (tmp_path / "thinkgraph.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_config().get("model")["tog2.relation_prune"] == "openai:small"


def test_an_answer_may_have_words_around_it() -> None:
    assert is_right(["the Panama City", "Bogota"], ["Bogotá", "Panama City"], [])
    assert is_right(["Bogota and Panama City"], ["Bogota", "Panama City"], [])
    assert not is_right(["Panama City"], ["Bogota", "Panama City"], [])
    assert not is_right(["Bogota", "Lima"], ["Bogota"], [])
    assert is_right(["UK"], ["United Kingdom"], [["UK"]])
    assert not is_right([], ["Bogota"], [])


def generated(role: str, **right: Any) -> Case:
    return Case(
        id=role, role=role, question="q", type="", inputs={"question": "Who leads Panama?"}, shape={}, right=right
    )


def test_generated_words_are_covered_by_short_entries_only() -> None:
    clues = generated("fiske.extract_clues", names=["Panama"], words=["lead"])
    assert figures(clues, "keywords", ["Panama", "leads"]) == {"recall": 1.0}
    assert figures(clues, "keywords", ["Who is it that leads the country of Panama today?"]) == {"recall": 0.0}
    assert figures(clues, "keywords", None) == {"recall": 0.0}
    parts = generated("coggrag.decompose", names=["Panama"], words=[], least=2, most=2, refers=True)
    one = {"question": "What is Panama?", "open": False, "refers": []}
    assert figures(parts, "subquestions", [one, {**one, "refers": [1]}]) == {"recall": 1.0}
    assert figures(parts, "subquestions", [one]) == {"recall": pytest.approx(1 / 3)}


def test_a_clue_that_stands_there_twice_is_one_clue() -> None:
    inputs = {"clues": "[1] border\n[2] border", "options": "[1] (A) -[b]-> x1\n[2] (A) -[c]-> x1"}
    case = Case(
        id="m", role="fiske.r_mapping", question="q", type="", inputs=inputs, shape={}, right={"choices": [(1, 2)]}
    )
    assert figures(case, "pairs", [[2, 1]], (2, 1)) == {"recall": 1.0, "precision": 1.0}
    assert figures(case, "pairs", [], (2, 1)) == {"recall": 0.0}
