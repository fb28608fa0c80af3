"""Cases of the prompts that `thinkgraph bench roles` has none of: texts that a model writes, and answers from its memory.

    ./tg python benchmarks/written.py --half choose --webnlg DIR --out written.jsonl
    ./tg python benchmarks/prompt_variants.py --model openai:qwen2.5-coder-1.5b --cases written.jsonl --roles recall.direct --out DIR

Questions are of `world`; what is to be read or put into words is of WebNLG (--webnlg: the folder with train.jsonl and dev.jsonl).

What a reply scores, each from 0 to 1: answers from memory `right` and `wrong`; a query, a rephrased question and a reworded one
the share of the names and words they must have (`kept`); statements read from a text `recall` and `precision` of the pairs they
join; communities put into words the share that passes the product's own check (`true`).
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from thinkgraph.eval.bench_setup import load_questions
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.cases import Case, save_cases, shape_fields
from thinkgraph.eval.roles.sampling import Half, in_turn, of_half
from thinkgraph.eval.roles.scoring import is_right
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.lines import numbered, passage_line
from thinkgraph.prompts.tasks import recall_words
from thinkgraph.tools.communities.g2t_check import check
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.training.pairs import TextPair, make_triple, read_pairs

NOUNS = ("capital", "currency", "highest_point", "head_of_government", "national_anthem", "official_language")
"""Relations of `world` that a question can say as they are called."""
MEMORY = {"recall.direct": Shape(), "recall.cot": Shape(steps=True), "tog2.precheck": Shape()}
WRITTEN = (
    *MEMORY,
    "tog2.query_reform",
    "history.rephrase",
    "training.reword",
    "extract.triples",
    "fasttog.community_text",
)
SETS = 3
"""Communities of one call."""
FEWEST = 2
"""Triples of a text that is read."""


def case(
    role: str,
    number: int,
    inputs: Mapping[str, str],
    right: Mapping[str, Any],
    shape: Shape = Shape(),  # noqa: B008
) -> Case:
    """One case."""
    name = f"{role}/{number}"
    return Case(id=name, role=role, question=name, type="", inputs=inputs, shape=shape_fields(shape), right=right)


def of_memory(questions: Sequence[Question]) -> Iterator[Case]:
    """Every question that has answers."""
    for role, shape in MEMORY.items():
        for number, one in enumerate(questions):
            inputs = {"question": one.question, "task": recall_words("question", one.question)}
            yield case(role, number, inputs, {"answers": one.answers, "aliases": one.aliases}, shape)


def of_chains(half: Half) -> Iterator[Case]:
    """From something that one country alone has to another thing that it has: a query after the first step, a follow-up question, one
    that is understood by itself, and both steps in one question made by rule.
    """
    with (resources.files("thinkgraph") / "data" / "world" / "triples.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["relation"] in NOUNS]
    owners, owned = defaultdict[tuple[str, str], list[str]](list), defaultdict[tuple[str, str], list[str]](list)
    for row in rows:
        owners[row["relation"], row["object"]].append(row["subject"])
        owned[row["subject"], row["relation"]].append(row["object"])
    alone = [(relation, thing, by[0]) for (relation, thing), by in sorted(owners.items()) if len(by) == 1]
    random.Random(0).shuffle(alone)
    for number, (relation, thing, owner) in enumerate(of_half(alone, half)):
        other = NOUNS[(NOUNS.index(relation) + 1 + number % (len(NOUNS) - 1)) % len(NOUNS)]
        ends = owned[owner, other]
        if not ends:
            continue
        first, second = relation.replace("_", " "), other.replace("_", " ")
        conversation = f"person: Which country has the {first} {thing}?\nassistant: {owner}"
        made = f"What is the {second} of the country whose {first} is {thing}?"
        right = {"names": [owner], "words": content_tokens(second)}
        clues = f"The {first} of {owner} is {thing}."
        yield case("tog2.query_reform", number, {"question": made, "clues": clues}, right)
        # Every other question is understood by itself.
        asked, wanted = (made, {"same": made}) if number % 2 else (f"And what is its {second}?", right)
        yield case("history.rephrase", number, {"conversation": conversation, "question": asked}, wanted)
        untold = {"names": [thing], "words": [], "not": [made, *ends]}
        yield case("training.reword", number, {"question": made}, untold)


def of_texts(pairs: Sequence[TextPair]) -> Iterator[Case]:
    """Texts to be read, and triples to be put into words."""
    for number, pair in enumerate(pairs):
        passage = passage_line(pair.triples[0]["subject_label"], "", pair.texts[0])
        inputs = {"passage": numbered([passage])}
        yield case("extract.triples", number, inputs, {"pairs": _pairs(_ends(pair))})
    for number in range(len(pairs) // SETS):
        sets = pairs[number * SETS :][:SETS]
        lines = numbered(community_line(pair.triples) for pair in sets)
        right = {"sets": [[(t["subject"], t["relation"], t["object"]) for t in pair.triples] for pair in sets]}
        yield case("fasttog.community_text", number, {"options": lines}, right, Shape(options=len(sets)))


def _ends(pair: TextPair) -> list[tuple[str, str]]:
    return [(one["subject_label"], one["object_label"]) for one in pair.triples]


def _pairs(ends: Sequence[Sequence[str]]) -> list[list[str]]:
    """Ends that statements join, whichever way they are read."""
    return [list(two) for two in sorted({tuple(sorted(map(fold, two))) for two in ends})]


def scores(one: Case, value: Any) -> dict[str, float]:
    """What a reply is worth; an unreadable one is worth nothing."""
    right = one.right
    match one.role:
        case role if role in MEMORY:
            sure = bool(value and value["sufficient"])
            good = sure and is_right(value["answers"], right["answers"], right["aliases"])
            return {"right": float(good), "wrong": float(sure and not good)}
        case "extract.triples":
            found = _pairs([(entry[0], entry[2]) for entry in (value or {}).get("triples", ())])
            both = sum(pair in right["pairs"] for pair in found)
            return {"recall": both / len(right["pairs"])} | ({"precision": both / len(found)} if found else {})
        case "fasttog.community_text":
            sets = [[make_triple(*parts) for parts in each] for each in right["sets"]]
            texts = [*(value or ()), *[""] * len(sets)][: len(sets)]
            good = [bool(text) and not check(text, each) for text, each in zip(texts, sets, strict=True)]
            return {"true": sum(good) / len(sets)}
        case _:
            return {"kept": _kept(right, fold(value or ""))}


def _kept(right: Mapping[str, Any], text: str) -> float:
    if "same" in right:
        return float(text == fold(right["same"]))
    if any(f" {fold(one)} " in f" {text} " for one in right.get("not", ())):
        return 0.0
    had = [fold(name) in text for name in right["names"]] + [word in content_tokens(text) for word in right["words"]]
    return sum(had) / len(had)


def main() -> int:
    """Write the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("all", "choose", "hold-out"), default="all", help="as of `bench roles`")
    parser.add_argument("--webnlg", type=Path, required=True, help="folder with train.jsonl and dev.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="file of the cases")
    args = parser.parse_args()
    half: Half = args.half
    questions = [one for one in in_turn(load_questions("world"), half=half) if one.answers]
    name = "dev.jsonl" if half == "hold-out" else "train.jsonl"
    every = [pair for pair in read_pairs([args.webnlg / name], Rejects()) if len(pair.triples) >= FEWEST]
    # As they stand, neighbours are of one kind.
    pairs = every[:: len(every) // 100]
    save_cases(args.out, [*of_memory(questions), *of_chains(half), *of_texts(pairs)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
