"""What `doctor` finds out about a model: its speed, its window, whether it keeps to a schema, its reply to every prompt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from thinkgraph.errors import ModelError
from thinkgraph.eval.roles.asking import call_alone
from thinkgraph.eval.roles.cases import sort_of
from thinkgraph.models.calls import REASONS_FIRST, ModelCall, prompt_profile
from thinkgraph.models.client import ChatClient
from thinkgraph.models.failures import classify
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.models.wire.forms import CallOptions, ModelReply
from thinkgraph.nodes.common.judging import NEXT_NONE
from thinkgraph.prompts.files import Part, facts_of
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary, builtin_roles, in_form
from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.parsed import parse_prompt
from thinkgraph.prompts.reading import BadReplyError, strip_thinking
from thinkgraph.prompts.tasks import otherwise, task_words
from thinkgraph.state.events import Event
from thinkgraph.state.settings import LONGEST_TIMEOUT, RunSettings, resolve_settings

Say = Callable[[str], None]

_PATIENCE = LONGEST_TIMEOUT
"""Seconds to the first token, the most that settings accept: a check must not fail by a limit of its own."""
_SPARE = 1.5
"""How many times as long as it took a model should be given: its speed is not always the same."""
_SETTINGS = resolve_settings(RunSettings, {"max_calls": None, "call_timeout": _PATIENCE, "call_retries": 0, "shots": 0})
"""Without worked examples: one of them is what is asked."""
_LISTED = "\n".join(f"[{number}] (Town {number}) -[river]-> (Osk {number})" for number in range(1, 61))
_FORM = {
    "type": "object",
    "properties": {"numbers": {"type": "array", "items": {"type": "integer"}, "maxItems": 3}},
    "required": ["numbers"],
    "additionalProperties": False,
}


def check_model(models: Models, library: PromptLibrary, say: Say) -> int:
    """Ask every role's model its prompt, and find out about each model once.

    Args:
        models: the models by role.
        library: the prompts.
        say: prints a line.

    Returns:
        The number of faults.
    """
    faults = 0
    silent: set[str] = set()
    known: set[str] = set()
    compared: dict[str, dict[bool, list[str]]] = {}
    for role in builtin_roles():
        prompt = library.get(role)
        client = models.of(prompt)
        if client.name in silent:
            continue
        title = f"{role} ({prompt.kind.name})"
        same = False
        try:
            if client.name not in known:
                known.add(client.name)
                _facts(client, say)
            if (example := _example(prompt)) is None:
                say(f"     {title:<36} not asked: its prompt has no worked example")
                continue
            same, found = _one_call(prompt, example, models)
            say(f"ok   {title:<36} {found}")
        except BadReplyError as error:
            say(f"FAIL {title:<36} the reply cannot be read: {one_line(str(error))}")
            faults += 1
        except ModelError as error:
            # Its other roles would meet the same fault.
            say(f"FAIL {title:<36} {one_line(str(error))}")
            silent.add(client.name)
            faults += 1
        if _is_compared(prompt):
            compared.setdefault(client.name, {True: [], False: []})[same].append(role)
    for name in sorted(known - silent - {OFFLINE}):
        if name in compared:
            alike, other = (", ".join(compared[name][same]) or "none" for same in (True, False))
            say(f"     {name} replies as the worked example does (one example each): {alike}; not: {other}")
        say(f"     which roles {name} is good enough for: thinkgraph bench roles --model {name}")
    return faults


def _facts(client: ChatClient, say: Say) -> None:
    """Say what is found out about a model. Raises ModelError where it does not answer."""
    if client.name == OFFLINE:
        return
    say(f"     {client.name} is given {_PATIENCE:.0f} s to begin each reply")
    read, write = _speed(client)
    say(f"ok   {'speed':<24} {client.name} reads {read:.0f} and writes {write:.0f} tokens a second")
    keeps = {
        True: "enforced",
        False: "not enforced: forms are asked for in words",
        None: "not known: the model reasoned until its limit",
    }[_keeps_to_schema(client)]
    refused = sorted(client.refused & {"temperature", "schema", "limit", "effort"})
    without = f"; it refuses {' and '.join(refused)}, and is used without" if refused else ""
    say(f"ok   {'schema':<24} {keeps}{without}")
    client.look_up_window()
    window = client.window
    if window is None:
        say(f"     {'window':<24} not known; a server that refuses a prompt that is too long tells it then")
        return
    readable = int(read * _PATIENCE / _SPARE)
    say(f"ok   {'window':<24} {window:,} tokens")
    usual: float = RunSettings.model_fields["call_timeout"].default
    longest = window / read
    wanted = -(-int(_SPARE * longest) // 60) * 60
    slow = f"     a prompt as long as the window takes {longest:.0f} s to read"
    if window > readable:
        say(
            f"{slow}, and call_timeout is at most {_PATIENCE:.0f}: set call_timeout = {_PATIENCE:.0f} under [settings] "
            f'and a smaller window: [models."{client.name}"] window = {readable}'
        )
    elif longest > 0.8 * usual:
        say(f"{slow}: set call_timeout = {wanted} under [settings]")


def _speed(client: ChatClient) -> tuple[float, float]:
    """Tokens read and written in a second."""
    began = time.monotonic()
    # Fewer tokens are refused by some.
    read = _ask(client, [("system", "Read the list. Reply with OK."), ("user", _LISTED)], limit=16)
    middle = time.monotonic()
    wrote = _ask(client, [("user", "Count from 1 to 40. Write the numbers alone.")], limit=100)
    ended = time.monotonic()
    return read.input_tokens / max(middle - began, 1e-3), max(wrote.output_tokens, 1) / max(ended - middle, 1e-3)


def _keeps_to_schema(client: ChatClient) -> bool | None:
    """Whether a schema is enforced: what is asked for in words contradicts it. None where no reply came within the limit.

    A model that reasons first is asked again with a larger limit, as in a run.
    """
    said: list[Message] = [("user", "Say hello in one friendly sentence.")]
    for factor in (1, REASONS_FIRST):
        reply = _ask(client, said, limit=60 * factor, schema=_FORM)
        text = strip_thinking(reply.text)
        if text or reply.finish != "length":
            break
    else:
        return None
    try:
        return "schema" not in client.refused and isinstance(json.loads(text)["numbers"], list)
    except (ValueError, TypeError, KeyError):
        return False


def _ask(
    client: ChatClient, messages: list[Message], *, limit: int, schema: Mapping[str, Any] | None = None
) -> ModelReply:
    """The reply, without the parameters that the server refuses. Raises ModelError."""
    options = CallOptions(0.0, schema, limit, _PATIENCE, stage="explore")
    while True:
        try:
            return client.invoke(messages, options, {})
        except Exception as error:
            failure = classify(error)
            if failure is None:
                raise
            if failure.refused and client.learn_from(failure.message):
                continue
            raise ModelError(f"model {client.name} failed: {failure.message}") from error


class _Filled(PromptLibrary):
    """One prompt, with a worked example as its user's message."""

    def __init__(self, prompt: Prompt, example: str) -> None:
        super().__init__()
        self._prompt = replace(prompt, users=(Part(example),))

    def get(self, role: str) -> Prompt:
        del role
        return self._prompt


