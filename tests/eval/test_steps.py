"""The steps of a run, timed."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from thinkgraph.eval.bench import BenchPlan, run_bench
from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.steps import StepClock
from thinkgraph.tools.knowledge import Knowledge


def test_a_bench_times_the_nodes_of_its_runs_where_it_is_told_to() -> None:
    questions = load_questions("world", 2)
    with Knowledge.open("world") as knowledge:
        methods: dict[str, dict[str, Any]] = {"kg_rag": {}}
        timed = run_bench(BenchPlan(questions, knowledge, methods, "offline", concurrency=2, clocks={}))
        plain = run_bench(BenchPlan(questions, knowledge, methods, "offline"))
    for result in timed:
        assert {"begin", "answer"} < set(result["steps"])
        assert {step["turns"] for step in result["steps"].values()} == {1}
        assert 0 < sum(step["seconds"] for step in result["steps"].values()) < 60
    assert not any("steps" in result for result in plain)


def test_a_fan_out_is_one_turn_and_what_runs_inside_a_node_is_none() -> None:
    clock = StepClock()
    runs: list[UUID] = [uuid4() for _ in range(4)]

    def start(run: UUID, name: str, step: int) -> None:
        clock.on_chain_start(run_id=run, name=name, metadata={"langgraph_node": "prune", "langgraph_step": step})

    start(runs[0], "prune", 2)
    start(runs[1], "prune", 2)
    start(runs[2], "inner", 2)
    for run in runs[:3]:
        clock.on_chain_end(run_id=run)
    start(runs[3], "prune", 4)
    clock.on_chain_end(run_id=runs[3])
    assert list(clock.times()) == ["prune"]
    assert clock.times()["prune"]["turns"] == 2
