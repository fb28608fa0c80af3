"""What `doctor` finds out about a model: its speed, its window, whether it keeps to a schema, its reply to every prompt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from thinkgraph.errors import ModelError
from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.reading import BadReplyError

if TYPE_CHECKING:
    from thinkgraph.models.client import ChatClient
    from thinkgraph.models.roles import Models
    from thinkgraph.models.wire.forms import CallOptions, ModelReply
    from thinkgraph.prompts.library import Message, Prompt, PromptLibrary

Say = Callable[[str], None]

_PATIENCE = 900.0
"""Seconds to the first token: a check must not fail by a limit of its own."""
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
    from thinkgraph.prompts.library import builtin_roles

    faults = 0
    silent: set[str] = set()
    known: set[str] = set()
    for role in builtin_roles():
        prompt = library.get(role)
        client = models.of(prompt)
        if client.name in silent:
            continue
        title = f"{role} ({prompt.kind.name})"
        try:
            if client.name not in known:
                known.add(client.name)
                _facts(client, say)
            say(f"ok   {title:<36} {_one_call(prompt, client)}")
        except BadReplyError as error:
            say(f"FAIL {title:<36} the reply cannot be read: {one_line(str(error))}")
            faults += 1
        except ModelError as error:
            # Its other roles would meet the same fault.
            say(f"FAIL {title:<36} {one_line(str(error))}")
            silent.add(client.name)
            faults += 1
    for name in sorted(known - silent - {"offline"}):
        say(f"     which roles {name} is good enough for: thinkgraph bench roles --model {name}")
    return faults


def _facts(client: ChatClient, say: Say) -> None:
    """Say what is found out about a model. Raises ModelError where it does not answer."""
    from thinkgraph.models.roles import OFFLINE

    if client.name == OFFLINE:
        return
    read, write = _speed(client)
    say(f"ok   {'speed':<24} {client.name} reads {read:.0f} and writes {write:.0f} tokens a second")
    keeps = _keeps_to_schema(client)
    refused = sorted(client.refused & {"temperature", "schema", "limit", "effort"})
    without = f"; it refuses {' and '.join(refused)}, and is used without" if refused else ""
    say(f"ok   {'schema':<24} {'enforced' if keeps else 'not enforced: forms are asked for in words'}{without}")
    window = client.window or served_window(client)
    if window is None:
        say(f"     {'window':<24} not known; the first prompt that is too long will tell")
        return
    told = "" if client.window else f'; say so in thinkgraph.toml: [models."{client.name}"] window = {window}'
    say(f"ok   {'window':<24} {window:,} tokens{told}")
    from thinkgraph.state.settings import RunSettings

    usual: float = RunSettings.model_fields["call_timeout"].default
    longest = window / read
    if longest > 0.8 * usual:
        wanted = -(-int(1.5 * longest) // 60) * 60
        say(
            f"     a prompt as long as the window takes {longest:.0f} s to read: set call_timeout = {wanted} under [settings]"
        )


def _speed(client: ChatClient) -> tuple[float, float]:
    """Tokens read and written in a second."""
    began = time.monotonic()
    read = _ask(client, [("system", "Read the list. Reply with OK."), ("user", _LISTED)], limit=1)
    middle = time.monotonic()
    wrote = _ask(client, [("user", "Count from 1 to 40. Write the numbers alone.")], limit=100)
    ended = time.monotonic()
    return read.input_tokens / max(middle - began, 1e-3), max(wrote.output_tokens, 1) / max(ended - middle, 1e-3)


def _keeps_to_schema(client: ChatClient) -> bool:
    """Whether a schema is enforced: what is asked for in words contradicts it."""
    reply = _ask(client, [("user", "Say hello in one friendly sentence.")], limit=60, schema=_FORM)
    try:
        return "schema" not in client.refused and isinstance(json.loads(reply.text)["numbers"], list)
    except (ValueError, TypeError, KeyError):
        return False


def served_window(client: ChatClient) -> int | None:
    """The window that an OpenAI-compatible server tells of itself: llama.cpp's /props, vLLM's and OpenRouter's /models."""
    base = str(getattr(getattr(client.made(), "root_client", None), "base_url", ""))
    if not base:
        return None
    import httpx

    root = base.rstrip("/").removesuffix("/v1")
    for url, find in ((f"{root}/props", _in_props), (f"{base.rstrip('/')}/models", _in_models)):
        try:
            found = find(httpx.get(url, timeout=10.0).json(), client.name.partition(":")[2])
        except (httpx.HTTPError, ValueError, TypeError, KeyError):
            continue
        if isinstance(found, int) and found > 0:
            return found
    return None


