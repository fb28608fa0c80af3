"""Calls of known outcome as chat messages: what a run sends, and the reply that is right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel

from thinkgraph.eval.gold import Gold
from thinkgraph.eval.perfect.prompt_reading import fact_key, facts_of, key
from thinkgraph.eval.roles.asking import RoleCall, calls_of
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.eval.roles.scoring import figures
from thinkgraph.models.calls import prompt_profile, rendered
from thinkgraph.models.ops import Flow
from thinkgraph.models.roles import Models
from thinkgraph.models.wire.forms import to_messages
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import Message, Prompt, PromptLibrary, in_form
from thinkgraph.prompts.lines import Item, safe_block
from thinkgraph.prompts.parsed import parse_items
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.driver import Driver
from thinkgraph.runtime.shortlist import by_nearness
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.linking.lexical import content_tokens
from thinkgraph.training.chat.subquestions import SubquestionWords

_MUST_BE_WHOLE = ("recall", "precision", "none", "can", "must")


@dataclass(frozen=True)
class Record:
    """A call and its right reply."""

    role: str
    sort: str
    """Why it is there: see `SORTS_OF_RECORDS` of `thinkgraph.training.chat.card`."""
    messages: tuple[Message, ...]
    """As a run sends them."""
    reply: str

    def row(self) -> dict[str, Any]:
        """As a line of training data."""
        said = [*self.messages, ("assistant", self.reply)]
        return {"messages": [{"role": who, "content": text} for who, text in said]}


def records_of(
    cases: Sequence[Case],
    *,
    chooser: BaseChatModel,
    knowledge: Knowledge,
    prompts: PromptLibrary,
    settings: RunSettings,
    golds: Mapping[str, Gold],
) -> Iterator[Record]:
    """The records of cases: one for each order of options. Cases whose right reply cannot be told from what their prompt shows
    are left out.

    Args:
        cases: what is asked.
        chooser: the perfect chooser, which replies.
        knowledge: its encoder chooses the options that a prompt has room for, as in a run.
        prompts: what is rendered.
        settings: profile and worked examples of a call.
        golds: by question id.
    """
    # What it learns is to choose, also where the encoder would.
    settings = settings.model_copy(update={"pruning": "model"})
    models = Models(chooser, offline=lambda: chooser)
    driver = Driver({}, Deps(knowledge=knowledge, models=models, prompts=prompts, journal=None))
    in_words = SubquestionWords(knowledge.graph, {case.question: golds[case.question] for case in cases})
    for case in cases:
        prompt = prompts.get(case.role)
        for call in calls_of(case, prompt, models, settings, driver):
            shape = prompt.shaped(call.request.shape, prompt_profile(prompt, models, settings))
            messages = rendered(prompt, call.request.inputs, shape, models, settings)
            said = str(chooser.invoke(to_messages(messages)).text)
            value = prompt.kind.parse(said, shape)
            found = figures(case, prompt.kind.name, value, call.shown)
            if any(found.get(name, 1.0) < 1.0 for name in _MUST_BE_WHOLE) or _doubtful(
                call, value, golds[case.question]
            ):
                continue
            group = case.id.rpartition("/")[2].rstrip("0123456789")
            sort = "shuffled" if call.turn else group if golds[case.question].is_answerable else "unanswerable"
            words = partial(in_words, name=case.question)
            reply = _as_asked(in_form(said, prompt.kind.schema(shape)), value, call, prompt, shape, driver, words)
            yield Record(case.role, sort, tuple((who, words(text)) for who, text in messages), reply)


def _as_asked(
    reply: str, value: Any, call: RoleCall, prompt: Prompt, shape: Shape, driver: Driver, words: Callable[[str], str]
) -> str:
    """The chooser's reply as its prompt asks for it, where it needs less, or more."""
    if (kind := prompt.kind.name) == "text":
        return reply
    made = json.loads(reply)
    if shape.ranked and kind == "score":
        made = {"numbers": driver.drive(_best(call, value, shape.most))}
    elif shape.ranked:
        made["numbers"] = made["numbers"][: shape.most or None]
    elif kind == "pick":
        made["numbers"] = made["numbers"][: shape.most]
    elif kind == "subquestions":
        made["questions"] = [one | {"question": words(one["question"])} for one in made["questions"]]
    elif kind == "judge" and not value["answers"] and not _names_finds(prompt):
        made["evidence"] = []
    return json.dumps(made, ensure_ascii=False)


