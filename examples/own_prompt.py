"""A prompt of your own: a folder with a file of the same name overrides ours; the rest stays.

    python examples/own_prompt.py

On the command line: thinkgraph ask --prompts DIR …, or `prompts = "DIR"` in thinkgraph.toml.
"""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path

import thinkgraph as tg
from thinkgraph.prompts.library import PromptLibrary

ROLE = "tog2.steer"  # judges in every round but the last, where tog2.reason does
OURS = "Decide whether the evidence answers the question, and answer it if it does;"
YOURS = "You are a careful archivist. " + OURS


def main() -> None:
    """Change one sentence of one prompt and ask."""
    method, _, role = ROLE.partition(".")
    original = files("thinkgraph").joinpath("prompts", method, f"{role}.prompt").read_text("utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch) / method / f"{role}.prompt"
        own.parent.mkdir()
        # Everything but the sentence stays: the places in {{braces}}, the worked examples, the kind of reply.
        own.write_text(original.replace(OURS, YOURS), "utf-8")
        library, builtin = PromptLibrary(scratch), PromptLibrary()
        changed = [name for name in (ROLE, "tog2.topic_prune") if library.get(name).digest != builtin.get(name).digest]
        print("changed:", ", ".join(changed))
        graph = tg.build("tog2", knowledge="world", model="offline", settings={"ranker": "bm25"}, prompts=scratch)
        answer = graph.invoke({"question": "What is the capital of Suriname?"})["answer"]
    print("asked with it:", ROLE in answer["usage"]["roles"])
    print(answer["text"], f"({answer['status']})")


if __name__ == "__main__":
    main()
