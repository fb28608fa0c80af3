"""Statements in plain words: what the arrows say is said, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgraph.prompts.lines import ShownHop, parse_item, safe_label, told_once
from thinkgraph.prompts.parsed import parse_items
from thinkgraph.prompts.plain import plain_lines, read_plain

LINES = {
    "(Osk) -[source]-> (Varn)": "(Osk) source: (Varn)",
    "(Osk) <-[mouth]- (Tarr), (Nim), ... and 2 more": "(Tarr), (Nim), ... and 2 more mouth: (Osk)",
    "(Osk) -[crosses]-> (Varn) {km=3; since=1941}, (Merrow)": "(Osk) crosses: (Varn) {km=3; since=1941}, (Merrow)",
    "(Mara Velt) <-[director]- (Low Tide) -[based on]-> (Amber), (A Slow Sea)": (
        "(Low Tide) director: (Mara Velt); then (Low Tide) based on: (Amber), (A Slow Sea)"
    ),
    "(Varn) -[seat]-> (Hall); <-[borders]-> (Mere), (Sund) | (Mere) -[area (sq km)]-> (640)": (
        "(Varn) seat: (Hall); (Varn) borders: (Mere), (Sund) both ways; (Mere) area [sq km]: (640)"
    ),
    "(Lindow Hall) -[architect]-> x1": "(Lindow Hall) architect: (1 thing)",
    "(Lindow Hall) <-[resident of]- x2": "(2 things) resident of: (Lindow Hall)",
}
SAME = [
    "Osk -- river",
    "text | Osk | | It (so they say) crosses: (nothing)",
    "asked | Who? | Ines Calder",
    "plain words",
]


@pytest.mark.parametrize(("arrows", "plain"), LINES.items())
def test_a_line_is_said_in_plain_words_and_read_back(arrows: str, plain: str) -> None:
    assert plain_lines(f"## Evidence\nChain 1:\n[7] {arrows}") == f"## Evidence\nChain 1:\n[7] {plain}"
    meant, read = parse_item(7, arrows), read_plain(7, plain)
    assert read is not None
    assert read.step == meant.step
    assert read.count == meant.count
    assert facts(read.triples) == facts(meant.triples)
    assert sum(read.mores) == sum(meant.mores)
    assert read.community == meant.community


def facts(hops: tuple[ShownHop, ...]) -> set[tuple[str, str, str, tuple[tuple[str, str], ...]]]:
    return {(hop.subject, hop.relation.replace("(", "[").replace(")", "]"), hop.object, hop.qualifiers) for hop in hops}


@pytest.mark.parametrize("line", SAME)
def test_any_other_line_stays(line: str) -> None:
    assert plain_lines(f"[1] {line}") == f"[1] {line}"
    assert parse_items(f"[1] {line}") == (parse_item(1, line),)


WORDS = st.text(st.sampled_from("ab ()[]{},;:|=-<>"), max_size=8)


@given(WORDS, WORDS, WORDS)
def test_no_label_makes_a_line_of_two(subject: str, relation: str, end: str) -> None:
    line = f"[1] ({safe_label(subject)}) -[{safe_label(relation)}]-> ({safe_label(end)})"
    assert len(plain_lines(line).splitlines()) == 1
    assert len(parse_items(plain_lines(line))) == 1


def test_what_is_told_from_both_ends_is_told_once() -> None:
    lines = [
        "(Varn) -[borders]-> (Mere), (Sund)",
        "(Varn) -[seat]-> (Hall)",
        "(Varn) <-[borders]- (Sund), (Mere)",
        "(Varn) <-[seat]- (Court)",
    ]
    once = told_once(lines)
    assert once == [(0, "(Varn) <-[borders]-> (Mere), (Sund)"), (1, lines[1]), (3, lines[3])]
    item = parse_item(1, once[0][1])
    assert {(hop.subject, hop.object) for hop in item.triples} == {
        ("Varn", "Mere"),
        ("Mere", "Varn"),
        ("Varn", "Sund"),
        ("Sund", "Varn"),
    }
    assert {listed.outgoing for listed in item.lists} == {True, False}


def test_a_list_in_another_order_is_told_once() -> None:
    lines = ["(Varn) -[borders]-> (Mere), (Sund)", "(Varn) -[seat]-> (Hall)", "(Varn) -[borders]-> (Sund), (Mere)"]
    assert told_once(lines) == [(0, lines[0]), (1, lines[1])]


def test_lists_that_differ_are_both_told() -> None:
    for other in ("(Varn) <-[borders]- (Mere), (Sund)", "(Varn) <-[borders]- (Mere), ... and 2 more"):
        lines = ["(Varn) -[borders]-> (Mere)", other]
        assert [line for _, line in told_once(lines)] == lines


def test_a_long_list_is_cut_and_counted_but_keeps_what_the_question_names() -> None:
    options = "[1] (Osk) <-[mouth]- (Tarr), (Nim), (Lune), ... and 2 more; -[source]-> (Varn)"
    text = f"## Question\nWhich river has its mouth where the Lune ends?\n\n## Options\n{options}"
    assert plain_lines(text, 2).endswith("[1] (Lune), (Tarr), ... and 3 more mouth: (Osk); (Osk) source: (Varn)")
    assert plain_lines(text, 3) == plain_lines(text)
    both = plain_lines("[1] (Varn) <-[borders]-> (Mere), (Sund)", 1)
    assert both == "[1] (Varn) borders: (Mere), ... and 1 more both ways"
    (read,) = parse_items(both)
    assert (len(read.triples), read.mores) == (2, (1,))
