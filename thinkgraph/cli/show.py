"""The terminal: progress, answers, Ctrl-C. Labels and passages are other people's text: control characters are escaped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from thinkgraph.eval.files import write_text
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer, Support, TraceLine
from thinkgraph.state.events import Event, Scored, UserQuestion

if TYPE_CHECKING:
    from thinkgraph.eval.costs.bill import Spent
    from thinkgraph.eval.costs.estimate import Estimate
    from thinkgraph.models.prices import Prices

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
TERMINATED = 143
"""Likewise after SIGTERM."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM: whoever stops services stops a command as Ctrl-C does."""


_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON leaves as they are. They stand inside strings only."""

_REDRAW_SECONDS = 0.2
_LINE_SECONDS = 10.0
_NAMES = 6
"""Most labels shown in one progress line."""


def _labels(entries: list[Scored]) -> str:
    shown = ", ".join(f"{one_line(entry['label'])} {entry['score']:.2g}" for entry in entries[:_NAMES])
    more = len(entries) - _NAMES
    return shown + (f", and {more} more" if more > 0 else "") if entries else "nothing"


def many(number: int, one: str, more: str = "") -> str:
    """A number of things, with their noun; stores give -1 for an unknown one."""
    told = f"{number:,}" if number >= 0 else "an unknown number of"
    return f"{told} {one if number == 1 else more or one + 's'}"


def progress_line(event: Event) -> str | None:  # noqa: PLR0911 - one line per kind of event
    """One event as a line; None for those that only programs use."""
    if event["type"] == "linked":
        return f"linked     {_labels(event['candidates'])}"
    if event["type"] == "rephrased":
        return f"understood {one_line(event['full'])[:200]}"
    if event["type"] == "pruned":
        dropped = f" (dropped {len(event['dropped'])})" if event["dropped"] else ""
        # What follows the reason itself is what a limit cut.
        cut = one_line(event["reason"].partition("; ")[2])[:200]
        return f"round {event['round']}    {event['what']}: {_labels(event['kept'])}{dropped}" + (
            f"; {cut}" if cut else ""
        )
    if event["type"] == "retrieved":
        best = one_line(event["best"][0])[:70] if event["best"] else "nothing"
        passages = f"{many(event['passages'], 'passage')} and " if event["passages"] or event["ranked"] else ""
        entities = many(event["entities"], "entity", "entities")
        read = f"{passages}{many(event['triples'], 'triple')} of {entities}"
        return f"round {event['round']}    read {read}; {'best' if event['ranked'] else 'first'}: {best}"
    if event["type"] == "reasoned":
        if event["sufficient"]:
            return f"round {event['round']}    enough: {one_line('; '.join(event['answers']))[:120]}"
        clues = one_line(event["clues"])[:120]
        return f"round {event['round']}    not enough yet" + (f": {clues}" if clues else "")
    if event["type"] == "called":
        replayed = "reply taken from the journal, not asked again" if event["replayed"] else ""
        said = one_line(event["problem"]) or replayed
        return f"           {event['role']}: {said}" if said else None
    if event["type"] == "waiting":
        return f"           {event['role']}: {one_line(event['reason'])[:200]}; again in {event['seconds']:.1f} s"
    if event["type"] == "stopped":
        return f"           {event['reason']}"
    return None


def outline(lines: Sequence[TraceLine], width: int) -> list[str]:
    """A trace's outline: one line each, indented by level, no wider than the terminal."""
    shown: list[str] = []
    for line in lines:
        indent = "  " * min(line["level"], 10)
        text = one_line(line["text"])
        room = max(width - len(indent), 20)
        shown.append(indent + (text if len(text) <= room else text[: room - 1] + "…"))
    return shown


def show_progress(event: Event, say: Callable[[str], None]) -> None:
    """Print one event, if `progress_line` has a line for it."""
    if event["type"] == "traced":
        say(f"  round {event['round']}    {one_line(event['title'])}:")
        for text in outline(event["lines"], _width() - 13):
            say(f"             {text}")
        return
    line = progress_line(event)
    if line is not None:
        say(f"  {line}")


