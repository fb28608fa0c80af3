"""Benchmarks by name, each read in the file format it is published in. Only `world` comes with the package."""

from __future__ import annotations

from pathlib import Path

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets import graphs, texts
from thinkgraph.eval.datasets.base import Dataset, Style
from thinkgraph.eval.questions import Question, read_questions

__all__ = ["DATASETS", "Dataset", "Style", "read_dataset", "world_questions"]

WORLD = "world"

_KILT = "facebookresearch/KILT on GitHub: structured_zeroshot-{train,dev}-kilt.jsonl, trex-{train,dev}-kilt.jsonl (MIT)"

DATASETS: dict[str, Dataset] = {
    entry.name: entry
    for entry in (
        Dataset(
            "metaqa",
            "MetaQA",
            graphs.metaqa,
            "yuyuz/MetaQA on GitHub: {1,2,3}-hop/vanilla/qa_*.txt with {1,2,3}-hop/qa_*_qtype.txt (CC BY 3.0)",
            graph="its own movie graph, kb.txt",
        ),
        Dataset(
            "webqsp",
            "WebQSP",
            graphs.webqsp,
            "Microsoft Download Center, id 52763: WebQSP.{train,test}.json (CC BY 4.0)",
            graph="Freebase",
        ),
        Dataset(
            "cwq",
            "ComplexWebQuestions",
            graphs.cwq,
            "tau-nlp's ComplexWebQuestions page: ComplexWebQuestions_{train,dev,test}.json",
            graph="Freebase",
        ),
        Dataset(
            "qald9plus",
            "QALD-9-plus",
            graphs.qald,
            "KGQA/QALD_9_plus on GitHub: qald_9_plus_{train,test}_{wikidata,dbpedia}.json (CC BY 4.0)",
            graph="Wikidata or DBpedia",
        ),
        Dataset(
            "qald10",
            "QALD-10",
            graphs.qald,
            "KGQA/QALD-10 on GitHub: data/qald_10/qald_10.json (MIT)",
            graph="Wikidata",
        ),
        Dataset(
            "grbench",
            "GRBench",
            graphs.grbench,
            "PeterJinGo/GRBench on Hugging Face, or data.json of PeterGriffinJin/Graph-CoT (Apache-2.0)",
            graph="its ten domain graphs",
        ),
        Dataset("zsre", "Zero-Shot RE", graphs.kilt, _KILT, graph="Wikidata"),
        Dataset("trex", "T-REx", graphs.kilt, _KILT, graph="Wikidata"),
        Dataset(
            "hotpotqa",
            "HotpotQA",
            texts.hotpotqa,
            "hotpotqa.github.io: hotpot_dev_{distractor,fullwiki}_v1.json (CC BY-SA 4.0)",
            graph="Wikipedia",
        ),
        Dataset(
            "advhotpotqa",
            "AdvHotpotQA",
            texts.hotpotqa,
            "the hard selection of HotpotQA used by Chain-of-Knowledge and ToG-2, in HotpotQA's form",
            graph="Wikipedia",
        ),
        Dataset(
            "musique",
            "MuSiQue",
            texts.musique,
            "StonyBrookNLP/musique on GitHub: musique_{ans,full}_v1.0_{train,dev}.jsonl (CC BY 4.0)",
            graph="its paragraphs",
        ),
        Dataset(
            "fever",
            "FEVER",
            texts.fever,
            "fever.ai: {train,shared_task_dev,paper_dev}.jsonl (CC BY-SA 3.0)",
            style="fact",
            graph="Wikipedia",
        ),
        Dataset(
            "creak",
            "CREAK",
            texts.creak,
            "yasumasaonoe/creak on GitHub: data/creak/{train,dev}.json (MIT)",
            style="truth",
            graph="Wikipedia",
        ),
        Dataset(
            "jsonl",
            "JSON Lines",
            read_questions,
            "a file of your own: one object a line with id, question, answers, and optionally type, topic, gold_path",
            graph="whatever --kb names",
        ),
    )
}


def world_questions() -> list[Question]:
    """The questions that come with the package."""
    from importlib.resources import as_file, files

    with as_file(files("thinkgraph").joinpath("data", WORLD, "questions.jsonl")) as path:
        return read_questions(path)


def read_dataset(spec: str) -> tuple[Dataset, list[Question]]:
    """The questions of `world`, of `NAME:FILE` in a published format, or of a plain JSON Lines file.

    Raises:
        UsageError: an unknown name, or a file that is missing, cut off or wrong; the message names the place and field.
    """
    plain = DATASETS["jsonl"]
    if spec == WORLD:
        return plain, world_questions()
    name, colon, file = spec.partition(":")
    known = DATASETS.get(name.casefold())
    if colon and known is not None:
        if not file:
            raise UsageError(f"--data {name}: needs its file ({name}:FILE). Where to get it: {known.where}")
        return known, known.read(Path(file).expanduser())
    if known is not None and not Path(spec).exists():
        raise UsageError(f"--data {name} needs its file ({name}:FILE). Where to get it: {known.where}")
    if colon and not Path(spec).exists() and name.isalnum() and len(name) > 1:
        raise UsageError(f"no dataset is called '{name}' (known: {', '.join(sorted(DATASETS))})")
    return plain, read_questions(spec)
