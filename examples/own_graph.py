"""A graph of your own in five minutes: two files in, a question out.

    python examples/own_graph.py

The same on the command line: thinkgraph kb build my-kb --triples crew.tsv --passages logbook.jsonl
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import thinkgraph as tg
from thinkgraph.ingest.build import build_kb

CREW = """\
subject\trelation\tobject\tsince
Aurora\tcaptain\tIda Holm\t2019
Aurora\thome port\tTromsø\t
Borealis\tcaptain\tJan Vik\t2021
Ida Holm\tborn in\tHammerfest\t
"""
LOGBOOK = [{"id": "p1", "title": "Aurora", "entities": ["Aurora"], "text": "The Aurora carries forty tons of ice."}]


def main() -> None:
    """Build, open, ask."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "crew.tsv").write_text(CREW, "utf-8")
        (folder / "logbook.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LOGBOOK), "utf-8")
        # Malformed rows are counted here, and listed with their line numbers in build_report.jsonl; repeated triples are only counted.
        report = build_kb(folder / "ships", triples=[folder / "crew.tsv"], passages=[folder / "logbook.jsonl"])
        print("left out:", dict(report.rejected) or "nothing")

        with tg.Knowledge.open(folder / "ships") as kb:
            print(kb.graph.info()["triples"], "triples")
            # "offline" is a stand-in without weights; name a model instead: "openai:gpt-4o-mini".
            graph = tg.build("tog2", knowledge=kb, model="offline")
            answer = graph.invoke({"question": "Where was the captain of the Aurora born?"})["answer"]
    print(answer["text"], f"({answer['status']})")
    for path in answer["evidence"]["paths"]:
        print(path["text"])


if __name__ == "__main__":
    main()
