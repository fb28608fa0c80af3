"""Pictures of answers: whole, legible, harmless, for every method."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case
from hypothesis import given
from hypothesis import strategies as st
from plot.answers import answer_of, chains, community, passage, path
from triples import triple

import thinkgraph as tg
from thinkgraph.errors import UsageError
from thinkgraph.plot.picture import MOST_ANSWERS, MOST_ENDS, Node, picture_of
from thinkgraph.plot.save import check_target, plot_answer
from thinkgraph.plot.svg import HEAD, LINE, SMALL, lay_out, plain, svg_of, width, wrap
from thinkgraph.state.answer import Answer
from thinkgraph.state.knowledge import Triple

SVG = "{http://www.w3.org/2000/svg}"
PANAMA = [
    triple("Baru", "located in", "Panama"),
    triple("Panama", "capital", "Panama City"),
    triple("Panama", "borders", "Colombia", length_km="339"),
    triple("Costa Rica", "borders", "Panama"),
    triple("Panama", "population", "4500000", literal=True),
]
WALK = answer_of(
    ["Panama City"],
    [path("Baru", PANAMA[:2]), path("Panama", [PANAMA[2]]), path("Panama", [PANAMA[3]]), path("Panama", [PANAMA[4]])],
    PANAMA,
)
INSIDE = [triple("Panama", "capital", "Panama City"), triple("Panama City", "mayor", "Mayer")]
JOIN = [triple("Baru", "located in", "Panama"), triple("Colombia", "borders", "Panama")]
LATER = [triple("Colombia", "capital", "Bogota")]
STRAY = [triple("Baru", "kind of", "volcano"), triple("volcano", "made of", "rock"), triple("x", "y", "z")]
CHAINS = answer_of(
    ["Bogota"],
    triples=[*INSIDE, *JOIN, *LATER, *STRAY],
    trace=chains(
        ["Baru"],
        [
            community("a", 0, ["Panama", "Panama City", "Mayer"], INSIDE, JOIN[:1]),
            community("b", 1, ["Colombia", "Bogota"], LATER, JOIN[1:]),
        ],
        [community("c", 0, ["Lava", "Panama"], [triple("not", "cited", "here")], JOIN[:1])],
    ),
)


def parsed(document: str) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314 - our own document


def tree(answer: Answer) -> ET.Element:
    return parsed(svg_of(answer, picture_of(answer)))


def placed(answer: Answer) -> list[Node]:
    """The picture with everything in its place."""
    nodes = picture_of(answer)
    lay_out(nodes)
    return nodes


def drawn(answer: Answer) -> Counter[str]:
    """How often each triple is drawn."""
    found: Counter[str] = Counter()
    for group in tree(answer).iter(f"{SVG}g"):
        found.update(json.loads(group.get("data-triples", "[]")))
    return found


def texts(answer: Answer) -> list[str]:
    return [element.text or "" for element in tree(answer).iter(f"{SVG}text")]


def classes(answer: Answer, kind: str) -> list[str]:
    """What stands in the nodes of a kind."""
    found = [group for group in tree(answer).iter(f"{SVG}g") if kind in group.get("class", "").split()]
    return [" ".join(text.text or "" for text in group.findall(f"{SVG}text")) for group in found]


@pytest.mark.parametrize("answer", [WALK, CHAINS], ids=["paths", "chains"])
def test_every_cited_triple_is_drawn_once(answer: Answer) -> None:
    assert drawn(answer) == Counter({t["id"]: 1 for t in answer["evidence"]["triples"]})


def test_a_walk_runs_from_its_start_to_the_answer() -> None:
    place = {node.text: node for node in placed(WALK)}
    x = {text: node.x for text, node in place.items()}
    assert x["Baru"] < x["Panama"] < x["Panama City"] == x["Colombia"] == x["Costa Rica"] == x["4500000"]
    assert classes(WALK, "start") == ["Baru", "Panama"]
    assert classes(WALK, "answer") == ["Panama City"]
    assert classes(WALK, "literal") == ["4500000"]
    assert {"located in", "capital", "borders", "borders {length km=339}"} <= set(texts(WALK))
    assert place["Panama City"].forward
    assert not place["Costa Rica"].forward, "Costa Rica borders Panama: the arrow points back to Panama"


def test_question_answer_and_status_stand_above() -> None:
    assert texts(WALK)[:3] == ["Which?", "Panama City", "grounded: the evidence holds the answer (tog2, offline)"]
    sure = texts({**WALK, "confidence": 0.9})[2]
    assert sure == "grounded, confidence 0.90: the evidence holds the answer (tog2, offline)"


def test_chains_of_communities_run_from_their_start() -> None:
    nodes = placed(CHAINS)
    first, second, other = (node for node in nodes if node.kind == "community")
    assert first.text == "chain 1 · header: Panama, Panama City, Mayer"
    assert second.text == "chain 1 · round 1: Colombia, Bogota"
    assert other.text == "chain 2 · header: Lava, Panama"
    assert second.parent is first
    assert first.parent is other.parent
    assert first.parent
    assert (first.parent.text, first.parent.start) == ("Baru", True)
    assert first.x + first.w < second.x
    assert first.y + first.h < other.y
    assert classes(CHAINS, "community") == [first.text, second.text, other.text]


def test_a_community_that_nothing_cites_is_drawn_from_its_names() -> None:
    trace = chains(["Baru"], [community("a", 0, ["Panama", "David"], INSIDE, JOIN[:1])])
    answer = answer_of([], trace=trace, status="unknown")
    assert not drawn(answer)
    assert {"Baru", "chain 1 · header: Panama, David"} <= set(texts(answer))
    assert texts(answer)[2].startswith("unknown: ")
    many = chains(["Baru"], [community("a", 0, [f"n{n}" for n in range(40)], [], [])])
    assert "n6, n7 … and 32 more" in " ".join(texts(answer_of([], trace=many, status="unknown")))


@pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.status == "grounded"))
def test_every_method_can_be_drawn(name: str, tmp_path: Path) -> None:
    case: Case = CASES[name]
    graph = tg.build(
        case.method, model=FakeModel(case.replies), knowledge=case.knowledge(), settings=dict(case.settings)
    )
    answer = graph.invoke({"question": case.question})["answer"]
    file = tg.plot_answer(answer, tmp_path / "picture.svg")
    assert all(text in file.read_text("utf-8") for text in answer["answers"])
    assert drawn(answer) == Counter({t["id"]: 1 for t in answer["evidence"]["triples"]})


def test_long_lists_are_folded_and_nothing_of_them_is_lost() -> None:
    tails = [triple("Hub", "links to", f"leaf {n}") for n in range(60)]
    more = [triple("leaf 3", "has", f"thing {n}") for n in range(2)]
    answers = [f"leaf {n}" for n in range(50, 60)]
    answer = answer_of(answers, [path("Hub", [], tails), path("Hub", [tails[3]], more)], [*tails, *more])
    assert drawn(answer) == Counter({t["id"]: 1 for t in [*tails, *more]})
    # leaf 3 leads on, so it is not at the end of anything.
    assert f"… and {60 - 1 - (MOST_ANSWERS - 1)} more" in texts(answer)
    assert len(classes(answer, "answer")) == 10
    plain_list = answer_of(["x"], [path("Hub", [], tails)], tails)
    assert f"… and {60 - (MOST_ENDS - 1)} more" in texts(plain_list)
    few = answer_of(["x"], [path("Hub", [], tails[:MOST_ENDS])], tails[:MOST_ENDS])
    assert not [text for text in texts(few) if "more" in text]


def test_passages_are_notes_beside_their_node_and_lead_to_an_answer_that_only_they_hold() -> None:
    about = [
        passage("p1", "Panama", "x " * 200 + "one may vote from the age of 18 there"),
        passage("p2", "Elsewhere", "…"),
    ]
    answer = answer_of(["18"], [path("Baru", PANAMA[:1])], PANAMA[:1], about)
    place = {node.text[:9]: node for node in placed(answer)}
    assert place["18"].parent is place["Panama: …"]
    assert place["Panama: …"].parent is place["Panama"]
    assert place["Elsewhere"].parent is None
    assert len([group for group in tree(answer).iter(f"{SVG}g") if group.get("class") == "link"]) == 2
    assert any("18" in text for text in classes(answer, "passage")), "the note shows where the answer stands"
    assert classes(answer, "answer") == ["18"]
    # Nothing but a passage is a picture too.
    only = answer_of(["18"], passages=about[:1])
    assert classes(only, "answer") == ["18"]


def test_loops_and_several_edges_between_two_nodes() -> None:
    edges = [triple("a", "eats", "a"), triple("a", "r1", "b"), triple("a", "r2", "b"), triple("b", "r3", "a")]
    answer = answer_of(["b"], [path("a", [edge]) for edge in edges[1:]], edges)
    assert drawn(answer) == Counter({edge["id"]: 1 for edge in edges})
    relations = {node.relation: (node.parent.text, node.text, node.forward) for node in placed(answer) if node.parent}
    assert relations == {
        "r1": ("a", "b", True),
        "r2": ("a", "b", True),
        "r3": ("b", "a", True),
        "eats": ("a", "a", True),
    }
    alone = answer_of(["a"], [path("a", edges[:1])], edges[:1])
    assert drawn(alone) == Counter({edges[0]["id"]: 1})


HOSTILE = [
    "<script>alert(1)</script>", 'x" onload="alert(1)', "a\x1b[31mred", "\u202eevil", "]]>", "&lt;", "\x00\ud800\ufffe", "", " ",
    "'quote'", "x" * 3000, "日本 " * 60, "שלום עולם", "नमस्ते", "🧑‍🚀 emoji", "(a) -[b]-> (c)", "| x; y",
]  # fmt: skip


def overlaps(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    (x0, y0, w0, h0), (x1, y1, w1, h1) = one, other
    return x0 < x1 + w1 and x1 < x0 + w0 and y0 < y1 + h1 and y1 < y0 + h0


def check_geometry(answer: Answer) -> None:
    """No two nodes, and no two labels, lie on each other; no label on a node; edges run from left to right; all is inside."""
    nodes = picture_of(answer)
    wide, high = lay_out(nodes)
    rectangles = [(node.x, node.y, node.w, node.h) for node in nodes]
    labels = []
    for node in nodes:
        if node.parent:
            assert node.parent.x + node.parent.w <= node.bend < node.x
        if node.relation:
            room = width(node.relation, SMALL)
            assert node.bend < node.x - HEAD - room
            labels.append((node.x - HEAD - room, node.y + node.h / 2 - SMALL * LINE - 2, room, SMALL * LINE))
    assert not [pair for pair in combinations(rectangles, 2) if overlaps(*pair)]
    assert not [pair for pair in combinations(labels, 2) if overlaps(*pair)]
    assert not [(label, node) for label in labels for node in rectangles if overlaps(label, node)]
    for x, y, w, h in [*rectangles, *labels]:
        assert 0 <= x <= x + w <= wide
        assert 0 <= y <= y + h <= high


def harmless(document: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]", document)
    assert "<script" not in document
    assert not re.search(r"<[^>]*\son\w+=", document)


names = st.one_of(st.sampled_from(HOSTILE), st.sampled_from([f"node {n}" for n in range(12)]), st.text(max_size=12))


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Any answer: triples of all shapes, paths through them, passages, chains of communities."""
    rows = draw(st.lists(st.tuples(names, names, names, st.booleans()), min_size=1, max_size=14))
    made: dict[str, Triple] = {}
    for at, (subject, relation, obj, literal) in enumerate(rows):
        found = triple(subject, relation, obj, literal=literal)
        made[f"t{at}"] = {**found, "id": f"t{at}"}
    every = list(made.values())
    paths = [path(t["subject"] if draw(st.booleans()) else t["object"], [t]) for t in every if draw(st.booleans())]
    passages = [passage(f"p{n}", draw(names), draw(names)) for n in range(draw(st.integers(0, 3)))]
    trace = tg_trace(draw, every) if draw(st.booleans()) else None
    options: Any = {"trace": trace} if trace else {}
    return answer_of([draw(names)], paths, every, passages, question=draw(names), **options)


