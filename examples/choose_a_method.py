"""Which method? One question through several, with what each costs.

    python examples/choose_a_method.py

On the command line: thinkgraph compare "…" --methods tog2,fiske,rag; `thinkgraph bench` does it for a file of questions.
"""

from __future__ import annotations

import thinkgraph as tg

METHODS = {
    "tog2": "graph and documents in turn; answers that only a passage holds",
    "fiske": "clues along branches of the graph; several answers",
    "coggrag": "questions that fall apart into questions",
    "paths": "one call if ranked paths suffice, else as tog2",
    "kg_rag": "one call: the nearest triples of what the question names",
    "direct": "one call, no knowledge: what the model says by itself",
}


def main() -> None:
    """Ask them all."""
    question = "What is the capital of the country whose highest point is Mont Ngaoui?"
    with tg.Knowledge.open("world") as kb:
        for name, about in METHODS.items():
            graph = tg.build(name, knowledge=kb, model="offline")
            answer = graph.invoke({"question": question}, context={"max_calls": 40})["answer"]
            calls = answer["usage"]["total"]["calls"]
            print(f"{name:8} {answer['status']:9} {calls:2} calls  {answer['text'][:40]:40} | {about}")


if __name__ == "__main__":
    main()