def _names_finds(prompt: Prompt) -> bool:
    """Whether its worked examples name the lines that a search has found of use, though they give no answer yet."""
    replies = [json.loads(example.reply) for example in prompt.worked]
    return any(one["evidence"] and not one["answers"] for one in replies)


def _best(call: RoleCall, scored: Sequence[tuple[int, float]], most: int) -> Flow[list[int]]:
    """The options on the path; where the prompt asks for so many of each entity, then the nearest to the question."""
    inputs = call.request.inputs
    right = [number for number, _ in sorted(scored, key=lambda pair: -pair[1])]
    if "most" not in inputs:
        return right[: most or None]
    near = yield from by_nearness(inputs["question"], parse_items(inputs["options"]))
    each: Counter[str] = Counter()
    best = []
    for item in sorted(near, key=lambda item: right.index(item.number) if item.number in right else len(right)):
        entity = item.step[0] if item.step else ""
        each[entity] += 1
        if each[entity] <= int(inputs["most"]):
            best.append(item.number)
    return best[:most]


def _doubtful(call: RoleCall, value: Any, gold: Gold) -> bool:
    """Whether a prompt does not tell the reply, though the gold path does: to learn it would be to learn to guess."""
    inputs, kind = call.request.inputs, call.request.kind.name
    options = parse_items(inputs.get("options", ""))
    # What led nowhere before is what the path gives once more.
    doubt = bool(inputs.get("tried"))
    if kind == "judge" and not value["sufficient"]:
        scored = [number for number, _ in value.get("scores", ())]
        # What a search should go on with where no option lies on the path is not known.
        lost = "scores" in value and not scored and bool(options)
        # Some of what is to be counted is shown: that it is not all of it, no line tells.
        counted = gold.operation == "count" and bool(value["evidence"])
        doubt |= lost or counted or _leads_nowhere(options, scored, gold)
    elif kind in {"judge", "verdict"}:
        doubt |= _keeps_back(inputs, gold)
    elif kind in {"keywords", "names"}:
        doubt |= _says_other(inputs["question"], value)
    elif kind in {"pick", "score"}:
        doubt |= _leads_nowhere(options, [one if kind == "pick" else one[0] for one in value], gold)
    elif kind == "pairs":
        # An option of the very name of a clue, at an entity that the path does not walk from, may be meant all the same.
        clues = set(map(fold, lines_of(inputs["clues"])))
        named = {fold(item.step[1] if item.step else item.label) for item in options}
        doubt |= bool(not value and clues & named) or _leads_nowhere(options, [option for _, option in value], gold)
    return doubt


def _says_other(question: str, parts: Iterable[str]) -> bool:
    """Whether parts of a question are in other words than its own, or leave out a name in it."""
    said = [set(content_tokens(part)) for part in parts]
    names = content_tokens(" ".join(word for word in question.split()[1:] if word[0].isupper()))
    return not all(map(set(content_tokens(question)).intersection, said)) or not set().union(*said).issuperset(names)


def _keeps_back(inputs: Mapping[str, str], gold: Gold) -> bool:
    """Whether the evidence gives more answers to a sub-question than the whole question wants: those that lead back."""
    if inputs["question"] == safe_block(gold.question):
        return False
    shown = {fact for item in parse_items(inputs["evidence"]) for fact in facts_of(item)}
    return any(
        relation == key(hop.relation) and (subject if hop.outgoing else end) in map(key, hop.sources)
        for hop in gold.hops
        for subject, relation, end in shown.difference(map(fact_key, hop.every))
    )


def _leads_nowhere(options: Iterable[Item], chosen: Sequence[int], gold: Gold) -> bool:
    """Whether an option that is not chosen is as good by what the prompt shows: only the path's next hop tells that it ends there."""
    dead = [(hop, fact) for hop in gold.hops for fact in hop.every if fact not in hop.facts]
    facts, ends = {fact_key(fact) for _, fact in dead}, {key(hop.end_of(fact)) for hop, fact in dead}
    left = [item for item in options if item.number not in chosen]
    return any(facts & facts_of(item) or (not item.step and not item.hops and key(item.label) in ends) for item in left)
