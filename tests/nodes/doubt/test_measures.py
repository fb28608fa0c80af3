"""Is a number what the question asks for, and is what it asks for a number?"""

from __future__ import annotations

import pytest
from nodes.flows import TypedStore, deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import Path, path_item
from thinkgraph.state.knowledge import Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore


def said(question: str, answer: str, triples: list[Triple]) -> str:
    """What speaks against an answer that stands on these statements."""
    items = [path_item(one["id"], Path(start=one["subject"], triples=[]), [one["id"]], total=1) for one in triples]
    walk = Walk(question, items, Texts({one["id"]: one for one in triples}, {}))
    return str(outcome(misfit([answer], walk), deps_of(MemoryGraphStore([]), HashEmbedder())))


@pytest.mark.parametrize(
    ("question", "relation", "value", "fault"),
    [
        ("How long is the Osk?", "basin", "22490 sq km", "an area"),
        ("How large is the Osk?", "basin", "22490 km²", ""),
        ("How deep is the Osk?", "area_sq_km", "22490", "its area"),
        ("How deep is the Osk?", "elevation_m", "22490", "its height"),
        ("How deep is the Osk?", "depth_m", "22490", ""),
        ("How deep is the Osk?", "average", "22490", ""),
        ("How large is the population of the Osk?", "population", "22490", ""),
        ("How many people live at the Osk?", "population", "22490", ""),
        ("How many square kilometers does the Osk drain?", "area_sq_km", "22490", ""),
        ("How many meters high is the Osk?", "elevation_m", "22490", ""),
        ("How many towns lie on the Osk?", "elevation_m", "22490", "its height"),
        ("How much is the Osk?", "area", "22490", ""),
    ],
)
def test_a_number_measures_what_is_asked_for(question: str, relation: str, value: str, fault: str) -> None:
    graph = MemoryGraphStore([("Osk", relation, value)], literals=[relation])
    (found_there,) = graph.neighbourhood(["Osk"], limit=9, seed=0)
    (one,) = found_there["triples"]
    items = [path_item(one["id"], Path(start="Osk", triples=[]), [one["id"]], total=1)]
    found = str(
        outcome(misfit([value], Walk(question, items, Texts({one["id"]: one}, {}))), deps_of(graph, HashEmbedder()))
    )
    assert found == (f"the question asks for a number, and {value} is {fault}" if fault else "")


@pytest.mark.parametrize(
    ("question", "answer", "fault"),
    [
        ("How long is the river in Russia?", "37653 km", "37653 km is one of a country"),
        ("How long is the river in Russia?", "37653", "37653 is one of a country"),
        ("How long is the river in Russia?", "3531 km", ""),
        ("How long is the coast of Russia?", "37653 km", ""),
        ("How long is it in Russia?", "37653 km", ""),
    ],
)
def test_a_number_is_of_what_it_is_asked_of(question: str, answer: str, fault: str) -> None:
    graph = TypedStore(
        [("Volga", "length", "3531"), ("Russia", "coastline", "37653")], literals=["length", "coastline"]
    )
    near = graph.neighbourhood(["Volga", "Russia"], limit=9, seed=0)
    known = {one["id"]: one for found in near for one in found["triples"]}
    items = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    for graph.types in ({"Volga": "river", "Russia": "country"}, {}):
        found = str(outcome(misfit([answer], Walk(question, items, Texts(known, {}))), deps_of(graph, HashEmbedder())))
        said = f"the question asks for a number of a river, and {fault}" if fault and graph.types else ""
        assert found == said


def test_a_number_of_a_relation_that_says_more_is_another_one() -> None:
    ages = [triple("m", "Austria", "median age", "44.5", literal=True)]
    fault = "the question asks for age, and 44.5 is its median age"
    assert said("At what age may people vote in Austria?", "44.5", ages) == fault
    assert said("What is the median age in Austria?", "44.5", ages) == ""
    area = [triple("a", "Austria", "area sq km", "83871", literal=True)]
    assert said("What is the area of Austria?", "83871", area) == ""


@pytest.mark.parametrize(
    ("question", "answer", "fault"),
    [
        ("From which age may one vote in Austria?", "Citizens", True),
        ("What is the height of the Osk?", "very high", True),
        ("From which age may one vote in Austria?", "16", False),
        ("From which age may one vote in Austria?", "sixteen or eighteen years", False),
        ("In which age was bronze first used?", "the Bronze Age", False),
        ("What is the population made of?", "about nine million", False),
        ("In which area is it spoken?", "Tyrol", False),
    ],
)
def test_a_measure_is_told_in_numbers(question: str, answer: str, *, fault: bool) -> None:
    found = said(question, answer, [triple("a", "Austria", "voters", answer, literal=True)])
    assert found.endswith(f"and {answer} is no number") is fault
