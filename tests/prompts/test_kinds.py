"""Every kind of reply, read from what models send: good, sloppy, unusable."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_kit import GOOD, GOOD_OF, JSON_KINDS, parse

from thinkgraph.prompts.kinds import KINDS, ExtractedKey, Judgement, Shape, Statements
from thinkgraph.prompts.reading import BadReplyError, find_json, is_whole, strip_thinking
from thinkgraph.state.coggrag import SubQuestion


def test_every_kind_has_a_good_reply_here() -> None:
    assert {kind for kind, _, _ in GOOD} == set(JSON_KINDS)


@pytest.mark.parametrize("kind", ["names", "keywords"])
def test_numbers_that_count_all_names_are_no_part_of_them(kind: str) -> None:
    assert parse(kind, json.dumps({kind: ["1. Osk", "2) Varn", "[3] Tal"]})) == ["Osk", "Varn", "Tal"]
    for whole in (["1. FC Osk", "Varn"], ["1. FC Osk"], ["1.5 km", "2.5 km"], ["2. Osk", "1. Varn"]):
        assert parse(kind, json.dumps({kind: whole})) == whole


@pytest.mark.parametrize(
    "dress",
    [
        "{}",
        "\n  {}\n",
        "```json\n{}\n```",
        "```\n{}```",
        "Here you are:\n{}\nI hope this helps.",
        '<think>Maybe {{[1]}} or {{"numbers": [1]}}? No.</think>\n{}',
        "<THINK>\n</THINK>{}",
        'thinking without its opening tag {{"right": true}} </think>{}',
        "<thinking>a</thinking><reasoning>b</reasoning>```json\n{}\n```",
        'The form is {{"...": ...}} so: {}',
        "First I thought [1, 2] but then: {} Also {{}} and [3].",
    ],
    ids=range(11),
)
@pytest.mark.parametrize(("kind", "said", "meant"), GOOD)
def test_a_good_reply_is_read_however_it_is_dressed(kind: str, said: dict[str, Any], meant: Any, dress: str) -> None:
    assert parse(kind, dress.format(json.dumps(said))) == meant


def _python(said: dict[str, Any]) -> str:
    return repr(said)


def _commas(said: dict[str, Any]) -> str:
    return json.dumps(said, indent=1).replace("\n ]", ",\n ]").replace("\n}", ",\n}")


DRESSES = {
    "Python": _python,
    "commas": _commas,
    "typographic": lambda said: re.sub('"([^"]*)"', "\u201c\\1\u201d", json.dumps(said)),
    "comments": lambda said: json.dumps(said, indent=1).replace("\n", " // as asked\n"),
    "a comment after a comma": lambda said: _commas(said).replace("\n}", " // last\n}"),
    "line breaks": lambda said: json.dumps({"why": "@", **said}).replace("@", "one\n\ttwo"),
    "other case": lambda said: json.dumps({f" {name.title()}": value for name, value in said.items()}),
    "in an object": lambda said: json.dumps({"reply": said}),
    "in a list": lambda said: json.dumps([said]),
    "in a string": lambda said: json.dumps(json.dumps(said)),
    "in a string and a fence": lambda said: f"```json\n{json.dumps(json.dumps(said))}\n```",
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize(("kind", "said", "meant"), GOOD)
def test_almost_json_is_read(kind: str, said: dict[str, Any], meant: Any, dress: str) -> None:
    assert parse(kind, DRESSES[dress](said)) == meant
    if not dress.startswith("in a string"):
        assert parse(kind, f"It's this: {DRESSES[dress](said)}") == meant


def test_what_is_within_texts_is_not_mended() -> None:
    said = "{'names': [\"Cote d'Ivoire\", 'a // b', 'x, ]', 'None', 'Val-d\\'Or', \"True\"],}"
    assert parse("names", said) == ["Cote d'Ivoire", "a // b", "x, ]", "None", "Val-d'Or", "True"]


@pytest.mark.parametrize(("kind", "said", "meant"), GOOD)
def test_an_explanation_beside_it_is_no_matter(kind: str, said: dict[str, Any], meant: Any) -> None:
    assert (
        parse(kind, json.dumps({"why": "because {of} [this]", **said}), Shape(5, 4, 3, ("clues", "query"), questions=3))
        == meant
    )


@pytest.mark.parametrize(("kind", "said", "meant"), GOOD)
def test_an_object_with_the_right_key_beats_a_later_one_without(kind: str, said: dict[str, Any], meant: Any) -> None:
    assert parse(kind, f'{json.dumps(said)}\n{{"note": [1]}}') == meant


@pytest.mark.parametrize(
    ("kind", "text", "meant"),
    [
        ("pick", "2, 5", [2, 5]),
        ("pick", "[2, 5]", [2, 5]),
        ("pick", "[2] and [5].", [2, 5]),
        ("pick", "3", [3]),
        ("pick", '{"numbers": 3}', [3]),
        ("pick", '{"numbers": "[1], [3]"}', [1, 3]),
        ("pick", '{"numbers": ["1, 3", "4 and 5"]}', [1, 3, 4, 5]),
        # A line of statements begins with a bracket.
        ("pick", '{"numbers": ["[2] (Osk) -[town]-> (Ard)", "5. (1984)", "3(a)", "(4)"]}', [2, 5, 4]),
        ("pick", '{"numbers": ["[2] river of 9 towns", "4. capital", "5: x", "3 rivers", "2.5"]}', [2, 4, 5]),
        ("pick", '{"numbers": [{"number": 2, "why": "fits"}, {"option": "[4]"}, {"id": 3, "index": 1}]}', [2, 4]),
        ("pick", '{"Auswahl": [2, 5], "why": "x"}', [2, 5]),
        ("pick", '{"numbers": null}', []),
        ("pick", '{"numbers": ["2", "[5]", "#4.", " 1 "]}', [2, 5, 4, 1]),
        ("pick", '{"numbers": [2.0, 5]}', [2, 5]),
        ("pick", '{"numbers": [5, 2, 5, 2]}', [5, 2]),
        ("pick", '{"numbers": [0, 2, 6, 99999999999999999999, true, 2.5, "x", null, [1]]}', [2]),
        ("pick", '{"numbers": ["-3", -2, 4]}', [4]),
        ("pick", '{"numbers": [1, 2, 3, 4, 5, 6, 7, 8, 9]}', [1, 2, 3, 4, 5]),
        ("score", '{"scores": {"2": 9, "5": 4}}', [(2, 9.0), (5, 4.0)]),
        ("score", '{"scores": [{"number": 2, "score": 9}]}', [(2, 9.0)]),
        ("score", '{"scores": [["2", "9"], [5, "4.5"]]}', [(2, 9.0), (5, 4.5)]),
        ("score", '{"scores": [[2, 999], [3, -4]]}', [(2, 10.0), (3, 0.0)]),
        ("score", '{"scores": [[2, 9], [2, 1], [7, 3]]}', [(2, 9.0)]),
        ("score", '{"scores": [[2, 9, "because"]]}', [(2, 9.0)]),
        (
            "score",
            '{"scores": [["[2]", "[9]"], [3, "8/10"], [4, "7 out of 10"], [5, "-1"]]}',
            [(2, 9), (3, 8), (4, 7), (5, 0)],
        ),
        ("score", '{"scores": [[2, 0.9], [3, "0.45"], [5, 0]]}', [(2, 9.0), (3, 4.5), (5, 0.0)]),
        ("score", '{"scores": [[2, 1.0], [3, 0.5]]}', [(2, 10.0), (3, 5.0)]),
        ("score", '{"scores": [[2, 1], [3, 0]]}', [(2, 1.0), (3, 0.0)]),
        ("score", '{"scores": [[2, 85], [3, 40], [4, 5]]}', [(2, 8.5), (3, 4.0), (4, 0.5)]),
        ("score", '{"scores": [[2, 12], [3, 9]]}', [(2, 10.0), (3, 9.0)]),
        ("score", '{"scores": [[2, 2], [3, 0.5]]}', [(2, 2.0), (3, 0.5)]),
        ("score", '{"scores": [[2, "90%"], [3, "45 %"]]}', [(2, 9.0), (3, 4.5)]),
        ("score", '{"scores": [{"option": 2, "score": 9}, {"id": "3", "score": "4."}]}', [(2, 9.0), (3, 4.0)]),
        ("pairs", '{"pairs": [{"clue": 1, "option": 3}, ["[2]", "5."]]}', [(1, 3), (2, 5)]),
        ("names", '{"names": [{"name": "Osk", "type": "river"}, ["Varn"]]}', ["Osk", "Varn"]),
        ("keys", '{"keys": {"key": "c", "of": 2}}', [{"key": ["c"], "of": [2]}]),
        ("subquestions", '{"questions": {"question": "a?"}}', [SubQuestion(question="a?", open=False, refers=[])]),
        ("verdict", '{"right": "No."}', {"right": False}),
        ("score", "[[2, 9]]", [(2, 9.0)]),
        ("pairs", '{"pairs": [["1", "3"], [1, 3], [9, 1], [1, 9]]}', [(1, 3)]),
        ("pairs", "[[1, 3]]", [(1, 3)]),
        ("keywords", '{"keywords": ["a", "", null, 1990, " b "]}', ["a", "1990", "b"]),
        ("keywords", '["a", "b"]', ["a", "b"]),
        (
            "keys",
            '{"keys": ["a", ["b", "r"], {"key": "c", "of": 2}]}',
            [{"key": ["a"], "of": []}, {"key": ["b", "r"], "of": []}, {"key": ["c"], "of": [2]}],
        ),
        ("keys", '[["a", "r", 1990]]', [{"key": ["a", "r", "1990"], "of": []}]),
        (
            "subquestions",
            '{"questions": ["a?", "b?"]}',
            [SubQuestion(question=q, open=False, refers=[]) for q in ("a?", "b?")],
        ),
        ("subquestions", '{"questions": []}', []),
        ("verdict", '{"right": "Yes"}', {"right": True}),
        ("verdict", '{"right": "incorrect"}', {"right": False}),
        ("verdict", '{"right": 1}', {"right": True}),
        (
            "triples",
            '{"triples": [{"subject": "a", "relation": "r", "object": 7}, ["a", "", "b"], ["a"], "x", null], "types": 3}',
            Statements(triples=[["a", "r", "7"]], types={}),
        ),
        ("triples", '[["a", "r", "b"]]', Statements(triples=[["a", "r", "b"]], types={})),
        ("keywords", '{"clues": ["a", "b"], "why": "x"}', ["a", "b"]),
        ("keywords", '{"clues": []}', []),
        ("keywords", '{"keywords": ["a", {"x": {"y": 1}}, "b"]}', ["a", "b"]),
        ("names", '{"entities": ["Osk"]}', ["Osk"]),
        ("subquestions", '{"sub_questions": ["a?"]}', [SubQuestion(question="a?", open=False, refers=[])]),
        (
            "subquestions",
            '{"questions": [{"question": "a?", "state": "Continue"}, {"question": "b?", "state": "End"}, 7]}',
            [SubQuestion(question=q, open=more, refers=[]) for q, more in (("a?", True), ("b?", False))],
        ),
        (
            "subquestions",
            '[{"Sub-question": "a?", "State": "Continue."}, {"Sub-question": "b of #1?", "State": "End."}]',
            [SubQuestion(question=q, open=more, refers=[]) for q, more in (("a?", True), ("b of #1?", False))],
        ),
        ("keys", '{"key": ["a", "r", "b"], "of": [1]}', [{"key": ["a", "r", "b"], "of": [1]}]),
        ("keys", '{"keys": [["a"], []]}', [{"key": ["a"], "of": []}]),
        ("triples", '{"statements": [["a", "r", "b"]]}', Statements(triples=[["a", "r", "b"]], types={})),
        ("verdict", "true", {"right": True}),
        ("verdict", '"right"', {"right": True}),
        ("verdict", "**Wrong.**", {"right": False}),
        ("verdict", '{"verdict": "incorrect"}', {"right": False}),
        ("pairs", '{"pairs": [1, 3]}', [(1, 3)]),
        ("pairs", '{"pairs": [[1, 3], [2], "x", [2, 5]]}', [(1, 3), (2, 5)]),
        ("score", '{"scores": [2, 9]}', [(2, 9.0)]),
        ("score", '{"scores": ["[2]", "8."]}', [(2, 8.0)]),
        ("score", '{"scores": [[2, 9], [3, "high"], [4]]}', [(2, 9.0)]),
        ("pick", '{"numbers": ["option 2", "No. 4", "2."]}', [2, 4]),
        (
            "judge",
            '{"sufficient": "not enough", "answers": [], "evidence": []}',
            Judgement(sufficient=False, answers=[], evidence=[], clues="", query=""),
        ),
        (
            "judge",
            '{"evidence": ["[1]", "line 2"], "answers": ["a", {"x": {"y": 1}}], "sufficient": "yes"}',
            Judgement(sufficient=True, answers=["a"], evidence=[1, 2], clues="", query=""),
        ),
        ("text", " <think>no</think> some words\n", "some words"),
        ("text", 'Plain {"x": 1} words', 'Plain {"x": 1} words'),
    ],
)
def test_sloppy_replies_are_read_as_they_are_meant(kind: str, text: str, meant: Any) -> None:
    assert parse(kind, text) == meant


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        *(
            (kind, text, "no JSON object")
            for kind in JSON_KINDS
            for text in ("", "I cannot help.", "{", "[1, {", "{'a: 1}")
        ),
        *((kind, '{"other": 1}', "has no") for kind in JSON_KINDS),
        *((kind, "{'other': 1}", "has no") for kind in JSON_KINDS),
        *((kind, f"<think>{json.dumps(GOOD_OF[kind][0])}", "no JSON object") for kind in JSON_KINDS),
        ("pick", '{"numbers": [0, 6]}', "a number from 1 to 5"),
        ("pick", "7", "a number from 1 to 5"),
        ("pick", '{"numbers": {"a": 1}}', '"numbers" must be a list'),
        ("pick", '{"numbers": true}', '"numbers" must be a list'),
        ("pick", '{"numbers": ["Panama"]}', "a number from 1 to 5"),
        ("pick", "9" * 6000, "a number from 1 to 5"),
        ("pick", '{"numbers": ["%s"]}' % ("9" * 6000), "a number from 1 to 5"),
        ("pick", '{"numbers": [%s]}' % ("9" * 6000), "no JSON object|has no|a number"),
        ("score", '{"scores": [9, 4]}', "must be \\[number, score\\]"),
        ("score", '{"scores": [[2]]}', "must be \\[number, score\\]"),
        ("score", '{"scores": [[2, "high"]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, null]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, NaN]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, Infinity]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, -Infinity]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, 1e999]]}', "from 0 to 10"),
        ("score", '{"scores": [[2, 1%s]]}' % ("0" * 400), "from 0 to 10"),
        ("score", '{"scores": [[6, 9]]}', "from 1 to 5"),
        ("pairs", '{"pairs": [[1, 2, 3]]}', "must be \\[number of the clue"),
        ("pairs", '{"pairs": [1, 2, 3]}', "must be \\[number of the clue"),
        ("pairs", '{"pairs": [4, 2]}', "clue from 1 to 3"),
        ("score", '{"scores": [2, 4]}', "must be \\[number, score\\]"),
        ("score", '{"scores": [[1, 2], [2, "x"], [3, 1', "no JSON object"),
        ("score", '{"scores": [[2, 9], [5, 4', "no JSON object"),
        ("score", "{'scores': [[2, 9], [5, 4", "no JSON object"),
        ("pick", 'First [1]. {"others": [3], "numbers": [2, 5', "no JSON object"),
        ("judge", '{"evidence": [1], "answers": ["a"], "suff', "no JSON object"),
        ("keywords", '{"a": ["x"], "b": ["y"]}', "has no"),
        ("keys", '{"keys": [["a", "b", "c", "d"], {"of": [1]}]}', "one to three texts"),
        ("subquestions", '{"questions": ["a?", 7, {"question": "c?", "refers": [3]}]}', "not sure"),
        ("subquestions", '{"questions": [7, "a?", "b of #2?"]}', "not sure"),
        ("verdict", "It is right.", "no JSON object"),
        ("verdict", "right or wrong", "no JSON object"),
        ("pairs", '{"pairs": [[4, 1], [1, 6]]}', "clue from 1 to 3 and an option from 1 to 5"),
        ("judge", '{"sufficient": true, "answers": []}', "holds no answer"),
        ("judge", '{"sufficient": true, "answers": ["", null]}', "holds no answer"),
        ("judge", '{"sufficient": "perhaps", "answers": ["a"]}', "must be true or false"),
        ("judge", '{"sufficient": false, "answers": {"a": 1}}', '"answers" must be a list'),
        ("keywords", '{"keywords": {"a": 1}}', '"keywords" must be a list'),
        ("subquestions", '{"questions": [{"open": true}]}', 'object with a "question"'),
        ("subquestions", '{"questions": [7]}', 'object with a "question"'),
        ("subquestions", '{"questions": [{"question": "a", "open": "x"}]}', '"open" must be true or false'),
        ("keys", '{"keys": [[]]}', "one to three texts"),
        ("keys", '{"keys": [{"of": [1]}]}', "one to three texts"),
        ("keys", '{"keys": [["a", "b", "c", "d"]]}', "one to three texts"),
        ("keys", '{"keys": [{"key": {"a": 1}}]}', '"key" must be a list'),
        ("keys", '{"keys": {"a": 1}}', '"keys" must be a list'),
        ("verdict", '{"right": "continue"}', '"right" must be true or false'),
        ("verdict", '{"right": "maybe"}', '"right" must be true or false'),
        ("verdict", '{"right": null}', '"right" must be true or false'),
        ("triples", '{"triples": {"a": 1}}', '"triples" must be a list'),
        ("triples", '{"triples": [["a", "b"], []]}', "must be \\[subject, relation, object\\]"),
        ("text", "", "empty"),
        ("text", "<think>words", "empty"),
        ("text", "<think>words</think>  ", "empty"),
    ],
)
def test_an_unusable_reply_says_what_to_mend(kind: str, text: str, fault: str) -> None:
    with pytest.raises(BadReplyError, match=fault) as raised:
        parse(kind, text)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (["Paris [2]", "Rome [1, 3].", "Bonn\u30101\u2020source\u3011"], ["Paris", "Rome", "Bonn"]),
        (
            ['"Paris"', "**Rome**", "\u201cBonn\u201d", "*Riga*", "'Oslo'", "`Bern`"],
            ["Paris", "Rome", "Bonn", "Riga", "Oslo", "Bern"],
        ),
        (
            ["Paris.", "1962.", "Washington, D.C.", "Acme Corp.", "2.5"],
            ["Paris", "1962", "Washington, D.C.", "Acme Corp.", "2.5"],
        ),
        (["Paris", "PARIS", "paris."], ["Paris"]),
        (['"Yes" and "No"', "[2]", "U[2]"], ['"Yes" and "No"', "[2]", "U"]),
        ([{"answer": "Paris", "evidence": [1]}, ["Rome"]], ["Paris", "Rome"]),
        (["Paris", "unknown"], ["Paris"]),
        (
            ["It is known as Bonn", "No", "Nil", "Unknown Pleasures", "NA", "I Don't Know How She Does It"],
            ["It is known as Bonn", "No", "Nil", "Unknown Pleasures", "NA", "I Don't Know How She Does It"],
        ),
    ],
)
def test_answers_are_read_without_what_models_put_around_them(said: list[Any], meant: list[str]) -> None:
    assert parse("judge", json.dumps({"sufficient": True, "answers": said}))["answers"] == meant


@pytest.mark.parametrize(
    "said",
    [
        *(
            "unknown",
            "Unknown.",
            "N/A",
            "None",
            "null",
            "?",
            "I don't know",
            "I don\u2019t know the answer.",
            "not specified",
        ),
        *("I'm not sure", "Not enough information", "No answer found", "It cannot be determined from the evidence."),
        *(
            "The evidence does not contain the mayor.",
            "There is no information about this",
            "[unknown]",
            '"I do not know."',
        ),
    ],
)
def test_words_for_no_answer_are_none(said: str) -> None:
    value = parse("judge", json.dumps({"sufficient": True, "answers": [said], "evidence": [1]}))
    assert (value["sufficient"], value["answers"]) == (False, [])


@pytest.mark.parametrize(
    ("said", "meant"),
    [("['18']", ["18"]), (' ["Peru", "Chile"] ', ["Peru", "Chile"]), ("[REC]", ["[REC]"]), ("[1]", ["[1]"])],
)
def test_a_list_that_is_written_as_a_text_is_a_list(said: str, meant: list[str]) -> None:
    assert parse("judge", json.dumps({"sufficient": True, "answers": said, "evidence": "[1, 2]"}))["answers"] == meant


def test_an_answer_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadReplyError, match="must be a text"):
        parse("judge", '{"sufficient": true, "answers": [{"city": {"a": 1}}]}')


def test_an_invented_citation_never_reaches_an_answer() -> None:
    text = '{"sufficient": true, "answers": ["a", "a", "b"], "evidence": ["4", 9, 0, 4, "x", -1, "-2", 2]}'
    value = parse("judge", text)
    assert (value["evidence"], value["answers"]) == ([4, 2], ["a", "b"])


def test_only_fields_that_were_asked_for_are_read() -> None:
    text = '{"sufficient": false, "answers": [], "evidence": [], "clues": "c", "query": "q"}'
    value = parse("judge", text, Shape(evidence=1, fields=("clues",)))
    assert (value["clues"], value["query"]) == ("c", "")


def test_labels_are_the_only_answers() -> None:
    shape = Shape(labels=("SUPPORTS", "REFUTES"))
    value = parse("judge", '{"sufficient": true, "answers": ["supports", "SUPPORTS", "maybe"], "evidence": []}', shape)
    assert value["answers"] == ["SUPPORTS"]
    for said in ("Supports.", "supports, as line 1 says", "SUPPORTS (line 1)", "Supports \u2013 both do"):
        assert parse("judge", json.dumps({"sufficient": True, "answers": [said]}), shape)["answers"] == ["SUPPORTS"]
    for said in ("supports nothing", "no, it refutes"):
        with pytest.raises(BadReplyError):
            parse("judge", json.dumps({"sufficient": True, "answers": [said]}), shape)
    with pytest.raises(BadReplyError, match="from: SUPPORTS, REFUTES"):
        parse("judge", '{"sufficient": true, "answers": ["maybe"], "evidence": []}', shape)
    with pytest.raises(BadReplyError, match="one of these alone: SUPPORTS, REFUTES"):
        # Both were taken, and a conclusion needs no line that holds it.
        parse("judge", '{"sufficient": true, "answers": ["supports", "refutes"], "evidence": []}', shape)


def test_a_label_may_come_as_a_truth_value() -> None:
    shape = Shape(labels=("true", "false"))
    assert parse("judge", '{"sufficient": true, "answers": [false], "evidence": []}', shape)["answers"] == ["false"]


def test_a_subquestion_refers_only_to_its_siblings() -> None:
    text = '{"questions": [{"question": "a", "refers": [1, 2, 2, 3, 0, -1, "2"]}, {"question": "b"}]}'
    assert [node["refers"] for node in parse("subquestions", text)] == [[1, 2], []]


def test_keys_belong_to_listed_questions_and_an_empty_part_is_unknown() -> None:
    value = parse("keys", '{"keys": [{"key": ["Panama", "", null], "of": [1, "3", 4, 0, 1]}]}')
    assert value == [ExtractedKey(key=["Panama", "?", "?"], of=[1, 3])]


def test_only_triples_where_only_triples_are_asked_for() -> None:
    shape = Shape(questions=2, triples=True)
    assert "[entity]" not in KINDS["keys"].instruction(shape)
    found = parse("keys", '{"keys": [["a"], ["a", "r", "?1"], ["b", "s"]]}', shape)
    assert found == [ExtractedKey(key=["a", "r", "?1"], of=[])]
    with pytest.raises(BadReplyError, match="three texts"):
        parse("keys", '{"keys": [["a"]]}', shape)
    assert parse("keys", '{"keys": []}', shape) == []


def test_types_are_read_where_they_are_asked_for() -> None:
    text = '{"triples": [["a", "r", "b"]], "types": [["a", "river"], ["b"], ["", "x"], 7, ["c", "town"]]}'
    assert parse("triples", text, Shape(fields=("types",)))["types"] == {"a": "river", "c": "town"}
    assert parse("triples", text, Shape())["types"] == {}
    assert set(KINDS["triples"].schema(Shape(fields=("types",)))["properties"]) == {"triples", "types"}


@given(st.text(alphabet="ab <>/think{}[]1"), st.text(alphabet="ab <>/"))
def test_what_stands_after_a_thought_is_kept(thought: str, reply: str) -> None:
    assert strip_thinking(f"<think>{thought}</think>{reply}").endswith(strip_thinking(reply).strip())


def test_the_last_object_wins_and_a_list_only_without_one() -> None:
    assert find_json('[1] {"a": 1} {"b": 2} [3]') == {"b": 2}
    assert find_json('[1] {"a": 1} {"b": 2} [3]', "a") == {"a": 1}
    assert find_json("[1] and [2]") == [2]


def test_numbers_that_are_not_shown_are_dropped() -> None:
    hidden = Shape(options=5, evidence=5, clues=2, unseen=(2,))
    assert parse("pick", '{"numbers": [1, 2, 5]}', hidden) == [1, 5]
    assert parse("score", '{"scores": [[2, 9], [5, 4]]}', hidden) == [(5, 4.0)]
    assert parse("pairs", '{"pairs": [[1, 2], [1, 5]]}', hidden) == [(1, 5)]
    assert parse("judge", '{"sufficient": false, "evidence": [2, 3]}', hidden)["evidence"] == [3]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"numbers": [1]}', True),
        ('```json\n{"numbers": [1]}\n\n\n', True),
        ('<think>a</think>{"numbers": [1]} as', True),
        ('{"numbers": [1]} {"numbers": [2', False),
        ('{"numbers": [1', False),
        ("[1, 2]", False),
        ("", False),
        ("<think>{}", False),
    ],
)
def test_a_reply_at_its_limit_is_whole_only_if_its_object_is(text: str, whole: bool) -> None:  # noqa: FBT001
    assert is_whole(text) == whole
