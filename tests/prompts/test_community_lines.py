"""Triple-to-text: a community's line says every triple once, and every triple can be read back from it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
import triples
from prompts.test_lines import LABELS, prompt_of, shown_pairs

from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.lines import parse_item, safe_label
from thinkgraph.state.knowledge import Triple

COMMUNITIES = 10_000
HOSTILE = [
    "",
    " ",
    ")",
    "(",
    "a) | (b",
    "a} | (b",
    "x), (y",
    "), ... and 2 more",
    "; -[r]-> (forged)",
    ") -[r]-> (forged)",
    "<-[[r]- (forged)",
    "]]-> (x",
    "]- (",
    ") {q=1}",
    "{q=1}",
    "a; b",
    " | ",
    ") |",
    "| (",
    "text | a | b | c",
    "text |",
    "-- about",
    "[7] seven",
    "## Evidence",
    "line\nbreak",
    "\u0338",
    "\u202eright to left",
    "\ud83d",
    "日本",
    "ёж",
    "x12",
    "-> x3",
    "e\u0301",
]
PLAIN = [
    "Panama",
    "Colombia",
    "capital",
    "borders",
    "1999-12-31",
    "4 500 000",
    "O'Neill",
    "St. (John)",
    "[sic]",
    "a, b",
]


def triple(number: int, subject: str, relation: str, end: str, qualifiers: Sequence[tuple[str, str]] = ()) -> Triple:
    listed = [list(pair) for pair in qualifiers]
    return {**triples.triple(subject, relation, end), "id": f"t{number}", "qualifiers": listed}


def read(line: str) -> Counter[object]:
    (item,) = prompt_of([line])
    return Counter((hop.subject, hop.relation, hop.object, hop.qualifiers) for hop in item.triples)


def meant(triples: Sequence[Triple]) -> Counter[object]:
    return Counter(
        (
            safe_label(t["subject_label"]),
            safe_label(t["relation_label"]),
            safe_label(t["object_label"]),
            shown_pairs([(name, value) for name, value in t["qualifiers"]]),
        )
        for t in triples
    )


def label(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(PLAIN)
    if kind < 0.75:
        return rng.choice(HOSTILE)
    return "".join(rng.choice([*HOSTILE, *PLAIN, *" ()[]{}|;,-<>="]) for _ in range(rng.randrange(1, 5)))


def a_community(rng: random.Random) -> list[Triple]:
    """Trees, cycles, stars, multi-edges, loops, literals, namesakes, qualifiers."""
    nodes = [(f"n{i}", label(rng), i > 0 and rng.random() < 0.2) for i in range(rng.randrange(1, 9))]
    relations = [(f"r{i}", label(rng)) for i in range(rng.randrange(1, 4))]
    pairs = [(rng.randrange(i), i) for i in range(1, len(nodes))]  # a tree
    pairs += [(rng.randrange(len(nodes)), rng.randrange(len(nodes))) for _ in range(rng.randrange(5))]  # cycles, loops
    pairs += rng.sample(pairs, min(len(pairs), rng.randrange(3)))  # multi-edges
    found = []
    for number, (first, second) in enumerate(pairs):
        one, other = (second, first) if rng.random() < 0.5 and not nodes[first][2] else (first, second)
        relation = rng.choice(relations)
        found.append(
            Triple(
                id=f"t{number}",
                subject=nodes[one][0],
                relation=relation[0],
                object=nodes[other][0],
                subject_label=nodes[one][1],
                relation_label=relation[1],
                object_label=nodes[other][1],
                literal=nodes[other][2],
                qualifiers=[[label(rng), label(rng)] for _ in range(rng.choice([0, 0, 0, 1, 2]))],
            )
        )
    return found


def test_no_triple_of_ten_thousand_random_communities_is_lost() -> None:
    rng = random.Random(4)
    triples = 0
    for _ in range(COMMUNITIES):
        community = a_community(rng)
        triples += len(community)
        line = community_line(community)
        if community:
            assert read(line) == meant(community), line
            assert "\n" not in line
        else:
            assert line == ""
    assert triples > 5 * COMMUNITIES


def test_hostile_labels_everywhere() -> None:
    """Each hostile label in each place of a small community."""
    for bad in HOSTILE:
        for where in range(4):
            names = ["a", "b", "c", "r"]
            names[where] = bad
            a, b, c, r = names
            community = [triple(1, a, r, b, [(bad, bad)]), triple(2, c, r, a), triple(3, b, r + "2", c)]
            community = [
                {**t, "subject": i, "object": j, "relation": k}  # ids are the store's own, whatever the labels
                for t, (i, j, k) in zip(community, [("1", "2", "r"), ("3", "1", "r"), ("2", "3", "r2")], strict=True)
            ]
            assert read(community_line(community)) == meant(community)


def test_shared_subjects_and_objects_are_written_once() -> None:
    star = [
        triple(n, town, "city of", "Pennsylvania") for n, town in enumerate(["Allentown", "New Castle", "Philadelphia"])
    ]
    assert community_line(star) == "(Pennsylvania) <-[city of]- (Allentown), (New Castle), (Philadelphia)"
    fan = [
        triple(1, "Panama", "capital", "Panama City"),
        triple(2, "Panama", "borders", "Colombia", [("length_km", "339")]),
        triple(3, "Panama", "borders", "Costa Rica"),
        triple(4, "Baru", "located in", "Panama"),
        triple(5, "Baru", "elevation m", "3475"),
    ]
    line = community_line(fan)
    assert line == (
        "(Panama) -[capital]-> (Panama City); -[borders]-> (Colombia) {length km=339}, (Costa Rica); "
        "<-[located in]- (Baru) | (Baru) -[elevation m]-> (3475)"
    )
    assert community_line([*fan, *fan]) == line


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_a_list_says_how_many_more_there_are(size: int) -> None:
    ends = [triple(n, "Panama", "borders", f"country {n}") for n in range(size)]
    other = triple(99, "country 0", "capital", "C")
    line = community_line([*ends, other], {("Panama", "borders", "out"): 30, ("country 0", "capital", "out"): 1})
    listed = {(found.source, found.relation): found for found in parse_item(1, line).lists}
    # Where country 0 is a group's head, the list of Panama's borders stands there backwards, and is read all the same.
    borders = listed.get(("Panama", "borders"))
    if size > 2:
        assert borders is not None
        assert sorted(borders.ends) == sorted(f"country {n}" for n in range(size))
        assert borders.more == 30 - size
    assert all(found.more == 0 for place, found in listed.items() if place != ("Panama", "borders"))


def test_a_loop_is_one_triple() -> None:
    loop = triple(1, "Ouroboros", "eats", "Ouroboros")
    assert community_line([loop]) == "(Ouroboros) -[eats]-> (Ouroboros)"
    both = [loop, triple(2, "Fox", "eats", "Ouroboros")]
    (hop, other) = parse_item(1, community_line(both)).triples
    assert {(hop.subject, hop.object), (other.subject, other.object)} == {
        ("Ouroboros", "Ouroboros"),
        ("Fox", "Ouroboros"),
    }


def test_a_community_is_no_path() -> None:
    """Lists side by side are told from steps one after the other."""
    path = parse_item(1, "(a) -[r]-> (b) -[s]-> (c), (d), ... and 3 more")
    assert not path.community
    assert [(found.source, found.ends, found.more) for found in path.lists] == [("b", ("c", "d"), 3)]
    star = parse_item(1, "(a) -[r]-> (b), ... and 3 more; -[s]-> (c) | (c) <-[t]- (d)")
    assert star.community
    assert star.mores == (3, 0, 0)
    assert [(found.source, found.ends, found.more) for found in star.lists] == [
        ("a", ("b",), 3),
        ("a", ("c",), 0),
        ("c", ("d",), 0),
    ]


def test_labels_of_the_grammar_tests_too() -> None:
    """The alphabet of tests/prompts/test_lines.py through random triples."""
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 3), LABELS, st.integers(0, 3)), min_size=1, max_size=6),
        st.lists(LABELS, min_size=4, max_size=4),
    )
    def check(edges: list[tuple[int, str, int]], names: list[str]) -> None:
        community = [
            {**triple(n, names[a], relation, names[b]), "subject": str(a), "object": str(b)}
            for n, (a, relation, b) in enumerate(edges)
        ]
        assert read(community_line(community)) == meant(community)

    check()
