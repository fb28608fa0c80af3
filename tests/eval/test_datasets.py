"""Each published file format is read as it is; a wrong or half file names its place and field."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeModel

from thinkgraph.errors import UsageError
from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.datasets import DATASETS, read_dataset
from thinkgraph.eval.questions import Question
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

METAQA = "who directed the films of [Ann Lee]\tBo Ray|Cy Orr\tactor_to_movie_to_director\t1\n"
WEBQSP = {
    "Questions": [
        {
            "QuestionId": "WebQTest-1",
            "RawQuestion": "what is spoken in atlantis?",
            "Parses": [
                {
                    "TopicEntityName": "Atlantis",
                    "Answers": [
                        {"AnswerType": "Entity", "AnswerArgument": "m.1", "EntityName": "Atlantean"},
                        {"AnswerType": "Value", "AnswerArgument": "1999", "EntityName": None},
                    ],
                },
                {"TopicEntityName": "Atlantis", "Answers": []},
            ],
        }
    ]
}
CWQ = [
    {
        "ID": "WebQTest-1_a",
        "question": "Which tongue of Atlantis is dead?",
        "compositionality_type": "conjunction",
        "answers": [{"answer_id": "m.1", "answer": "Atlantean", "aliases": ["Old Atlantean"]}],
    }
]
WIKIDATA = "http://www.wikidata.org/entity/"
QALD = {
    "questions": [
        {
            "id": "7",
            "question": [{"language": "de", "string": "Wer?"}, {"language": "en", "string": "Who rules?"}],
            "answers": [{"results": {"bindings": [{"result": {"type": "uri", "value": f"{WIKIDATA}Q42"}}]}}],
        },
        {
            "id": 8,
            "question": [{"language": "en", "string": "Does it rain?"}],
            "answers": [{"head": {}, "boolean": False}],
        },
        {"id": 9, "question": [{"language": "ru", "string": "Кто?"}], "answers": []},
    ]
}
KILT = {
    "id": "k1",
    "input": "Ann Lee [SEP] date of birth",
    "output": [{"answer": "3 May 1900"}, {"answer": "1900"}, {"provenance": []}],
    "meta": {"template_questions": ["When was Ann Lee born?", "Ann Lee's birthday?"]},
}
HOTPOT = {
    "_id": "h1",
    "question": "Who is older, Ann or Bo?",
    "answer": "Ann",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": [["Ann (singer)", 0], ["Bo", 1], ["Rome", 3], ["Ann (singer)", 2]],
}
MUSIQUE = {"id": "2hop__1_2", "question": "Where?", "answer": "Rome", "answer_aliases": ["Roma"], "answerable": True}
GRBENCH = {"qid": "3", "question": "How many?", "answer": 12, "level": "easy"}


def _file(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    if isinstance(content, str):
        path.write_text(content, "utf-8")
    elif name.endswith("l"):
        path.write_text("".join(json.dumps(row) + "\n" for row in [content]), "utf-8")
    else:
        path.write_text(json.dumps(content), "utf-8")
    return path


def _read(name: str, path: Path) -> list[Question]:
    dataset, questions = read_dataset(f"{name}:{path}")
    assert dataset.name == name
    return questions


def test_metaqa(tmp_path: Path) -> None:
    (found,) = _read("metaqa", _file(tmp_path, "qa_dev.txt", METAQA + METAQA.replace("\t1\n", "\t0\n")))
    assert found.question == "who directed the films of Ann Lee?"
    assert found.answers == ("Bo Ray", "Cy Orr")
    assert found.topic == ("Ann Lee",)
    assert found.type == "2hop"
    assert found.gold_path == (("Ann Lee", "-starred_actors"), ("*", "directed_by", "new"))


def test_metaqa_as_published_has_its_types_in_a_file_beside_it(tmp_path: Path) -> None:
    path = _file(tmp_path, "qa_dev.txt", "what year is [Jaws] from\t1975\n")
    assert _read("metaqa", path)[0].gold_path == ()
    _file(tmp_path, "qa_dev_qtype.txt", "movie_to_year\n")
    assert _read("metaqa", path)[0].gold_path == (("Jaws", "release_year"),)
    # As it is unpacked: 1-hop/qa_dev_qtype.txt for 1-hop/vanilla/qa_dev.txt.
    (tmp_path / "vanilla").mkdir()
    path = _file(tmp_path / "vanilla", "qa_dev.txt", "what year is [Jaws] from\t1975\n")
    assert _read("metaqa", path)[0].gold_path == (("Jaws", "release_year"),)
    _file(tmp_path, "qa_dev_qtype.txt", "movie_to_year\nmovie_to_year\n")
    with pytest.raises(UsageError, match=r"qtype\.txt: has 2 types for the 1 questions of qa_dev\.txt"):
        _read("metaqa", path)


# The row that FiSKE's code shows.
MOOC = "王大亮是否开了病理学这门课？\t[T_王大亮]是否开了[C_course-v1:TsinghuaX+20190222+2019_T1]这门课？\t老师_课程\t是\tNone\tB\n"


def test_mooc(tmp_path: Path) -> None:
    ill = (
        MOOC.replace("病理学", "病理").replace("[T_王大亮]是", "[T_王大亮] 是").replace("\t是\tNone", "\tNone\t病理学")
    )
    found, other = _read("mooc", _file(tmp_path, "multi_hop.txt", MOOC + ill))
    assert (found.id, found.question, found.type) == ("multi_hop-1", "王大亮是否开了病理学这门课？", "B")
    assert (found.answers, found.aliases) == (("yes",), (("是", "true"),))
    assert found.topic == ("王大亮", "病理学")
    assert found.topic_ids == (("T_王大亮",), ("C_course-v1:TsinghuaX+20190222+2019_T1",))
    assert (other.answers, other.aliases) == (("病理学",), ())
    assert other.topic == ("王大亮", "course-v1:TsinghuaX+20190222+2019_T1"), "the two wordings do not fit"


def test_a_bench_counts_true_and_false_as_moocs_yes_and_no(tmp_path: Path) -> None:
    denied = MOOC.replace("病理学", "解剖学").replace("\t是\t", "\t否\t")
    questions = _read("mooc", _file(tmp_path, "bool.txt", MOOC + denied))

    def judge(prompt: ParsedPrompt) -> Any:
        shown = [item for item in prompt.lines("evidence") if "病理学" in item.text]
        holds = bool(shown) and "病理学" in prompt.text("question")
        return {"sufficient": True, "answers": [str(holds).lower()], "evidence": [1]}

    knowledge = Knowledge(graph=MemoryGraphStore([("王大亮", "老师_课程", "病理学"), ("解剖学", "院系", "医学院")]))
    model = FakeModel({"kg_rag.reason": judge})
    plan = BenchPlan(questions, knowledge, {"kg_rag": {"task": "truth"}}, model)
    results = run_bench(plan)
    assert [result["answer"]["answers"] for result in results] == [["true"], ["false"]]
    assert [result["scores"]["em"] for result in results] == [1.0, 1.0]
    assert [result["em_contains"] for result in results] == [1.0, 1.0]
    model = FakeModel({"kg_rag.reason": {"sufficient": True, "answers": ["false"], "evidence": [1]}})
    wrong, right = run_bench(replace(plan, model=model))
    assert (wrong["scores"]["wrong"], right["scores"]["hits1"]) == (1.0, 1.0)


def test_webqsp(tmp_path: Path) -> None:
    (found,) = _read("webqsp", _file(tmp_path, "WebQSP.test.json", WEBQSP))
    assert (found.id, found.answers, found.topic) == ("WebQTest-1", ("Atlantean", "1999"), ("Atlantis",))


def test_cwq(tmp_path: Path) -> None:
    (found,) = _read("cwq", _file(tmp_path, "dev.json", CWQ))
    assert (found.answers, found.aliases, found.type) == (("Atlantean",), (("Old Atlantean",),), "conjunction")


@pytest.mark.parametrize("name", ["qald9plus", "qald10"])
def test_qald(tmp_path: Path, name: str) -> None:
    who, rain = _read(name, _file(tmp_path, "qald.json", QALD))
    assert who.question == "Who rules?"
    assert who.answers == ("Q42",)
    assert f"{WIKIDATA}Q42" in who.aliases[0]
    assert (rain.id, rain.answers, rain.type) == ("8", ("no",), "yesno")


@pytest.mark.parametrize("name", ["zsre", "trex"])
def test_kilt(tmp_path: Path, name: str) -> None:
    (found,) = _read(name, _file(tmp_path, "kilt.jsonl", KILT))
    assert (found.question, found.topic) == ("When was Ann Lee born?", ("Ann Lee",))
    assert (found.answers, found.aliases) == (("3 May 1900",), (("1900",),))
    (bare,) = _read(name, _file(tmp_path, "kilt.jsonl", {**KILT, "meta": {}}))
    assert bare.question == "Ann Lee: date of birth?"


@pytest.mark.parametrize(("name", "content"), [("dev.json", [HOTPOT]), ("dev.jsonl", HOTPOT)])
@pytest.mark.parametrize("dataset", ["hotpotqa", "advhotpotqa"])
def test_hotpotqa(tmp_path: Path, dataset: str, name: str, content: Any) -> None:
    (found,) = _read(dataset, _file(tmp_path, name, content))
    assert (found.id, found.answers, found.type, found.topic) == ("h1", ("Ann",), "comparison", ("Ann (singer)", "Bo"))


@pytest.mark.parametrize("title", ["An", "Old", "!!!"])
def test_a_title_within_a_word_of_the_question_is_no_topic(tmp_path: Path, title: str) -> None:
    (found,) = _read("hotpotqa", _file(tmp_path, "dev.jsonl", {**HOTPOT, "supporting_facts": [["Bo", 0], [title, 1]]}))
    assert found.topic == ("Bo",)


def test_musique(tmp_path: Path) -> None:
    (found,) = _read("musique", _file(tmp_path, "dev.jsonl", MUSIQUE))
    assert (found.type, found.answers, found.aliases) == ("2hop", ("Rome",), (("Roma",),))


def test_musique_full_has_every_question_twice_under_one_id(tmp_path: Path) -> None:
    pair = "".join(json.dumps({**MUSIQUE, "answerable": known}) + "\n" for known in (True, False))
    known, unknown = _read("musique", _file(tmp_path, "full.jsonl", pair))
    assert (known.id, known.type, known.answers) == ("2hop__1_2", "2hop", ("Rome",))
    assert (unknown.id, unknown.type, unknown.answers) == ("2hop__1_2-unanswerable", "2hop-unanswerable", ())


def test_fever_and_creak_are_statements_with_labels(tmp_path: Path) -> None:
    fever = _file(tmp_path, "f.jsonl", {"id": 5, "claim": "It rains.", "label": "refutes"})
    creak = _file(tmp_path, "c.jsonl", {"ex_id": "t1", "sentence": "It rains.", "label": "true", "entity": "Rain"})
    assert _read("fever", fever)[0].answers == ("REFUTES",)
    assert _read("creak", creak)[0].answers == ("true",)
    assert (DATASETS["fever"].style, DATASETS["creak"].style) == ("fact", "truth")


def test_grbench(tmp_path: Path) -> None:
    (found,) = _read("grbench", _file(tmp_path, "data.jsonl", GRBENCH))
    assert (found.answers, found.type) == (("12",), "easy")
    (several,) = _read("grbench", _file(tmp_path, "data.json", [{**GRBENCH, "answer": ["a", "b"]}]))
    assert several.answers == ("a", "b")


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "fever.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"id": 1, "claim": "x", "label": "SUPPORTS"}).encode()))
    assert len(_read("fever", path)) == 1
    packed = path.read_bytes()
    for damaged in (packed[:-9], packed[:10] + bytes(255 - byte for byte in packed[10:20]) + packed[20:], b"plain"):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match="damaged gzip"):
            _read("fever", path)


def test_a_plain_file_may_be_packed_or_marked_too(tmp_path: Path) -> None:
    row = b'{"id": "a", "question": "b?", "answers": ["c"]}\r\n'
    for name, content in (("own.jsonl", b"\xef\xbb\xbf" + row), ("own.jsonl.gz", gzip.compress(row))):
        path = tmp_path / name
        path.write_bytes(content)
        assert read_dataset(str(path))[1][0].answers == ("c",)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(path.parent))
            assert read_dataset(f"~/{path.name}")[1][0].answers == ("c",)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("content", ['{"id": "a", "question": "b?", "answers": ["c"]}', '[{"id": "a"}]'])
def test_two_bytes_a_letter_are_told_as_such(tmp_path: Path, content: str, encoding: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(content.encode(encoding))
    with pytest.raises(UsageError, match="it holds NUL characters, as UTF-16 does: convert it"):
        _read("jsonl", path)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", ["cwq", "fever", "jsonl"])
@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a": ' + b"9" * 5_000 + b"}", b"\n\xff\xfe"]
)
def test_what_no_parser_takes_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"not (a whole JSON object|whole JSON|UTF-8 text)") as raised:
        _read(name, path)
    assert len(str(raised.value)) < 400
    assert content[:1] != b"\n" or ", line 2: not UTF-8 text" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("metaqa", "no topic here\tx\n", r"line 1: the question names no \[topic\]"),
        ("metaqa", "who is [A]\n", "line 1: must be a question and its answers"),
        ("mooc", MOOC[:30], r"line 1: must be a question, the same with \[ids\]"),
        ("mooc", MOOC.replace("\t是", "\t"), "line 1: there is no answer in the fourth or fifth column"),
        ("metaqa", "who is [A]\tx\tactor_to_planet\n", '"actor_to_planet" is no path type'),
        (
            "webqsp",
            '{"Questions": [{"QuestionId": "a", "RawQuestion": "b"}]}',
            "the fields QuestionId, RawQuestion, and must have RawQuestion and Parses or",
        ),
        ("webqsp", '{"Questions": []}', "holds no questions"),
        (
            "webqsp",
            '{"id": "a", "question": "b", "answers": ["two", "answers"]}',
            "the fields answers, id, question, and must have .* or question and answers and qid_topic_entity",
        ),
        (
            "cwq",
            '[{"ID": "a", "question": "b", "answers": [{}]}]',
            'item 1, answers 1: field "AnswerArgument" is missing',
        ),
        ("cwq", '[{"ID": "a"', "not whole JSON"),
        ("qald10", '{"questions": [{"id": "a"}]}', "item 1: no known form of QALD-10: it has the fields id, and must"),
        ("zsre", '{"id": "a", "input": "no sep", "output": []}\n', r'field "input" must be "subject \[SEP\]'),
        ("zsre", '{"id": "a", "input": "a [SEP] b", "output": [{}]}\n', 'field "output" holds no answer'),
        ("hotpotqa", '{"_id": "a", "question": "", "answer": "c"}\n', 'field "question" must be a text'),
        ("musique", '{"id": "a", "question": "b"}\n', "must have question and answer"),
        ("musique", '{"id": "a", "question": "b", "answer": "c", "answerable": 1}\n', 'field "answerable" must be'),
        ("fever", '{"id": 1, "claim": "x", "label": "MAYBE"}\n', 'line 1: field "label" must be one of'),
        ("fever", '{"id": 1, "claim": "x", "lab', "line 1: not a whole JSON object"),
        (
            "fever",
            '{"id":1,"claim":"x","label":"SUPPORTS"}\n' * 2,
            'line 2: the id "1" stands there twice, first at line 1',
        ),
        ("metaqa", "who is [A]\t|\n", "line 1: must be a question and its answers"),
        ("metaqa", "who is [ ]\tx\n", r"line 1: the question names no \[topic\]"),
        (
            "hotpotqa",
            '{"_id": "a", "question": "b", "answer": "c", "supporting_facts": 5}\n',
            'line 1: field "supporting_facts" must be a list',
        ),
        (
            "hotpotqa",
            '{"_id": "a", "question": "b", "answer": "c", "supporting_facts": {"title": 5}}\n',
            'line 1, supporting_facts: field "title" must be a list of texts',
        ),
        (
            "creak",
            '{"ex_id": "a", "sentence": "b", "label": ""}\n',
            'field "label" must be one of true, false; some test',
        ),
        (
            "grbench",
            '{"qid": "a", "question": "b"}\n',
            "it has the fields qid, question, and must have question and answer",
        ),
        ("fever", "\n", "holds no questions"),
        ("jsonl", '{"id": "a", "question": "b"}\n', 'line 1: field "answers" is missing'),
    ],
)
def test_a_wrong_file_names_place_and_field(tmp_path: Path, name: str, content: str, fault: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(content, "utf-8")
    with pytest.raises(UsageError, match=fault) as raised:
        _read(name, path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_dataset_without_its_file_says_where_to_get_it() -> None:
    with pytest.raises(UsageError, match=r"needs its file \(fever:FILE\).*fever\.ai"):
        read_dataset("fever")
    with pytest.raises(UsageError, match="cannot be read"):
        read_dataset("fever:/nowhere/dev.jsonl")
    with pytest.raises(UsageError, match=r"no dataset is called 'freebase'.*webqsp"):
        read_dataset("freebase:x.json")


def test_world_and_plain_files(tmp_path: Path) -> None:
    assert len(read_dataset("world")[1]) > 80
    row = {"id": "a", "question": "b?", "answers": ["c", "d"], "answer_aliases": [["C"], []]}
    path = _file(tmp_path, "own.jsonl", row)
    assert read_dataset(str(path))[1][0].aliases == (("C",), ())
    _file(tmp_path, "own.jsonl", {**row, "answer_aliases": [["C"]]})
    with pytest.raises(UsageError, match='field "answer_aliases" must hold one list of texts for each answer'):
        read_dataset(str(path))