def _in_props(value: Any, _: str) -> Any:
    return value["default_generation_settings"]["n_ctx"]


def _in_models(value: Any, model: str) -> Any:
    entry = next(one for one in [*value["data"], {}] if one.get("id", model) == model)
    return entry.get("max_model_len") or entry.get("context_length")


def _ask(
    client: ChatClient, messages: list[Message], *, limit: int | None = None, schema: Mapping[str, Any] | None = None
) -> ModelReply:
    from thinkgraph.models.wire.forms import CallOptions

    return _sent(client, messages, CallOptions(0.0, schema, limit, _PATIENCE, stage="explore"))


def _sent(client: ChatClient, messages: list[Message], options: CallOptions) -> ModelReply:
    """The reply, without the parameters that the server refuses. Raises ModelError."""
    from thinkgraph.models.failures import classify

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


def _one_call(prompt: Prompt, client: ChatClient) -> str:
    """What came back for the prompt's first worked example, and whether it is what the example says.

    Raises:
        BadReplyError: the reply cannot be read.
        ModelError: there is none.
    """
    from thinkgraph.models.wire.forms import CallOptions
    from thinkgraph.nodes.common.judging import NEXT_NONE
    from thinkgraph.prompts.kinds import Shape
    from thinkgraph.prompts.parsed import parse_prompt
    from thinkgraph.prompts.tasks import TASK_WORDS, otherwise

    parsed = parse_prompt("", prompt.examples(Shape())[0][0])
    shape = Shape(
        options=len(parsed.lines("options")),
        evidence=len(parsed.lines("evidence")),
        clues=len(parsed.lines("clues")),
        questions=len(parsed.lines("questions")),
        fields=("clues", "query") if prompt.kind.name == "judge" else (),
    )
    example, wanted = prompt.examples(shape, profile=client.profile.size)[0]
    # What code writes into prompts; the example stands for the rest.
    words = {"task": TASK_WORDS["question"], "next": NEXT_NONE, "else": otherwise(own=False), "most": "3"}
    messages = prompt.render({**dict.fromkeys(prompt.places, ""), **words}, shape, profile=client.profile.size)
    messages[-1] = ("user", example)
    options = CallOptions(
        0.0, prompt.kind.schema(shape), prompt.kind.tokens(shape) * client.reply_factor, _PATIENCE, stage=prompt.stage
    )
    value = prompt.kind.parse(_sent(client, messages, options).text, shape)
    same = _gist(prompt.kind.name, value) == _gist(prompt.kind.name, prompt.kind.parse(wanted, shape))
    verdict = "as its example" if same else "readable, other than its example"
    return f"{verdict if prompt.kind.name in _COMPARED else 'readable'}: {one_line(str(value))[:60]}"


_COMPARED = frozenset({"pick", "score", "pairs", "judge", "verdict"})


def _gist(kind: str, value: Any) -> Any:
    """What of a reply must be as in the example."""
    if kind == "judge":
        return value["sufficient"], sorted(answer.casefold() for answer in value["answers"])
    if kind == "score":
        return max(value, key=lambda pair: pair[1])[0] if value else None
    return sorted(value) if isinstance(value, list) and kind in _COMPARED else value
