"""Benchmarks by name, each read in the file format it is published in. Only `world` comes with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets.forms import Fields, reader_of
from thinkgraph.eval.datasets.metaqa import metaqa
from thinkgraph.eval.datasets.mooc import mooc
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

_TOG = "GasolSun36/ToG or IDEA-FinAI/ToG on GitHub (topic entities given)"
_TOG2 = "IDEA-FinAI/ToG-2 on GitHub (topic entities given)"
_KILT = "facebookresearch/KILT on GitHub: {0}-{{train,dev}}-kilt.jsonl (MIT); data/{1} of " + _TOG
_PLAIN = Fields("question", "answer")
_SLOTS = (Fields("input", "output", one=True), Fields("input", "answer"))
_EITHER = (Fields("question", "answers"), _PLAIN)


def _dataset(name: str, title: str, where: str, *forms: Fields, style: Task = "question") -> Dataset:
    return Dataset(name, title, reader_of(title, forms or (_PLAIN,), style), where, style)


DATASETS: dict[str, Dataset] = {
    entry.name: entry
    for entry in (
        Dataset(
            "metaqa",
            "MetaQA",
            metaqa,
            "yuyuz/MetaQA on GitHub: {1,2,3}-hop/vanilla/qa_*.txt with {1,2,3}-hop/qa_*_qtype.txt (CC BY 3.0)",
        ),
        Dataset("mooc", "MOOC Q&A", mooc, "MOOCCube (moocdata.cn/data/MOOCCube): the question files of MOOCQA"),
        _dataset(
            "webqsp",
            "WebQSP",
            f"Microsoft Download Center, id 52763: WebQSP.{{train,test}}.json (CC BY 4.0); data/WebQSP.json of {_TOG}; "
            f"data/webqsp_test.json of {_TOG2}",
            Fields("RawQuestion", "Parses"),
            Fields("ProcessedQuestion", "Parses"),
            # ToG-2 lists the names and aliases of all answers without saying which belong together.
            Fields("question", "answers", one=True, beside="qid_topic_entity"),
        ),
        _dataset(
            "cwq",
            "ComplexWebQuestions",
            f"tau-nlp's ComplexWebQuestions page: ComplexWebQuestions_{{train,dev}}.json; data/cwq.json of {_TOG}",
            *_EITHER,
        ),
        _dataset(
            "grailqa",
            "GrailQA",
            f"dki-lab's GrailQA page: grailqa_v1.0_{{train,dev}}.json (CC BY-SA 4.0); data/graliqa.json of {_TOG}",
        ),
        _dataset("simpleqa", "Simple Questions", f"data/SimpleQA.json of {_TOG}"),
        _dataset("webquestions", "WebQuestions", f"data/WebQuestions.json of {_TOG}", Fields("question", "answers")),
        _dataset(
            "qald9plus",
            "QALD-9-plus",
            "KGQA/QALD_9_plus on GitHub: qald_9_plus_{train,test}_{wikidata,dbpedia}.json (CC BY 4.0)",
            *_EITHER,
        ),
        _dataset(
            "qald10",
            "QALD-10",
            f"KGQA/QALD-10 on GitHub: data/qald_10/qald_10.json (MIT); data/qald_10-en.json of {_TOG} and {_TOG2}",
            *_EITHER,
        ),
        _dataset(
            "grbench",
            "GRBench",
            "PeterJinGo/GRBench on Hugging Face, or data.json of PeterGriffinJin/Graph-CoT (Apache-2.0); its graphs: "
            "kb build --triples graph.json",
        ),
        _dataset("zsre", "Zero-Shot RE", _KILT.format("structured_zeroshot", "Zero_Shot_RE.json"), *_SLOTS),
        _dataset("trex", "T-REx", _KILT.format("trex", "T-REX.json"), *_SLOTS),
        _dataset(
            "hotpotqa",
            "HotpotQA",
            "hotpotqa.github.io: hotpot_dev_{distractor,fullwiki}_v1.json (CC BY-SA 4.0); data/hotpot_dev_new.json of cy623/RAG",
        ),
        _dataset(
            "advhotpotqa",
            "AdvHotpotQA",
            f"data/hotpotadv_dev.json of {_TOG2}, with hotpotadv_entities_azure.json beside it for the entities",
        ),
        _dataset(
            "2wiki",
            "2WikiMultihopQA",
            "Alab-NII/2wikimultihop on GitHub: {train,dev}.json of data_ids.zip (Apache-2.0)",
        ),
        _dataset(
            "musique",
            "MuSiQue",
            "StonyBrookNLP/musique on GitHub: musique_{ans,full}_v1.0_{train,dev}.jsonl (CC BY 4.0)",
        ),
        _dataset(
            "fever",
            "FEVER",
            f"fever.ai: {{train,shared_task_dev,paper_dev}}.jsonl (CC BY-SA 3.0); data/fever_1000.json of {_TOG2}",
            Fields("claim", "label"),
            style="fact",
        ),
        _dataset(
            "creak",
            "CREAK",
            f"yasumasaonoe/creak on GitHub: data/creak/{{train,dev}}.json (MIT); data/creak.json of {_TOG} and {_TOG2}",
            Fields("sentence", "label"),
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
    return plain, read_questions(Path(spec).expanduser())
