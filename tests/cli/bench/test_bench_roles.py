"""`bench roles` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Run

CASE = {
    "id": "fiske.extract_clues/q1/right1",
    "role": "fiske.extract_clues",
    "question": "q1",
    "type": "1hop",
    "inputs": {"question": "What is the capital of Panama?"},
    "shape": {},
    "right": {"names": ["Panama"], "words": ["capital"]},
    "order": [],
}


@pytest.fixture
def cases(tmp_path: Path) -> str:
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASE) + "\n", "utf-8")
    return str(tmp_path / "cases.jsonl")


def test_saved_cases_are_put_to_several_models(cli: Run, tmp_path: Path, cases: str) -> None:
    words = ["bench", "roles", "--cases-from", cases, "--roles", "fiske.extract_clues", "--model", "offline"]
    out = cli(*words, "--out", str(tmp_path / "out"), "--toml", str(tmp_path / "t.toml"))
    assert out.code == 0, out.err
    assert "good enough for: fiske.extract_clues; not for: nothing" in out.out
    assert out.out.startswith((tmp_path / "out" / "table.txt").read_text("utf-8").splitlines()[0])
    assert 'default = "offline"' in (tmp_path / "t.toml").read_text("utf-8")
    (row,) = json.loads(cli(*words, "--json").out)["rows"]
    assert (row["recall"], row["readable"], row["cases"]) == (1.0, 1.0, 1)
    assert "fewer cases than the 20 asked for: fiske.extract_clues has 1\n" in out.err
    both = ["--roles", "fiske.extract_clues,tog2.reason", "--cases", "1"]
    assert "fewer cases than the 1 asked for: tog2.reason has 0\n" in cli(*words, *both).err


def test_a_configuration_is_written_only_where_it_may_be(cli: Run, tmp_path: Path, cases: str) -> None:
    file = tmp_path / "out" / "thinkgraph.toml"
    words = ["bench", "roles", "--cases-from", cases, "--roles", "fiske.extract_clues", "--toml"]
    for model in ("offline", "offline,perfect"):
        assert cli(*words, str(file), "--out", str(file.parent), "--model", model).code == 0
        assert file.read_text("utf-8").endswith('[model]\ndefault = "offline"\n')
    file.write_text('[model]\ndefault = "mine"\n', "utf-8")
    for place, model, said in (
        (file, "offline", "holds a configuration of your own"),
        (tmp_path / "none" / "t.toml", "offline", "there is no folder"),
        (tmp_path, "offline", "is a folder"),
        (tmp_path / "t.toml", "perfect,perfect:0.1", "a perfect chooser is none"),
    ):
        out = cli(*words, str(place), "--model", model)
        assert (out.code, out.out) == (2, "")
        assert said in out.line
        assert " of 1 role" not in out.err, "nothing was asked"
    assert "mine" in file.read_text("utf-8")


def test_cases_are_made_of_a_knowledge_base_of_ones_own(cli: Run, tmp_path: Path, kb: str) -> None:
    capitals = {"Panama": "Panama City", "Colombia": "Bogota", "Costa Rica": "San Jose"}
    rows = [
        {
            "id": country,
            "question": f"What is the capital of {country}?",
            "answers": [city],
            "topic": [country],
            "gold_path": [[country, "capital"]],
        }
        for country, city in capitals.items()
    ]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    saved = tmp_path / "cases.jsonl"
    out = cli(
        *("bench", "roles", "--kb", kb, "--data", str(tmp_path / "gold.jsonl"), "--model", "perfect", "--cases", "2"),
        *("--roles", "tog2.relation_prune,fiske.extract_clues,coggrag.reason"),
        *("--save-cases", str(saved), "--json"),
    )
    assert out.code == 0, out.err
    found = {row["role"]: row for row in json.loads(out.out)["rows"]}
    assert {role: row["cases"] for role, row in found.items()} == dict.fromkeys(found, 2)
    assert len(found) == 3
    assert all(row["holds"] for row in found.values())
    prunes = [case for case in map(json.loads, saved.read_text("utf-8").splitlines()) if "choices" in case["right"]]
    for case in prunes:
        (number,) = case["right"]["choices"]
        assert f"[{number}] ({case['question']}) -[capital]-> x1" in case["inputs"]["options"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--roles", "tog2.nothing"], "'tog2.nothing' is no role that can be measured; these can:"),
        (["--roles", ","], "--roles ',' names none"),
        (["--roles", "fasttog.community_text"], "is no role that can be measured"),
        (["--roles", "kg_rag.reason,tog2.precheck"], "'tog2.precheck' is no role that can be measured"),
        (["--cases", "0"], "--cases must be at least 1"),
        (["--model", "gpt"], "must be named provider:name"),
        (["--cases-from", "/nowhere.jsonl"], "cannot be read"),
        (["--set", "nothing=1"], "nothing"),
        (["--half", "quarter"], "invalid choice"),
    ],
)
def test_bad_flags_are_one_line(cli: Run, words: list[str], said: str) -> None:
    out = cli("bench", "roles", *words)
    assert out.code == 2
    assert said in out.err
    assert len(out.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--data", "nofile.jsonl"),
        ("--model", "openai:ghost"),
        ("--set", "shots=0"),
        ("--limit", "3"),
        ("--sensitivity",),
    ],
)
def test_a_flag_before_roles_is_refused(cli: Run, words: tuple[str, ...]) -> None:
    out = cli("bench", *words, "roles", "--cases", "1")
    assert out.code == 2
    assert f"{words[0]} is a flag of a bench of questions: name those of 'roles' after it" in out.line


def test_a_bench_without_data_says_so(cli: Run) -> None:
    out = cli("bench", "--methods", "tog2")
    assert (out.code, "--data DATA" in out.err) == (2, True)
