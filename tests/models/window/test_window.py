"""The model's window: refusals in every provider's words, the estimate that learns, and prompts that are cut to fit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from thinkgraph.models.window import FittedPrompt, Gauge, TooLong, fit, shorten, too_long, weigh, weigh_all
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary

REASON = PromptLibrary().get("tog2.reason")


def fitted(prompt: Prompt, given: Mapping[str, str], shape: Shape, *, shots: int, **options: Any) -> FittedPrompt:
    def render(inputs: Mapping[str, str], shown: Shape, shots: int) -> list[Message]:
        return prompt.render(inputs, shown, shots=shots)

    return fit(FittedPrompt(render(given, shape, shots), shape), render, given, shots=shots, **options)


@pytest.mark.parametrize(
    ("text", "window", "prompt"),
    [
        (
            (
                "Error code: 400 - {'error': {'code': 400, 'message': 'the request exceeds the available context size, try "
                "increasing it', 'type': 'exceed_context_size_error', 'n_prompt_tokens': 5012, 'n_ctx': 4096}}"
            ),
            4096,
            5012,
        ),
        ("request (5012 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 5012),
        (
            "This model's maximum context length is 4097 tokens. However, your messages resulted in 5001 tokens.",
            4097,
            5001,
        ),
        (
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8600 in the "
                "messages, 400 in the completion). Please reduce the length of the messages or completion."
            ),
            8192,
            8600,
        ),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 600. This model's maximum context length is 4096 "
                "tokens and your request has 3900 input tokens (600 > 4096 - 3900)."
            ),
            4096,
            3900,
        ),
        (
            (
                "You passed 4500 input tokens and requested 100 output tokens. However, the model's context length is only "
                "4096 tokens"
            ),
            4096,
            4500,
        ),
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
        (
            (
                "This endpoint's maximum context length is 32,768 tokens. However, you requested about 40000 tokens "
                "(39000 of text input, 1000 in the output)."
            ),
            32768,
            39000,
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
        ("input length and `max_tokens` exceed context limit: 199000 + 2000 > 200000, decrease one", 200000, 199000),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1048576,
            1200000,
        ),
        ("The input token count exceeds the maximum number of tokens allowed 32768.", 32768, None),
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            32768,
            40000,
        ),
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60",
            2048,
            3474,
        ),
        ("Input validation error: `inputs` must have less than 1024 tokens. Given: 1168", 1024, 1168),
        ("This model's maximum prompt length is 131072 but the request contains 136973 tokens.", 131072, 136973),
        ("Your request exceeded model token limit: 262144 (requested: 269030)", 262144, None),
        ("The input (14929 tokens) is longer than the model's context length (10485 tokens).", 10485, 14929),
        ("ValidationException: Input is too long for requested model.", None, None),
        ("the model is loaded with context length of only 4096 tokens, which is not enough", 4096, None),
        ("the input length exceeds the context length (status code: 400)", None, None),
        ("Please reduce the length of the messages. code: context_length_exceeded", None, None),
    ],
)
def test_a_refusal_tells_window_and_prompt(text: str, window: int | None, prompt: int | None) -> None:
    assert too_long(text) == TooLong(window, prompt)


@pytest.mark.parametrize(
    "text",
    ["temperature must be at most 1", "max_tokens is too large: 5000", "rate limit: 30000 tokens per minute", ""],
)
def test_another_refusal_is_not_about_the_window(text: str) -> None:
    assert too_long(text) is None


def test_statements_and_other_scripts_weigh_more_than_prose_of_their_length() -> None:
    prose, arrows = "Panama borders two countries near it", "(Panama) -[borders]-> (A 1), (B 2)-"
    assert len(prose) == len(arrows) + 1
    assert weigh(arrows) > 1.2 * weigh(prose)
    assert weigh("問題") >= 2
    assert weigh("[1] 4500000") >= 7


def test_the_estimate_learns_from_what_the_server_counts() -> None:
    gauge = Gauge()
    first = gauge.tokens(1000)
    assert first >= 1000
    gauge.saw(1000, 500)
    assert gauge.tokens(1000) < 600
    gauge.saw(1000, 900)
    gauge.saw(1000, 400)
    assert gauge.tokens(1000) > 900, "the largest of recent ones"
    gauge.saw(10, 1000)
    gauge.saw(1000, 0)
    assert gauge.tokens(1000) < 1000, "short prompts and servers that do not count teach nothing"
    gauge.saw(10, 1000, sure=True)
    assert gauge.tokens(1000) > 10_000
    assert gauge.room(1000) < 10


def inputs(lines: int, **more: str) -> dict[str, str]:
    evidence = "\n".join(f"[{number}] (Town {number}) -[river]-> (Osk)" for number in range(1, lines + 1))
    return {"question": "Which?", "evidence": evidence, "clues": "", "doubted": "", "task": "", "next": "", **more}


def written(lines: int, room: float | None, **options: Any) -> Any:
    given = {"shots": 2, "room": room, **options}
    return fitted(REASON, inputs(lines), Shape(evidence=lines), **given)


def test_a_prompt_that_fits_is_left_as_it_is() -> None:
    whole = written(40, None)
    assert whole.left_out == 0
    assert written(40, whole.weight) == whole


def test_worked_examples_go_before_evidence() -> None:
    whole = written(40, None)
    cut = written(40, whole.weight - 1)
    assert (cut.left_out, cut.shape) == (0, whole.shape)
    assert [role for role, _ in whole.messages].count("assistant") == 2
    assert [role for role, _ in cut.messages].count("assistant") == 1


def test_lines_go_from_the_end_and_what_is_left_can_be_named() -> None:
    room = written(40, None, shots=0).weight * 0.8
    cut = written(40, room)
    assert cut.weight <= room
    assert cut.left_out > 0
    assert cut.shape == Shape(evidence=40 - cut.left_out)
    assert f"[{cut.shape.evidence}] " in cut.messages[-1][1]
    assert f"[{cut.shape.evidence + 1}] " not in cut.messages[-1][1]


def test_lines_go_by_rank_where_one_is_given() -> None:
    room = written(40, None, shots=0).weight * 0.8
    cut = written(40, room, rank={"evidence": [40, 39, *range(1, 39)]})
    assert cut.shape.evidence == 40
    assert cut.shape.unseen == tuple(range(39 - cut.left_out, 39))
    assert "[40] " in cut.messages[-1][1]


def test_the_longest_list_is_cut_first() -> None:
    prompt = PromptLibrary().get("fasttog.community_prune")
    options = "\n".join(f"[{n}] (Town {n}) -[river]-> (Osk); -[mayor]-> (Brede)" for n in range(1, 30))
    given = {
        "question": "q",
        "entities": "[1] Osk",
        "evidence": "[1] (a) -[r]-> (b)\n[2] (b) -[r]-> (c)",
        "options": options,
    }
    whole = fitted(prompt, given, Shape(options=29), shots=0, room=None)
    cut = fitted(prompt, given, Shape(options=29), shots=0, room=whole.weight * 0.7)
    assert "[2] (b) -[r]-> (c)" in cut.messages[-1][1]
    assert cut.shape.options == 29 - cut.left_out < 29


def test_a_head_goes_with_its_lines_and_a_single_line_is_cut() -> None:
    evidence = "Chain 1:\n[1] one\n[2] two\nChain 2:\n[3] " + "three " * 400
    given = {**inputs(1), "evidence": evidence}
    whole = fitted(REASON, given, Shape(evidence=3), shots=0, room=None)
    cut = fitted(REASON, given, Shape(evidence=3), shots=0, room=whole.weight / 2)
    assert "Chain 1:\n[1] one" in cut.messages[-1][1]
    assert "Chain 2:" not in cut.messages[-1][1]
    alone = fitted(REASON, given, Shape(evidence=3), shots=0, room=whole.weight / 2, rank={"evidence": [3]})
    assert alone.shape == Shape(evidence=3, unseen=(1, 2))
    assert "Chain 2:\n[3] three three" in alone.messages[-1][1]
    assert "Chain 1:" not in alone.messages[-1][1]


def test_what_tools_said_is_cut_and_the_rest_of_a_conversation_stays() -> None:
    def said(kind: str, text: str) -> Message:
        return "message", json.dumps({"type": kind, "content": text})

    lines = "\n".join(f"[{number}] (Osk) -[town]-> (Town {number})" for number in range(1, 60))
    messages = [said("system", "[1] system"), said("human", "Which?"), said("tool", lines), said("tool", "[60] x")]
    assert shorten(FittedPrompt(messages, Shape()), None).messages == messages
    cut = shorten(FittedPrompt(messages, Shape(evidence=60)), weigh_all(messages) / 2)
    assert list(cut.messages[:2]) == messages[:2]
    assert cut.messages[3] == messages[3]
    assert f"({cut.left_out} more lines do not fit here)" in json.loads(cut.messages[2][1])["content"]
    assert cut.weight < weigh_all(messages) * 0.6


def test_prompts_of_every_kind_can_be_cut() -> None:
    prompt: Prompt = PromptLibrary().get("fiske.r_mapping")
    options = "\n".join(f"[{n}] (Town {n}) -[river]-> x1" for n in range(1, 50))
    given = {"question": "q", "clues": "[1] a\n[2] b", "options": options}
    whole = fitted(prompt, given, Shape(clues=2, options=49), shots=0, room=None)
    cut = fitted(prompt, given, Shape(clues=2, options=49), shots=0, room=whole.weight * 0.7)
    assert cut.shape == Shape(clues=2, options=49 - cut.left_out)