def _example(prompt: Prompt) -> Part | None:
    """The prompt's first worked example of a question, for a standard model: of others it may have fewer."""
    facts = facts_of(prompt.shaped(_shape(prompt), "standard"), "standard", memory=False)
    return next((one for one in prompt.worked if one.fits(facts)), None)


def _shape(prompt: Prompt) -> Shape:
    return Shape(fields=("clues", "query") if prompt.kind.name == "judge" else ())


def _one_call(prompt: Prompt, example: Part, models: Models) -> tuple[bool, str]:
    """Whether the reply to a worked example, laid out for this model, is the example's; and what to say of it.

    Raises:
        BadReplyError: neither the reply nor the one asked for after it can be read.
        ModelError: there is none.
    """
    kind, shape = prompt.kind, _shape(prompt)
    parsed = parse_prompt("", example.text)
    options = len(parsed.lines("options"))
    shape = replace(
        shape,
        options=options,
        evidence=len(parsed.lines("evidence")),
        clues=len(parsed.lines("clues")),
        questions=len(parsed.lines("questions")),
        fields=(*shape.fields, "scores") if shape.fields and options else shape.fields,
        # Which clue an option matches, the encoder tells in a run.
        nearest=(1,) * options,
    )
    # What code writes into prompts; the example stands for the rest.
    words = {"task": task_words("question", ""), "next": NEXT_NONE, "else": otherwise(own=False), "most": "3"}
    inputs = {**dict.fromkeys(prompt.places, ""), **words}
    call = ModelCall(kind=kind, role=prompt.role, inputs=inputs, shape=shape, fallback=None, temperature=0.0)
    problems: list[str] = []

    def note(event: Event) -> None:
        if event["type"] == "called" and event["problem"]:
            problems.append(event["problem"])

    result = call_alone(call, models, _Filled(prompt, example.text), _SETTINGS, emit=note)
    if result.fell_back:
        raise BadReplyError(problems[0])
    shape = prompt.shaped(shape, prompt_profile(prompt, models, _SETTINGS))
    wanted = kind.parse(in_form(example.reply, kind.schema(shape)), shape)
    same = _gist(kind.name, result.value) == _gist(kind.name, wanted)
    verdict = "as its example" if same else "readable, other than its example"
    again = " when asked again" if problems else ""
    return same, f"{verdict if _is_compared(prompt) else 'readable'}{again}: {one_line(str(result.value))[:60]}"


def _is_compared(prompt: Prompt) -> bool:
    """Whether a reply can be compared with an example's: of choices and judgements."""
    return sort_of(prompt) in {"choosing", "judging"}


def _gist(kind: str, value: Any) -> Any:
    """What of a reply must be as in the example."""
    if kind == "judge":
        return value["sufficient"], sorted(answer.casefold() for answer in value["answers"])
    if kind == "score":
        return max(value, key=lambda pair: pair[1])[0] if value else None
    return sorted(value) if kind in {"pick", "pairs"} else value
