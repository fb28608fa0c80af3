"""`thinkgraph export training`: what it writes can be learnt from, and nothing of the test is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Run
from langchain_core.messages import BaseMessage
from pydantic import Field
from training.chat import towns

import thinkgraph as tg
from thinkgraph.eval.bench_setup import known_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import read_questions
from thinkgraph.ingest.build import build_kb
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.parsed import kind_asked, parse_prompt
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.training.chat import export as exporting
from thinkgraph.training.chat.split import about

pytestmark = pytest.mark.xdist_group("export_training")
"""The export is made once, by one worker."""
MADE = ("--generate", "20", "--topic", "Oskow Town", "--methods", "tog2,fiske,coggrag", "--test", "0.2")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("towns")
    build_kb(folder / "kb", triples=[towns.write_rows(folder / "rows.tsv")])
    return str(folder / "kb")


@pytest.fixture(scope="module")
def made(kb: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export that nothing disturbed."""
    from thinkgraph.cli.main import main

    out = tmp_path_factory.mktemp("made") / "data"
    assert main(["export", "training", str(out), "--kb", kb, *MADE]) == 0
    return out


def records(out: Path, part: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    for file in sorted((out / part).iterdir()):
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            assert list(row) == ["messages"]
            yield file.stem, row["messages"]


def shape_of(messages: list[dict[str, str]]) -> Shape:
    """The bounds of a reply, from what its prompt shows."""
    asked = parse_prompt(messages[0]["content"], messages[-2]["content"])
    counts = {name: len(asked.lines(name)) for name in ("options", "evidence", "clues", "questions")}
    fields = tuple(name for name in ("clues", "query") if f'"{name}": "..."' in messages[0]["content"])
    steers = ("scores",) if '"scores"' in messages[0]["content"] and '"sufficient"' in messages[0]["content"] else ()
    return Shape(**counts, fields=(*fields, *steers))


def test_every_reply_is_read_by_its_prompts_own_reader(made: Path) -> None:
    library, seen = PromptLibrary(), set()
    for role, messages in [*records(made, "train"), *records(made, "test")]:
        kind = library.get(role).kind
        who = [message["role"] for message in messages]
        assert who == ["system", *["user", "assistant"] * (len(who) // 2)]
        assert kind_asked(messages[0]["content"]) in {kind.name, "pick"}  # the best options are picked
        reply, shape = messages[-1]["content"], shape_of(messages)
        own = {"ranked": '"numbers"' in messages[0]["content"], "nearest": (1,) * shape.options}
        value = kind.parse(reply, Shape(**{**vars(shape), **own}))
        said = json.loads(reply)
        if kind.name == "judge":
            assert value["sufficient"] == bool(value["answers"]) == said["sufficient"]
            assert value["evidence"] == said["evidence"], "a line is cited that is not shown"
            shown = messages[-2]["content"]
            assert all(answer in shown or answer.isdigit() for answer in value["answers"])
        if kind.name in {"pick", "score", "pairs"}:
            listed = next(iter(said.values()))
            assert len(value) == len(listed), "a number is out of range"
        seen.add(role)
    assert {"tog2.reason", "tog2.relation_prune", "fiske.conclude", "fiske.r_mapping", "coggrag.verify"} <= seen


class Watched(PerfectChooser):
    """A perfect chooser that keeps what it is sent."""

    sent: list[str] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.sent.append(json.dumps([str(message.text) for message in messages]))
        return super()._generate(messages, *args, **kwargs)


def test_messages_are_what_a_run_sends(made: Path, kb: str) -> None:
    exported = {json.dumps([one["content"] for one in messages[:-1]]) for _, messages in records(made, "train")}
    with Knowledge.open(kb) as knowledge:
        asked = [one for one in read_questions(made / "questions" / "train.jsonl") if one.type == "1hop"][:3]
        golds = known_golds(asked, knowledge)
        model = Watched({one.question: golds[one.id] for one in asked})
        graph = tg.build("coggrag", knowledge=knowledge, model=model, settings={"prompt_profile": "small"})
        for one in asked:
            graph.invoke({"question": one.question})
    assert len(model.sent) > len(asked)
    sent = {one for one in model.sent if "led nowhere" not in one}
    # Some are left out: their right reply is not known, or others of the role are enough.
    assert len(sent & exported) > len(sent) / 2


def test_nothing_of_the_test_is_learnt_from(made: Path, kb: str) -> None:
    train, test = (read_questions(made / "questions" / f"{part}.jsonl") for part in ("train", "test"))
    assert len(test) == 4
    with Knowledge.open(kb) as knowledge:
        golds = known_golds([*train, *test], knowledge)
    tested = frozenset().union(*(about(question, golds[question.id]) for question in test))
    assert tested
    assert not any(tested & about(question, golds[question.id]) for question in train)
    prompts = [json.dumps(messages[:-1]) for part in ("train", "test") for _, messages in records(made, part)]
    assert len(set(prompts)) == len(prompts)
    card = (made / "README.md").read_text("utf-8")
    assert f"{20 - len(train) - len(test)} questions were dropped for that" in card


def test_the_card_counts_what_is_there(made: Path) -> None:
    card = (made / "README.md").read_text("utf-8")
    rows = {
        cells[0]: dict(zip(("train", "test", "right", "noisy", "cut", "none", "shuffled", "unanswerable"), map(int, cells[1:]), strict=True))
        for line in card.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 9 and cells[1].isdigit()
    }  # fmt: skip
    found = {part: [role for role, _ in records(made, part)] for part in ("train", "test")}
    for role, counts in rows.items():
        assert {part: counts.pop(part) for part in ("train", "test")} == {p: found[p].count(role) for p in found}
        assert sum(counts.values()) == found["train"].count(role)
    assert rows["tog2.reason"]["noisy"]
    assert rows["tog2.reason"]["cut"]
    assert rows["tog2.relation_prune"]["shuffled"]
    assert rows["coggrag.verify"]["none"]
    assert "thinkgraph export training data --kb kb --generate 20" in card


def test_a_killed_export_goes_on(
    made: Path, kb: str, tmp_path: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, kept = tmp_path / "data", []
    keep = exporting._Work.keep

    def twice(self: Any, name: str, questions: Any) -> None:
        if len(kept) == 2:
            raise KeyboardInterrupt
        keep(self, name, questions)
        kept.append(name)

    monkeypatch.setattr(exporting, "_AT_A_TIME", 5)
    monkeypatch.setattr(exporting._Work, "keep", twice)
    assert cli("export", "training", str(out), "--kb", kb, *MADE).code == 130
    assert not out.exists()
    kept.append("begun")
    assert cli("export", "training", str(out), "--kb", kb, *MADE).code == 0
    assert sorted(set(kept[:2]) & set(kept[3:])) == []  # what was finished is not made again
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "questions", "test", "train"]
    assert not list(tmp_path.glob(".*"))
    for part in ("train", "test"):
        same = (made / "questions" / f"{part}.jsonl").read_text("utf-8")
        assert (out / "questions" / f"{part}.jsonl").read_text("utf-8") == same


def test_questions_of_a_file(kb: str, tmp_path: Path, cli: Run) -> None:
    rows = [
        {"id": "a\ud83d", "question": "Who is mayor of Oskow Town\ud83d?", "answers": ["Ida Oskow"], "gold_path": [["Oskow Town", "mayor"]]},
        {"id": "b", "question": "Who is mayor of Varnow Town?", "answers": ["Ida Varnow"], "gold_path": [["Varnow Town", "mayor"]]},
        {"id": "c", "question": "Who painted Lindow Town?", "answers": []},
        {"id": "d", "question": "Who is mayor of Lindow Town?", "answers": ["Nobody"], "gold_path": [["Lindow Town", "mayor"]]},
    ]  # fmt: skip
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    mine = tmp_path / "mine"
    (mine / "tog2").mkdir(parents=True)
    known = Path(__file__).parents[3] / "thinkgraph" / "prompts" / "tog2" / "steer.prompt"
    (mine / "tog2" / "steer.prompt").write_bytes(known.read_bytes())
    words = (
        "--kb",
        kb,
        "--data",
        str(file),
        "--methods",
        "tog2,kg_rag",
        "--test",
        "0",
        "--json",
        "--prompts",
        str(mine),
    )
    done = cli(
        "export", "training", str(tmp_path / "data"), *words, "--set", "shots=0", "--set", "prompt_profile=standard"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert "--prompts mine --data q.jsonl" in report["command"]
    # The graph says otherwise of one.
    assert (report["unfit"], report["questions"], report["test"]) == (1, {"train ": 3}, 0)
    assert any(key.endswith("unanswerable") for key in report["counts"])
    for role, messages in records(tmp_path / "data", "train"):
        assert len(messages) == 3, "no worked example was asked for"
        assert role.startswith(("tog2.", "kg_rag."))
    again = cli("export", "training", str(tmp_path / "data"), *words)
    assert "add --replace" in again.line


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["out"], 2, "one of the arguments --data --generate is required"),
        (["out", "--data", "world", "--generate", "3"], 2, "not allowed with"),
        (["out", "--generate", "0"], 2, "--generate must be from 1 to 100000"),
        (["out", "--generate", "3", "--test", "1"], 2, "--test must be at least 0 and less than 1"),
        (["out", "--generate", "3", "--methods", "cot"], 2, "'cot' has no calls of its own"),
        (["out", "--generate", "3", "--topic", "Atlantis"], 2, "none of --topic Atlantis"),
        (["out", "--generate", "3", "--limit", "2"], 2, "--limit belongs to --data"),
        (["out", "--data", "none.jsonl"], 2, "none.jsonl: cannot be read"),
        (["out", "--data", "world", "--model", "openai:x"], 2, "--topic and --model belong to --generate"),
        (["out", "--data", "world", "--methods", "tog2"], 2, "no question here has a gold path that leads to its answers"),
        (["out", "--generate", "3", "--set", "shots=-1"], 2, "shots"),
        (["out", "--generate", "3", "--topic", "Oskow Town", "--model", "openai:x:y z"], 4, ""),
        (["file", "--generate", "3", "--topic", "Oskow Town"], 3, "is a file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    kb: str,
    tmp_path: Path,
    cli: Run,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "file").write_text("", "utf-8")
    done = cli("export", "training", *words, "--kb", kb)
    assert (done.code, said in done.line) == (code, True), done.err
    assert not (tmp_path / "out").exists()
    assert not [path for path in tmp_path.glob(".*") if path.is_dir()]


def test_a_graph_of_few_paths_says_so(tmp_path: Path, cli: Run) -> None:
    (tmp_path / "rows.tsv").write_text("Osk\tmayor\tIda Holm\nVarn\tmayor\tBo Lind\n", "utf-8")
    build_kb(tmp_path / "kb", triples=[tmp_path / "rows.tsv"])
    words = ("--generate", "30", "--topic", "Osk", "--topic", "Varn", "--methods", "fiske", "--test", "0")
    done = cli("export", "training", str(tmp_path / "out"), "--kb", str(tmp_path / "kb"), *words)
    assert done.code == 0, done.err
    assert "make only 4 questions" in done.err
