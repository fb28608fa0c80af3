"""What is `grounded`? Two hundred replies over `world`, right ones and wrong ones, of which structure must tell the difference.

    ./tg python benchmarks/support.py [--each N] [--methods …] [--results FILE]

A perfect chooser walks, and where the evidence suffices its judgement is bent in one way, as is every verdict. `right`: not at all.
`elsewhere`: a thing on other lines than the right ones, which are cited. `number`: for a number one that stands anywhere in the evidence,
with its line. `citation`: the right answer with a wrong line, until it is told so. `citation, again`: told so, the same once more.
`own line`: another thing of the evidence, with its line: what `grounded` does not promise. The methods take turns on the questions; a run
without a bent judgement is not counted. Exits 1 where of the first four kinds a wrong answer is grounded, or less than 95 % of the right
ones are.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

import thinkgraph as tg
from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.gold import Gold, resolve_golds
from thinkgraph.eval.metrics import score
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Erring, Slip
from thinkgraph.eval.questions import Question
from thinkgraph.models.offline.rule_based import Call
from thinkgraph.state.answer import Answer
from thinkgraph.tools.knowledge import Knowledge

METHODS = "tog2,fasttog,fiske,coggrag"
_TURNED = Slip(1.0, "verdict")
KINDS: Mapping[str, tuple[Slip, ...]] = {
    "right": (),
    "elsewhere": (Slip(1.0, "judge", "elsewhere"), _TURNED),
    "number": (Slip(1.0, "judge", "number"), _TURNED),
    "citation": (Slip(1.0, "judge", "citation"),),
    "citation, again": (Slip(1.0, "judge", "citation"),),
    "own line": (Slip(1.0, "judge", "name"), _TURNED),
}
_COUNTED = ("right", "elsewhere", "number", "citation")
ENOUGH = 0.95
"""Least share of right answers that are grounded."""
HEAD = (
    "| reply | runs | right and grounded | right, not grounded | wrong and grounded | wrong, partial | no answer |",
    "|---|" + "---:|" * 6,
)


class Bent(PerfectChooser):
    """A perfect chooser whose judgements are bent, and counted."""

    bent: list[str] = Field(default_factory=list)
    """The roles whose judgements were, each time. A client works on a copy, which shares it."""
    listens: bool = False

    def _judged(self, call: Call, gold: Gold, erring: Erring) -> dict[str, Any]:
        straight = super()._judged(call, gold, Erring((), random.Random(0)))
        if self.listens and call.prompt.text("doubted answer"):
            return straight
        bent = super()._judged(call, gold, erring)
        self.bent.extend([call.prompt.role] * (bent != straight))
        return bent


def answers(
    kind: str, questions: Sequence[Question], methods: Sequence[str], each: int
) -> Iterator[tuple[Question, Answer]]:
    """At most `each` answers to questions for which the model's judgement was bent, and one for each question where none is."""
    with Knowledge.open("world") as knowledge:
        golds = resolve_golds(questions, knowledge.graph, knowledge.text)
        known = {question.question: gold for question, gold in zip(questions, golds, strict=True)}
        asked = (
            (question, methods[(place + turn) % len(methods)])
            for turn in range(len(methods))
            for place, question in enumerate(questions)
        )
        found = 0
        for question, method in asked:
            model = Bent(known, slips=KINDS[kind], listens=kind == "citation")
            answer: Answer = tg.build(method, knowledge=knowledge, model=model).invoke({"question": question.question})[
                "answer"
            ]
            if model.bent or (kind == "right" and answer["answers"]):
                found += 1
                print(f"\r{kind}: {found} of {each}", end="", file=sys.stderr, flush=True)
                yield question, answer
            if found == each:
                return


def main() -> int:
    """Print the table; 1 where a wrong answer is grounded, or too few right ones are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=50, metavar="N", help="replies of each kind")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    questions = [question for question in load_questions("world") if question.answers]
    lines = [*HEAD]
    totals = {"right": [0, 0], "wrong": [0, 0]}
    for kind in KINDS:
        cells: dict[tuple[bool, str], int] = {}
        for question, answer in answers(kind, questions, args.methods.split(","), args.each):
            right = score(answer["answers"], question.answers, question.aliases)["hits1"] == 1.0
            if not right and answer["status"] == "grounded":
                print(
                    f"\nwrong and grounded ({answer['method']}): {question.question} {answer['text']}", file=sys.stderr
                )
            cells[right, answer["status"]] = cells.get((right, answer["status"]), 0) + 1
        runs, good, bad = sum(cells.values()), cells.get((True, "grounded"), 0), cells.get((False, "grounded"), 0)
        partly, none = cells.get((False, "partial"), 0), cells.get((False, "unknown"), 0)
        lines.append(f"| {kind} | {runs} | {good} | {runs - good - bad - partly - none} | {bad} | {partly} | {none} |")
        for name, grounded, every in (("right", good, runs - bad - partly - none), ("wrong", bad, bad + partly)):
            if kind in _COUNTED:
                totals[name][0] += grounded
                totals[name][1] += every
    (held, right), (slipped, wrong) = totals["right"], totals["wrong"]
    lines += [
        "",
        f"Of the first four kinds {held} of {right} right answers are grounded, and {slipped} of {wrong} wrong ones.",
    ]
    text = "\n".join(lines)
    print(file=sys.stderr)
    print(text)
    if args.results:
        args.results.write_text(f"{text}\n", "utf-8")
    return int(slipped > 0 or held < ENOUGH * right)


if __name__ == "__main__":
    sys.exit(main())
