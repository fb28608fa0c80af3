"""What the LangChain classes and the MCP server share: opened knowledge, and how an answer reads to whoever asked for it."""

from __future__ import annotations

import json
from pathlib import Path

from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer
from thinkgraph.tools.knowledge import Knowledge

MAX_CITED = 20
"""Most citations an answer's text lists; the whole answer has them all."""
MAX_LINE = 600
"""Longest citation in an answer's text, in characters."""


def opened(knowledge: Knowledge | str | Path) -> Knowledge:
    """The knowledge itself, opened where only its name was given.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    return knowledge if isinstance(knowledge, Knowledge) else Knowledge.open(knowledge)


def answer_text(answer: Answer) -> str:
    """An answer as text for a model or a person: the answer, its status with the reason, and what it stands on.

    At most MAX_CITED citations of at most MAX_LINE characters. Labels and passages are other people's text: each stays on
    its line.
    """
    lines = [one_line(answer["text"]), f"Status: {answer['status']} ({one_line(answer['reason'])})"]
    if (sure := answer["confidence"]) is not None:
        lines.append(f"Confidence: {sure:.2f}")
    evidence = answer["evidence"]
    cited = [
        f"{one_line(path['text'])} (triples {', '.join(map(quoted, path['triples'][:5]))})"
        for path in evidence["paths"]
    ]
    for passage in evidence["passages"]:
        where = " / ".join(one_line(part) for part in (passage["title"], passage["section"]) if part.strip())
        cited.append(f"(passage {quoted(passage['id'])}) {where}: {one_line(passage['text'])}")
    if cited:
        lines.append("Evidence:")
        lines += [f"[{number}] {shortened(line)}" for number, line in enumerate(cited[:MAX_CITED], start=1)]
    if len(cited) > MAX_CITED:
        lines.append(f"... and {len(cited) - MAX_CITED} more")
    return "\n".join(lines)


def shortened(line: str, longest: int = MAX_LINE) -> str:
    """The line, cut where it is too long."""
    return line if len(line) <= longest else line[: longest - 1] + "…"


def quoted(key: str) -> str:
    """An id in quotes, exact: characters that a reader would not see are escaped as in JSON."""
    return json.dumps(key, ensure_ascii=one_line(key) != key)
