"""A method's own trace in the terminal, as it grows and with the answer."""

from __future__ import annotations

from thinkgraph.cli.show import outline, render_answer, show_progress
from thinkgraph.state.answer import Answer, Evidence, Trace, TraceLine
from thinkgraph.state.events import Traced
from thinkgraph.state.usage import summarise

LINES = [TraceLine(level=0, text="Who rules?"), TraceLine(level=1, text="the \x1b[31mking\x1b[0m of " + "x" * 400)]


def test_an_outline_is_indented_and_cut_to_the_terminal() -> None:
    first, second = outline(LINES, 60)
    assert first == "Who rules?"
    assert second.startswith("  the ")
    assert second.endswith("…")
    assert len(second) == 60
    assert "\x1b" not in second


def test_a_traced_event_is_shown_under_its_title() -> None:
    said: list[str] = []
    show_progress(Traced(type="traced", round=2, title="mind map", lines=LINES[:1]), said.append)
    assert said == ["  round 2    mind map:", "             Who rules?"]


def test_an_answer_shows_its_trace_only_where_it_has_one() -> None:
    answer = Answer(
        question="Who rules?",
        text="I don't know: nothing is known.",
        answers=[],
        status="unknown",
        reason="nothing is known",
        evidence=Evidence(triples=[], passages=[], paths=[]),
        usage=summarise({}, {}),
        pruned=[],
        trace=Trace(title="mind map", lines=LINES, data={}),
        rounds=0,
        method="coggrag",
        model="offline",
        confidence=None,
        signals={},
        support=[],
    )
    assert "generated" not in render_answer(answer)
    written = render_answer({**answer, "usage": {**answer["usage"], "generated_texts": 3}})
    assert "0 texts encoded, 3 texts generated, 0.0 s" in written
    assert "\nconfident" not in render_answer(answer)
    assert "\nconfident 0.70\n" in render_answer({**answer, "confidence": 0.7})
    assert "\nmind map\n          Who rules?\n" in render_answer(answer)
    assert render_answer(answer).endswith("with coggrag in 0 rounds")
    once = {**answer["usage"], "total": {**answer["usage"]["total"], "calls": 1}, "encoder_texts": 1}
    said = render_answer({**answer, "usage": {**once, "store_round_trips": 1}})
    assert "usage     1 model call, " in said
    assert "1 store round trip, 1 text encoded, " in said
    assert render_answer({**answer, "rounds": 1}).endswith("with coggrag in 1 round")
    assert "mind map" not in render_answer({**answer, "trace": Trace(title="", lines=[], data={})})
