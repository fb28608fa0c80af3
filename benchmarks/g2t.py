"""Graph-to-text on WebNLG: does the check tell good texts from bad ones, and does a small model learn?

    ./tg python benchmarks/g2t.py --webnlg DIR [--only check|learn] [--pairs 200] [--epochs 50]

--webnlg names the folder with train.jsonl and dev.jsonl. "check" measures tools/communities/g2t_check.py over what people wrote: how many texts
it passes, and, of those, how many it finds once they are damaged, by a foreign name put in the place of one of theirs, by taking
away one of their triples or adding one, or by exchanging the objects of their triples. "learn" overfits a T5 made from scratch on
a few pairs, on the processor alone (some minutes), and exits with 1 if it names less than 95 % of what the references name.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from thinkgraph.eval.questions import spread
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t import writer
from thinkgraph.tools.communities.g2t_check import check
from thinkgraph.training.pairs import Split, TextPair, make_triple, read_pairs
from thinkgraph.training.scores import coverage, score_texts
from thinkgraph.training.train import EpochRow, TrainSettings, train

TARGET = 0.95


def texts_of(pairs: Sequence[TextPair]) -> Iterator[tuple[str, Sequence[Triple]]]:
    """Every text with its triples."""
    return ((text, pair.triples) for pair in pairs for text in pair.texts)


def people(pairs: Sequence[TextPair]) -> None:
    """What share of the texts that people wrote passes the check."""
    found: Counter[str] = Counter()
    triples = covered = verbatim = 0
    for text, known in texts_of(pairs):
        kinds = [fault.partition(":")[0] for fault in check(text, known)]
        found.update(set(kinds) or {"passes"})
        found["all"] += 1
        triples += len(known)
        covered += len(known) - kinds.count("left out")
        verbatim += coverage(text, known)
    shares = ", ".join(f"{kind} {count / found['all']:.3f}" for kind, count in found.most_common() if kind != "all")
    print(f"texts that people wrote: {found['all']:,}; {shares}")
    print(
        f"triples both of whose ends they name: {covered / triples:.3f} as the check sees it, {verbatim / triples:.3f} verbatim"
    )


def swapped(
    text: str, triples: Sequence[Triple], rng: random.Random, others: Sequence[Triple]
) -> tuple[str, Sequence[Triple]]:
    """One of the names in the text becomes a foreign one."""
    ends = sorted({t["object_label"] for t in triples} | {t["subject_label"] for t in triples})
    name, other = rng.choice(ends), rng.choice(others)["object_label"]
    foreign = other.casefold() not in text.casefold() and not any(other in end or end in other for end in ends)
    return (text.replace(name, other) if foreign else text), triples


def dropped(
    text: str, triples: Sequence[Triple], rng: random.Random, _: Sequence[Triple]
) -> tuple[str, Sequence[Triple]]:
    """One of the triples is gone: what the text says of it is invented now."""
    gone = rng.choice(triples)
    return text, [triple for triple in triples if triple is not gone] if len(triples) > 1 else triples


def added(
    text: str, triples: Sequence[Triple], rng: random.Random, others: Sequence[Triple]
) -> tuple[str, Sequence[Triple]]:
    """A triple more, which the text leaves out."""
    other = rng.choice(others)
    return text, [*triples, make_triple(rng.choice(triples)["subject"], other["relation"], other["object"])]


def rewired(
    text: str, triples: Sequence[Triple], rng: random.Random, _: Sequence[Triple]
) -> tuple[str, Sequence[Triple]]:
    """The objects change places: the text names the right things and joins the wrong ones."""

    def joins(found: Sequence[Triple]) -> set[frozenset[str]]:
        return {frozenset((triple["subject"], triple["object"])) for triple in found}

    for _attempt in range(5):
        objects = rng.sample([t["object"] for t in triples], len(triples))
        made = [make_triple(t["subject"], t["relation"], end) for t, end in zip(triples, objects, strict=True)]
        if joins(made) != joins(triples) and all(t["subject"] != t["object"] for t in made):
            return text, made
    return text, triples


Damage = Callable[[str, Sequence[Triple], random.Random, Sequence[Triple]], tuple[str, Sequence[Triple]]]
DAMAGES: Mapping[str, Damage] = {
    "a foreign name": swapped,
    "a triple taken away": dropped,
    "a triple added": added,
    "objects exchanged": rewired,
}


def damaged(pairs: Sequence[TextPair]) -> None:
    """What share of damaged texts the check finds, by kind of damage."""
    rng = random.Random(0)
    others = [triple for pair in pairs for triple in pair.triples]
    passing = [(text, known) for text, known in texts_of(pairs) if not check(text, known)]
    for name, damage in DAMAGES.items():
        tried = caught = 0
        for text, known in passing:
            bad, triples = damage(text, known, rng, others)
            if bad != text or triples is not known:
                tried += 1
                caught += bool(check(bad, triples))
        print(f"damaged by {name}: {tried:,} texts, {caught / max(tried, 1):.3f} found")


def learn(pairs: Sequence[TextPair], epochs: int) -> float:
    """Overfit a model made from scratch, print its scores, and give its coverage as a share of the references' own."""
    few = [TextPair(pair.line, pair.triples, pair.texts[:1]) for pair in pairs]
    settings = TrainSettings(scratch="tiny", epochs=epochs, lr=2e-3, batch=16, warmup=0.05, dropout=0.0)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        train(Split(few, []), out, settings, each=_show)
        made = writer(str(out)).texts([pair.line for pair in few])
    scores = score_texts(few, [text for text, _ in made])
    print(
        f"ROUGE-1 {scores['rouge1']:.2f}, BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}, coverage "
        f"{scores['coverage']:.3f} of {scores['reference_coverage']:.3f} in the references, true to their triples "
        f"{scores['true_to_triples']:.3f}"
    )
    return scores["relative_coverage"]


def _show(row: EpochRow) -> None:
    print(f"epoch {row['epoch']}: loss {row['training_loss']:.3f}", flush=True)


def main() -> int:
    """Print the figures; exit code 1 if the model has not learnt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--webnlg", type=Path, required=True, help="folder of train.jsonl and dev.jsonl")
    parser.add_argument("--only", choices=("check", "learn"))
    parser.add_argument("--pairs", type=int, default=200, help="pairs to learn (default 200)")
    parser.add_argument("--epochs", type=int, default=50)
    args = parser.parse_args()
    if args.only != "learn":
        for name in ("dev", "train"):
            pairs = read_pairs([args.webnlg / f"{name}.jsonl"], Rejects())
            print(f"\n{name}.jsonl")
            people(pairs)
            if name == "dev":
                damaged(pairs)
    if args.only == "check":
        return 0
    pairs = spread(read_pairs([args.webnlg / "train.jsonl"], Rejects()), args.pairs)
    print(f"\n{len(pairs)} pairs of train.jsonl, a T5 made from scratch")
    reached = learn(pairs, args.epochs)
    print(f"{reached:.3f} of the references' own coverage (wanted: {TARGET})")
    return 0 if reached >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