def tg_trace(draw: st.DrawFn, every: list[Triple]) -> Any:
    listed = []
    for _ in range(draw(st.integers(1, 3))):
        chain = []
        for number in range(draw(st.integers(1, 3))):
            inside = draw(st.lists(st.sampled_from(every), max_size=3))
            joining = draw(st.lists(st.sampled_from(every), max_size=2))
            nodes = dict.fromkeys(
                [*(t["subject"] for t in inside), *(t["object"] for t in inside), *draw(st.lists(names, max_size=3))]
            )
            chain.append(community("c", number, list(nodes), inside, joining))
        listed.append(chain)
    return chains(draw(st.lists(names, min_size=1, max_size=2, unique=True)), *listed)


@given(answers())
def test_any_answer_makes_a_whole_legible_and_harmless_picture(answer: Answer) -> None:
    assert drawn(answer) == Counter({t["id"]: 1 for t in answer["evidence"]["triples"]})
    check_geometry(answer)
    harmless(svg_of(answer, picture_of(answer)))


@pytest.mark.parametrize("answer", [WALK, CHAINS], ids=["paths", "chains"])
def test_usual_pictures_are_legible(answer: Answer) -> None:
    check_geometry(answer)


def test_a_crowd_is_drawn_in_no_time() -> None:
    every = [triple(f"a{n % 40}", f"r{n % 7}", f"b{n}") for n in range(4000)]
    answer = answer_of(["b7"], [path(t["subject"], [t]) for t in every], every)
    assert sum(drawn(answer).values()) == 4000
    assert len(picture_of(answer)) < 2000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.png", "a picture is written as .svg or .html, not as 'a.png'"),
        ("a", "a picture is written as .svg or .html, not as 'a'"),
        ("nowhere/a.svg", "there is no folder"),
        ("file/a.svg", "is a file, not a folder"),
        ("folder.svg", "is a folder; name a file"),
    ],
)
def test_targets_that_cannot_be_written(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.svg").mkdir()
    for attempt in (check_target, lambda file: plot_answer(WALK, file)):
        with pytest.raises(UsageError, match=re.escape(words)):
            attempt(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.svg"]


def test_a_folder_that_takes_no_file() -> None:
    with pytest.raises(UsageError, match="no picture can be written to /proc"):
        check_target("/proc/a.svg")


def test_an_answer_that_cites_nothing_shows_what_was_looked_at_and_where_it_stopped() -> None:
    notes: list[Any] = [
        {"round": 1, "what": "relations", "kept": 2, "dropped": 5, "examples": ["near", "part of"]},
        {"round": 1, "what": "entities", "kept": 0, "dropped": 3, "examples": []},
    ]
    lines: list[Any] = [{"level": level, "text": text} for level, text in ((0, "first"), (1, "below"), (0, "second"))]
    answer = answer_of([], status="unknown")
    answer.update(pruned=notes, reason="the evidence holds no answer")
    answer["trace"]["lines"] = lines
    nodes = picture_of(answer)
    first, second, a, below, b, end = nodes
    assert [node.text for node in nodes] == [
        *("round 1 · relations: 2 of 7 kept", "round 1 · entities: 0 of 3 kept", "first", "below", "second"),
        "unknown: the evidence holds no answer",
    ]
    assert [node.parent for node in nodes] == [None, first, second, a, second, second]
    assert first.tip == "near\npart of"
    assert (b.kind, end.kind) == ("community", "folded")
    assert below.text in svg_of(answer, nodes)


def test_an_older_picture_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.SVG"
    file.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UsageError, match="No space left on device"):
        plot_answer(WALK, file)
    monkeypatch.undo()
    assert file.read_text() == "old"
    assert plot_answer(WALK, str(file)) == file
    assert file.read_text("utf-8").startswith("<svg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.SVG"]


def test_text_is_measured_and_broken() -> None:
    assert wrap("", 10, 3) == [""]
    assert wrap("one two three", 7, 3) == ["one two", "three"]
    assert wrap("abcdefghijklmnopqrstuvw", 8, 2)[-1].endswith("…")
    assert all(len(line) <= 12 for line in wrap("漢字 " * 30 + "word " * 30, 12, 4))
    assert len(wrap("word " * 100, 12, 4)) == 4
    assert width("漢", 10) > width("a", 10) > width("i", 10) > width("\u0301", 10) == 0
    assert plain("a\x1b[0m\u202e\ufffe b") == "a [0m b"


@pytest.mark.parametrize("given", [{"answer": WALK, "messages": []}, None, "Paris"])
@pytest.mark.parametrize("draw", [tg.plot_answer, tg.save_page, lambda given, _path: tg.show(given)])
def test_what_is_no_answer_is_refused_with_where_to_find_it(tmp_path, draw, given):
    with pytest.raises(UsageError, match=r"^an answer is what a graph returns under 'answer'"):
        draw(given, tmp_path / ("why.svg" if draw is tg.plot_answer else "why.html"))
    assert not list(tmp_path.iterdir())


def test_a_page_is_not_written_as_a_picture(tmp_path):
    with pytest.raises(UsageError, match=r"^a page is an \.html; thinkgraph\.plot_answer draws the picture why\.svg$"):
        tg.save_page(WALK, tmp_path / "why.svg")
