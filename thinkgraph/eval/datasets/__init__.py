"""Benchmarks by name, each read in the file format it is published in. Only `world` comes with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets import graphs, texts
from thinkgraph.eval.questions import Question, Read, read_questions
from thinkgraph.prompts.tasks import Task


@dataclass(frozen=True)
class Dataset:
    """A benchmark in its published file format."""

    name: str
    title: str
    read: Read
    where: str
    """One line: where to get it, which file to give, under which licence."""
    style: Task = "question"
    """What is asked for: an answer, one of FEVER's three labels, or true / false (the setting `task` of the methods)."""


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
        ),
        Dataset(
            "webqsp",
            "WebQSP",
            graphs.webqsp,
            "Microsoft Download Center, id 52763: WebQSP.{train,test}.json (CC BY 4.0)",
        ),
        Dataset(
            "cwq",
            "ComplexWebQuestions",
            graphs.cwq,
            "tau-nlp's ComplexWebQuestions page: ComplexWebQuestions_{train,dev,test}.json",
        ),
        Dataset(
            "qald9plus",
            "QALD-9-plus",
            graphs.qald,
            "KGQA/QALD_9_plus on GitHub: qald_9_plus_{train,test}_{wikidata,dbpedia}.json (CC BY 4.0)",
        ),
        Dataset("qald10", "QALD-10", graphs.qald, "KGQA/QALD-10 on GitHub: data/qald_10/qald_10.json (MIT)"),
        Dataset(
            "grbench",
            "GRBench",
            graphs.grbench,
            "PeterJinGo/GRBench on Hugging Face, or data.json of PeterGriffinJin/Graph-CoT (Apache-2.0)",
        ),
        Dataset("zsre", "Zero-Shot RE", graphs.kilt, _KILT),
        Dataset("trex", "T-REx", graphs.kilt, _KILT),
        Dataset(
            "hotpotqa",
            "HotpotQA",
            texts.hotpotqa,
            "hotpotqa.github.io: hotpot_dev_{distractor,fullwiki}_v1.json (CC BY-SA 4.0)",
        ),
        Dataset(
            "advhotpotqa",
            "AdvHotpotQA",
            texts.hotpotqa,
            "the hard selection of HotpotQA used by Chain-of-Knowledge and ToG-2, in HotpotQA's form",
        ),
        Dataset(
            "musique",
            "MuSiQue",
            texts.musique,
            "StonyBrookNLP/musique on GitHub: musique_{ans,full}_v1.0_{train,dev}.jsonl (CC BY 4.0)",
        ),
        Dataset(
            "fever",
            "FEVER",
            texts.fever,
            "fever.ai: {train,shared_task_dev,paper_dev}.jsonl (CC BY-SA 3.0)",
            style="fact",
        ),
        Dataset(
            "creak",
            "CREAK",
            texts.creak,
            "yasumasaonoe/creak on GitHub: data/creak/{train,dev}.json (MIT)",
            style="truth",
        ),
        Dataset(
            "jsonl",
            "JSON Lines",
            read_questions,
            "a file of your own: one object a line with id, question, answers, and optionally type, topic, gold_path",
        ),
    )
}


def read_dataset(spec: str) -> tuple[Dataset, list[Question]]:
    """The questions of `world`, of `NAME:FILE` in a published format, or of a plain JSON Lines file.

    Raises:
        UsageError: an unknown name, or a file that is missing, cut off or wrong; the message names the place and field.
    """
    plain = DATASETS["jsonl"]
    if spec == WORLD:
        with as_file(files("thinkgraph").joinpath("data", WORLD, "questions.jsonl")) as path:
            return plain, read_questions(path)
    name, colon, file = spec.partition(":")
    known = DATASETS.get(name.casefold())
    if known and (colon or not Path(spec).exists()):
        if not file:
            raise UsageError(f"--data {name} needs its file ({name}:FILE). Where to get it: {known.where}")
        return known, known.read(Path(file).expanduser())
    if colon and not Path(spec).exists() and name.isalnum() and len(name) > 1:
        raise UsageError(f"no dataset is called '{name}' (known: {', '.join(sorted(DATASETS))})")
    return plain, read_questions(Path(spec))