def question_lines(question: UserQuestion) -> list[str]:
    """A run's question to the user, for a terminal."""
    shown = [f"  {one_line(question['problem'])}"] if question["problem"] else []
    shown.append(f"  {one_line(question['text'])}")
    for option in question["options"]:
        about = f": {one_line(option['description'])}" if option["description"] else ""
        shown.append(f"    {option['number']}  {one_line(option['label'])}{about} ({one_line(option['id'])})")
    return [*shown, f"  reply: {one_line(question['reply'])}"]


def write_line(text: str) -> None:
    """Print text on stdout; what its encoding lacks becomes '?'."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def json_text(value: object, **options: Any) -> str:
    """JSON that every reader takes: a number that JSON has no word for is null.

    Args:
        value: what `json.dumps` takes; what it does not know is written as its text.
        options: of `json.dumps`.
    """
    try:
        return json.dumps(value, allow_nan=False, default=str, **options)
    except ValueError:
        whole = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        return json.dumps(whole, **options)


def write_json(value: object, *, indent: int | None = None) -> None:
    """Print one JSON value on stdout; what the encoding lacks or a terminal would obey is escaped: nothing is lost."""
    text = json_text(value, ensure_ascii=False, indent=indent)
    text = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json_text(value, indent=indent)
    sys.stdout.write(text + "\n")


def write_result(value: object, text: str, *, as_json: bool) -> None:
    """Print what a command found: as JSON, or as text for people."""
    if as_json:
        write_json(value)
    else:
        write_line(text)


def write_rows(rows: Sequence[object], text: str, *, as_json: bool, keep: Path | None = None) -> None:
    """Print the table of a bench, or its rows.

    Args:
        rows: as plain JSON.
        text: the table.
        as_json: print the rows.
        keep: both are written there too, as PATH.json and PATH.txt.

    Raises:
        UsageError: a file cannot be written.
    """
    if keep:
        write_text(keep.with_suffix(".json"), json.dumps({"rows": rows}, indent=1) + "\n")
        write_text(keep.with_suffix(".txt"), text + "\n")
    write_result({"rows": rows}, text, as_json=as_json)


def _width() -> int:
    return min(max(shutil.get_terminal_size((100, 24)).columns, 40), 120)


def render_answer(answer: Answer) -> str:
    """The answer with what it stands on, for people."""
    width = _width()
    usage = answer["usage"]
    total = usage["total"]
    out = [one_line(answer["text"]), ""]
    out.append(f"status    {answer['status']}: {one_line(answer['reason'])}")
    if shown := ", ".join(map(_supported, answer["support"])):
        out.append(textwrap.fill(f"support   {shown}", width, subsequent_indent=" " * 12))
    if (sure := answer["confidence"]) is not None:
        out.append(f"confident {sure:.2f}")
    evidence = answer["evidence"]
    for number, path in enumerate(evidence["paths"], start=1):
        head = "paths     " if number == 1 else "          "
        out.append(textwrap.fill(one_line(path["text"]), width, initial_indent=head, subsequent_indent=" " * 12))
    for number, passage in enumerate(evidence["passages"], start=1):
        head = "passages  " if number == 1 else "          "
        where = " / ".join(one_line(part) for part in (passage["title"], passage["section"]) if part)
        text = f"[{one_line(passage['id'])}] {where}: {one_line(passage['text'])}"
        out.append(textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * 12))
    if evidence["triples"]:
        out.append(f"triples   {', '.join(one_line(triple['id']) for triple in evidence['triples'])}")
    trace = answer["trace"]
    if trace["lines"]:
        out.append(one_line(trace["title"]))
        out += [f"          {text}" for text in outline(trace["lines"], width - 10)]
    cost = f", ${total['cost']:.4f}" if total["cost"] else ""
    written = f", {many(count, 'text')} generated" if (count := usage["generated_texts"]) else ""
    out.append(
        f"usage     {many(total['calls'], 'model call')}, {total['input_tokens']} + {total['output_tokens']} tokens{cost}, "
        f"{many(usage['store_round_trips'], 'store round trip')}, {many(usage['encoder_texts'], 'text')} encoded{written}, "
        f"{usage['seconds']:.1f} s"
    )
    out.append(f"answered  by {one_line(answer['model'])} with {answer['method']} in {many(answer['rounds'], 'round')}")
    return "\n".join(out)


def _supported(one: Support) -> str:
    """How and where an answer stands: "6267 (value, path 1)"."""
    place = f", {one['within'].removesuffix('s')} {one['line'] + 1}" if one["within"] else ""
    return f"{one_line(one['answer'])} ({one['kind']}{place})"


class LineProgress(contextlib.AbstractContextManager["LineProgress"]):
    """Shows the advance of long work: one line that changes on a terminal, a line now and then elsewhere.

    A `Progress` (thinkgraph/tools/progress.py).
    """

    def __init__(self, out: TextIO) -> None:
        self.note = ""
        """Stands behind the count."""
        self._out = out
        self._terminal = out.isatty()
        self._stage = ""
        # Where lines stay, as in a log, what is done within seconds is not worth one.
        self._last = 0.0 if self._terminal else time.monotonic()
        self._width = 0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show `done` of `total`; calls that follow within a moment show nothing."""
        now = time.monotonic()
        finished = total is not None and done >= total
        pause = _REDRAW_SECONDS if self._terminal else _LINE_SECONDS
        at_once = self._terminal and (finished or stage != self._stage)
        if not at_once and now - self._last < pause:
            return
        self._stage, self._last = stage, now
        line = f"{stage}: {done:,}" + (f" of {total:,}" if total is not None else "")
        line += f"; {self.note}" if self.note else ""
        if self._terminal:
            self._out.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self._out.write(f"{line}\n")
        self._out.flush()

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Clear the changing line."""
        if self._terminal and self._width:
            self._out.write("\r" + " " * self._width + "\r")
            self._out.flush()
            self._width = 0


def telling(
    keep: Callable[[Mapping[str, Any]], None] | None, spent: Spent, progress: LineProgress
) -> Callable[[Mapping[str, Any]], None]:
    """What keeps a record with `keep`, and has the progress line say what was spent."""

    def kept(record: Mapping[str, Any]) -> None:
        if keep:
            keep(record)
        progress.note = spent.add(record)

    return kept


@contextlib.contextmanager
def leaving_at_once(words: str) -> Iterator[None]:
    """Within the block Ctrl-C or SIGTERM ends the process now, whatever its threads wait for.

    Python would first join the threads that wait for a model's reply, for minutes perhaps. Nothing is lost by not waiting:
    steps and replies are on disk as soon as they exist, and a killed run resumes.

    Args:
        words: the error on stderr.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            # On a terminal the cursor stands behind "^C" or a line that changes.
            start = "\n" if os.isatty(2) else ""
            os.write(2, f"{start}thinkgraph: error: {words}\n".encode())
        os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, leave) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def stopped_code(stop: KeyboardInterrupt) -> int:
    """The exit status after Ctrl-C or SIGTERM."""
    return TERMINATED if isinstance(stop, TerminatedError) else INTERRUPTED


def heed_sigterm() -> None:
    """Have SIGTERM raise what Ctrl-C raises, so that files are closed and the command says how to go on."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TerminatedError

    signal.signal(signal.SIGTERM, stop)


def write_estimates(expected: Sequence[Estimate], prices: Prices | None, *, as_json: bool) -> None:
    """Print what --estimate prints: a line for each method, or a list of objects."""
    rows, lines = [one.row(prices) for one in expected], [one.line(prices) for one in expected]
    write_result(rows, "\n".join(lines), as_json=as_json)
