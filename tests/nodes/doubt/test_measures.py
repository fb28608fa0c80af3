"""Is a number what the question asks for, and is what it asks for a number?"""

from __future__ import annotations

import pytest
from nodes.doubt.doubt_kit import against
from nodes.flows import TypedStore, triple

from thinkgraph.testing.memory import MemoryGraphStore


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
    found = against(question, value, cited=[one], graph=graph)
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
    cited = [one for found in near for one in found["triples"]]
    for graph.types in ({"Volga": "river", "Russia": "country"}, {}):
        found = against(question, answer, cited=cited, graph=graph)
        said = f"the question asks for a number of a river, and {fault}" if fault and graph.types else ""
        assert found == said


def test_a_number_of_a_relation_that_says_more_is_another_one() -> None:
    ages = [triple("m", "Austria", "median age", "44.5", literal=True)]
    fault = "the question asks for age, and 44.5 is its median age"
    assert against("At what age may people vote in Austria?", "44.5", cited=ages) == fault
    assert against("What is the median age in Austria?", "44.5", cited=ages) == ""
    area = [triple("a", "Austria", "area sq km", "83871", literal=True)]
    assert against("What is the area of Austria?", "83871", cited=area) == ""


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
        # A text may list what the question counts.
        ("How many countries border Austria?", "Hungary", True),
        ("How many countries border Austria?", "eight", False),
        ("How many countries border Austria?", "none", False),
        ("How much land does Austria have?", "hills", False),
    ],
)
def test_a_measure_is_told_in_numbers(question: str, answer: str, *, fault: bool) -> None:
    found = against(question, answer, cited=[triple("a", "Austria", "voters", answer, literal=True)])
    assert found.endswith(f"and {answer} is no number") is fault


def test_names_are_no_count() -> None:
    question = "How many countries border Austria?"
    told = "the question asks how many, and 2 names are given"
    borders = [triple("h", "Austria", "borders", "Hungary"), triple("i", "Austria", "borders", "Italy")]
    assert against(question, "Hungary", "Italy", cited=borders) == told
    assert against(question, "2", cited=borders) == ""
    assert against("Which countries border Austria?", "Hungary", "Italy", cited=borders) == ""
