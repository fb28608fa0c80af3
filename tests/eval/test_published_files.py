"""Rows of the files that authors publish, in the container they publish them in, and the same files damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets import DATASETS, read_dataset
from thinkgraph.eval.questions import Question
from thinkgraph.eval.topics import TopicLinker
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.linking.linker import StandardLinker

ROWS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("published_rows.json").read_text("utf-8"))
"""By file: its data set, name, container and some rows (facts only; long fields that no reader reads are left out)."""
_OLYMPICS = (("Q5389",), ("Q285389",), ("Q82414",))
LAST_ROWS: dict[str, dict[str, Any]] = {
    "cwq-tog": {
        "answers": ("Belmont University",),
        "type": "composition",
        "topic": ("Country Nation World Tour", "Bachelor's degree"),
        "topic_ids": (("m.010qhfmm",), ("m.019v9k",)),
    },
    "cwq-tog-wikidata": {
        "topic": ("Country Nation World Tour", "Bachelor's degree"),
        "topic_ids": (("Q17004176", "m.010qhfmm"), ("Q163727", "m.019v9k")),
    },
    "webqsp-tog2": {
        "answers": ("English language",),
        "aliases": (("ISO 639:en", "The English language", "Jamaican Standard English"),),
        "topic_ids": (("Q766",),),
    },
    "webqsp-tog": {
        "id": "WebQTest-459",
        "answers": ("Kansas City",),
        "topic": ("Jovan Belcher",),
        "topic_ids": (("Q275279", "m.055d_1d"),),
    },
    "webqsp": {"answers": ("Kansas City",), "topic": ("Jovan Belcher",), "topic_ids": (("m.055d_1d",),)},
    "qald10-tog2": {"answers": ("+100",), "topic": ("water",), "topic_ids": (("Q283",),), "type": ""},
    "qald10": {"id": "7", "answers": ("yes",), "type": "yesno", "topic": ()},
    "qald9plus": {"answers": ("Buzz Aldrin", "Michael Collins (astronaut)", "Neil Armstrong")},
    "grailqa-tog": {
        "id": "2101960008000",
        "answers": ("The Illusion",),
        "topic_ids": (("m.0yrlqjm",),),
        "type": "i.i.d.",
    },
    "grailqa": {"topic": ("The Illusion",), "topic_ids": (("m.0yrlqjm",),)},
    "simpleqa-tog": {
        "question": "where is the madam satan located",
        "answers": ("United States of America",),
        "topic_ids": (("m.02qkg8m",),),
    },
    "webquestions-tog": {"answers": ("Karen Mulder",), "topic": ("Christian Grey",), "topic_ids": (("m.0nfjvrm",),)},
    "trex-tog": {
        "question": "Robert Budzynski: country of citizenship?",
        "answers": ("Poland",),
        "aliases": (("France",),),
        "compared": ("Poland",),
        "topic_ids": (("Q674936",),),
    },
    "zsre-tog2": {
        "question": "Over which river does Jennings Randolph Bridge cross?",
        "answers": ("Ohio River",),
        "topic": ("Jennings Randolph Bridge",),
        "topic_ids": (("Q6179056",),),
    },
    "creak-tog2": {"answers": ("false",), "type": "false", "topic": ("Soup",), "topic_ids": (("Q41415",),)},
    "creak": {"answers": ("false",), "topic": ("Soup",), "topic_ids": ()},
    "fever-tog2-entities": {
        "answers": ("SUPPORTS",),
        "topic": ("Austin Lee", "Chumlee"),
        "topic_ids": (("Q75853986",), ("Q13359766",)),
    },
    "fever": {"id": "50888", "answers": ("SUPPORTS",), "type": "supports", "topic": ()},
    "advhotpotqa-tog2": {"id": "5ab52a255542996a3a96a048", "answers": ("Sochi, Russia",), "topic": ()},
    "hotpotqa": {"answers": ("a spirit",), "type": "bridge", "topic": ("Lilu (mythology)",), "topic_ids": ()},
    "hotpotqa-coggrag": {"answers": ("yes",), "type": "comparison", "topic": ()},
    "2wiki": {"answers": ("Free Guy",), "type": "bridge_comparison", "topic": ("Forbidden Ground", "Free Guy")},
    "musique": {"answers": ("G. Stanley Hall",), "aliases": (("Stanley Hall",),), "type": "2hop", "compared": ()},
    "grbench": {"id": "0", "answers": ("1901-01-01",), "type": ""},
}
"""What the last row of each file says."""


def _published(folder: Path, key: str) -> Path:
    known = ROWS[key]
    rows, container = known["rows"], known["container"]
    path = folder / known["file"]
    if container == "lines":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        path.write_text(json.dumps(rows if container == "list" else {container: rows}, indent=1), "utf-8")
    return path


def _read(key: str, path: Path) -> list[Question]:
    return read_dataset(f"{ROWS[key]['dataset']}:{path}")[1]


@pytest.mark.parametrize("key", LAST_ROWS)
def test_what_authors_publish_is_read(tmp_path: Path, key: str) -> None:
    questions = _read(key, _published(tmp_path, key))
    assert len(questions) == len(ROWS[key]["rows"])
    found = {name: getattr(questions[-1], name) for name in LAST_ROWS[key]}
    assert found == LAST_ROWS[key]


def test_every_data_set_of_the_papers_has_a_published_file_here() -> None:
    # MetaQA and MOOC Q&A are no JSON; their rows, like those of one's own files, are in test_datasets.py.
    assert {known["dataset"] for known in ROWS.values()} - {""} == DATASETS.keys() - {"metaqa", "mooc", "jsonl"}


def test_the_docs_list_every_data_set_and_the_file_of_every_row_here() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text("utf-8")
    assert {name for name in DATASETS if f"`{name}:" not in page} == set()
    # Names with a date or a split in braces are written as the authors' pages write them.
    files = {known["file"] for key, known in ROWS.items() if "tog" in key}
    assert {file for file in files if file not in page} == set()


@pytest.mark.parametrize("key", LAST_ROWS)
def test_a_published_file_that_is_cut_off_is_one_line(tmp_path: Path, key: str) -> None:
    path = _published(tmp_path, key)
    text = path.read_text("utf-8").rstrip()
    path.write_text(text[: len(text) - 5], "utf-8")
    with pytest.raises(UsageError, match="is the file cut off") as raised:
        _read(key, path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("key", LAST_ROWS)
def test_an_unknown_form_is_one_line_with_its_fields_and_the_known_ones(tmp_path: Path, key: str) -> None:
    known = ROWS[key]
    path = tmp_path / "other.json"
    path.write_text(json.dumps([{"prompt": "Who?", "gold": "Ann"}]), "utf-8")
    with pytest.raises(
        UsageError, match=r"item 1: no known form of .* it has the fields gold, prompt, and must have "
    ) as raised:
        _read(key, path)
    must = str(raised.value).partition(" must have ")[2]
    assert any(f"{field} and " in must for field in known["rows"][0])
    assert "\n" not in str(raised.value)


def test_entities_that_are_published_beside_the_questions_are_their_topics(tmp_path: Path) -> None:
    path = _published(tmp_path, "advhotpotqa-tog2")
    beside = _published(tmp_path, "advhotpotqa-entities")
    (found,) = _read("advhotpotqa-tog2", path)
    assert found.topic == ("Olympic Games", "World Figure Skating Championships", "Winter Olympic Games")
    assert found.topic_ids == _OLYMPICS
    beside.write_text("[{", "utf-8")
    with pytest.raises(UsageError, match=r"hotpotadv_entities_azure\.json: not whole JSON"):
        _read("advhotpotqa-tog2", path)


@pytest.mark.parametrize("key", [key for key, told in LAST_ROWS.items() if told.get("topic") or told.get("topic_ids")])
def test_the_topics_that_a_file_gives_are_what_its_questions_are_linked_to(tmp_path: Path, key: str) -> None:
    questions = _read(key, _published(tmp_path, key))
    asked = questions[-1]
    ids = [keys[-1] for keys in asked.topic_ids] or list(asked.topic)
    # Known by ids alone, where the file gives them: the graph calls its entities otherwise.
    labels = {one: f"thing {place}" for place, one in enumerate(ids)} if asked.topic_ids else {}
    graph = MemoryGraphStore([(one, "is", "known") for one in ids], labels=labels)
    (links,) = TopicLinker(questions, graph, StandardLinker(graph)).link([asked.question])
    assert [link["entity"]["id"] for link in links] == ids
