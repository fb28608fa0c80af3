"""From recorded calls to cases: right options, evidence that suffices and evidence that does not, answers right and wrong."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from thinkgraph.eval.gold import Gold
from thinkgraph.eval.perfect.chooser import names
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.cases import SORTS, Case, shape_fields, sort_of
from thinkgraph.eval.roles.lines import another_order, lines_of, mixed, replaced
from thinkgraph.eval.roles.recording import Oracle, Recorded
from thinkgraph.prompts.lines import parse_item, safe_block
from thinkgraph.tools.grounding import fold, numbers
from thinkgraph.tools.linking.lexical import content_tokens, overlap

_CLOSED = frozenset({"yes", "no", "true", "false", "supports", "refutes"})
_OF_ONE_QUESTION = 2
"""Most calls of one role, for one question, that become cases of one group."""
_TRIES = 6
_LEAST_NEAR = 3
"""Lines of other questions at least, among which sufficient evidence stands."""
_MAY_FIT_NONE = frozenset({"fasttog.community_prune", "fiske.r_mapping", "fiske.e_mapping"})
"""Choosing roles for which nothing is the right choice where no option lies on the gold path; others must go on searching."""
_TRIPLE = 3

Draft = tuple[Recorded, dict[str, Any]]
"""A call, and what is right."""


class Maker:
    """Makes cases, question by question, until each role has enough."""

    def __init__(
        self,
        roles: Sequence[str],
        golds: Mapping[str, Gold],
        oracle: Oracle,
        *,
        cases: int,
        seed: int,
        measures: bool = True,
    ) -> None:
        """Start without any.

        Args:
            roles: the roles to make cases of.
            golds: by question id.
            oracle: knows the right replies.
            cases: how many a role gets, at most.
            seed: of what is drawn.
            measures: whether cases are to tell models apart; else they are to be learnt from. Then all options may be right,
                sufficient evidence also stands among lines of other questions, and lines are mixed.
        """
        self._measures = measures
        self._roles, self._golds, self._oracle = roles, golds, oracle
        self._most, self._seed = cases, seed
        self._found: dict[tuple[str, str], list[Case]] = defaultdict(list)
        self._lines: dict[str, dict[str, str]] = defaultdict(dict)
        """By role, evidence lines and the question they were shown for."""
        self._whole: dict[str, list[tuple[Question, Recorded, Sequence[str]]]] = defaultdict(list)
        """By role, calls whose evidence suffices, with the answers."""

    @property
    def enough(self) -> bool:
        """Whether every role has all its cases."""
        return all(self._has(role) >= self._most for role in self._roles)

    def add(self, question: Question, calls: Sequence[Recorded]) -> None:
        """Take in the calls that a question's runs made."""
        gold = self._golds.get(question.id)
        if gold is None:
            return
        by_role: dict[str, list[Recorded]] = defaultdict(list)
        for call in calls:
            by_role[call.role].append(call)
            for line in lines_of(call.inputs.get("evidence", "")):
                self._lines[call.role].setdefault(line, question.id)
        for role, made in by_role.items():
            rng = self._rng(role, question.id)
            rng.shuffle(made)
            groups: dict[str, list[Draft]] = defaultdict(list)
            for call in made:
                for group, draft in self._drafts(question, gold, call, rng):
                    if len(groups[group]) < _OF_ONE_QUESTION:
                        groups[group].append(draft)
            for group, drafts in groups.items():
                for number, (call, right) in enumerate(drafts, start=1):
                    self._found[role, group].append(self._case(question, call, right, f"{group}{number}", rng))

    def cases(self) -> list[Case]:
        """The cases of every role: at most as many as wanted, of as many questions as there are."""
        return [case for role in self._roles for case in self._of(role)]

    def _has(self, role: str) -> int:
        """How many cases there are of a role; a call whose evidence suffices counts for one that will be cut."""
        right, none = len(self._found[role, "right"]), len(self._found[role, "none"])
        if not self._judges(role):
            return right + min(none, self._most // 4)
        half = self._most // 2
        return min(right, self._most - half) + min(none + len(self._whole[role]), half)

    def _of(self, role: str) -> list[Case]:
        right, none = (_spread(self._found[role, group]) for group in ("right", "none"))
        if not self._judges(role):
            # Where nothing fits is asked too, but recall is measured where something does.
            none = none[: self._most // 4]
            return [*right[: self._most - len(none)], *none]
        half = self._most // 2
        noisy = [] if self._measures else self._among_others(role)
        return [*right[: self._most - half], *none[:half], *self._cuts(role, half - len(none)), *noisy]

    def _judges(self, role: str) -> bool:
        return sort_of(self._oracle.prompts.get(role)) == "judging"

    def _cuts(self, role: str, most: int) -> list[Case]:
        """Cases of evidence that no longer suffices: made last, when the lines of all questions are known."""
        made: list[Case] = []
        for question, call, answers in self._whole[role]:
            if len(made) >= most:
                break
            rng = self._rng(role, question.id)
            if cut := self._cut(question, call, answers, rng):
                right = {"sufficient": False, "answers": [], "aliases": []}
                made.append(self._case(question, cut, right, f"cut{len(made) + 1}", rng))
        return made

    def _among_others(self, role: str) -> list[Case]:
        """Cases of sufficient evidence among lines of other questions that share the question's words."""
        made: list[Case] = []
        for question, call, answers in self._whole[role]:
            rng = self._rng(role, question.id, "noisy")
            evidence = call.inputs["evidence"]
            shown = lines_of(evidence)
            near = self._near(question, call, shown, max(_LEAST_NEAR, len(shown)))
            noisy = self._with_evidence(call, mixed(replaced(evidence, (), near), rng), keep_clues=True)
            value = self._oracle(call.role, noisy.inputs, noisy.shape)
            if near and value["sufficient"] and set(value["answers"]) == set(answers):
                right = {"sufficient": True, "answers": list(answers), "aliases": []}
                made.append(self._case(question, noisy, right, f"noisy{len(made) + 1}", rng))
        return made

    def _near(self, question: Question, call: Recorded, leave_out: Collection[str], count: int) -> list[str]:
        """Lines of other questions that share most words with this one."""
        others = [line for line, of in self._lines[call.role].items() if of != question.id and line not in leave_out]
        return sorted(others, key=lambda line: -overlap(call.inputs["question"], line))[:count]

    def _rng(self, *of: str) -> random.Random:
        # A question's id may hold half a surrogate pair.
        seed = "\0".join([str(self._seed), *of]).encode("utf-8", "surrogatepass")
        return random.Random(seed)  # noqa: S311 - reproducible, not secret

    def _case(self, question: Question, call: Recorded, right: dict[str, Any], name: str, rng: random.Random) -> Case:
        ordered = sort_of(self._oracle.prompts.get(call.role)) == "choosing"
        return Case(
            id=f"{call.role}/{question.id}/{name}",
            role=call.role,
            question=question.id,
            type=question.type,
            inputs=call.inputs,
            shape=shape_fields(call.shape),
            right=right,
            order=another_order(call.shape.options, rng) if ordered else (),
        )

    def _drafts(
        self, question: Question, gold: Gold, call: Recorded, rng: random.Random
    ) -> Iterable[tuple[str, Draft]]:
        """What a call gives, each with its group."""
        whole = call.inputs.get("question") == safe_block(question.question)
        kind = self._oracle.prompts.get(call.role).kind.name
        value = self._oracle(call.role, call.inputs, call.shape)
        if kind in {"pick", "score", "pairs"}:
            choices = [entry[0] if kind == "score" else list(entry) if kind == "pairs" else entry for entry in value]
            offered = call.shape.options
            if (
                gold.is_answerable
                and (len(choices) < offered > 1 or (choices and not self._measures))
                and (choices or call.role in _MAY_FIT_NONE)
            ):
                yield "right" if choices else "none", (call, {"choices": choices})
        elif kind == "judge" and "evidence" in call.inputs:
            yield from self._judged(question, call, value, whole=whole)
        elif kind == "verdict" and value["right"] and fold(call.inputs["answer"]) not in {"", "i don t know"}:
            yield "right", (call, {"right": True})
            if wrong := self._wrong_answer(call, rng):
                yield "none", (wrong, {"right": False})
        elif whole and gold.is_answerable and SORTS.get(kind) == "generating":
            right = _generated(kind, value, gold, call)
            if right["names"] or right["words"]:
                yield "right", (call, right)

    def _judged(
        self, question: Question, call: Recorded, value: Mapping[str, Any], *, whole: bool
    ) -> Iterable[tuple[str, Draft]]:
        if not value["sufficient"]:
            # Of a part of the question it may not be known what it needs.
            if whole and self._shows_none(call, question.answers):
                yield "none", (call, {"sufficient": False, "answers": [], "aliases": []})
            return
        answers = value["answers"]
        known = {fold(answer) for answer in answers} == {fold(answer) for answer in question.answers}
        aliases = [list(forms) for forms in question.aliases] if known else []
        named = list(question.answers) if known and aliases else list(answers)
        yield "right", (call, {"sufficient": True, "answers": named, "aliases": aliases})
        if not any(of is question for of, *_ in self._whole[call.role]):
            self._whole[call.role].append((question, call, answers))

    def _cut(self, question: Question, call: Recorded, answers: Sequence[str], rng: random.Random) -> Recorded | None:
        """A call without its gold lines, and with as many lines of other questions that share the question's words."""
        evidence, gone = call.inputs["evidence"], set[str]()
        for _ in range(_TRIES):
            made = self._with_evidence(call, evidence)
            value = self._oracle(call.role, made.inputs, made.shape)
            if not value["sufficient"] or not value["evidence"]:
                break
            lines = lines_of(evidence)
            gone |= {lines[number - 1] for number in value["evidence"]}
            evidence = replaced(evidence, value["evidence"])
        else:
            return None
        evidence = replaced(evidence, (), self._near(question, call, gone, len(gone)))
        cut = self._with_evidence(call, evidence if self._measures else mixed(evidence, rng))
        value = self._oracle(call.role, cut.inputs, cut.shape)
        return cut if not value["sufficient"] and self._shows_none(cut, answers) else None

    def _shows_none(self, call: Recorded, answers: Sequence[str]) -> bool:
        """Whether there is evidence and it names no answer. Yes and no are not looked for, nor numbers, unless cases are to be learnt
        from: then neither the evidence nor what is said of the entities may hold them.
        """
        names_read = ("evidence",) if self._measures else ("evidence", "entities", "clues")
        texts = ["\n".join(lines_of(text)) or text for name in names_read if (text := call.inputs.get(name))]
        if not self._measures and any(numbers(answer) & numbers(text) for answer in answers for text in texts):
            return False
        shown = f" {fold(' '.join(texts))} "
        named = [fold(answer) for answer in answers]
        hidden = not any(f" {name} " in shown for name in named if name not in _CLOSED and not name.isdigit())
        return hidden and bool(lines_of(call.inputs["evidence"]))

    def _with_evidence(self, call: Recorded, evidence: str, *, keep_clues: bool = False) -> Recorded:
        # Clues of earlier rounds may tell the answer.
        cleared = {"clues": ""} if "clues" in call.inputs and not keep_clues else {}
        inputs = {**call.inputs, "evidence": evidence, **cleared}
        return Recorded(call.role, inputs, dataclasses.replace(call.shape, evidence=len(lines_of(evidence))))

    def _wrong_answer(self, call: Recorded, rng: random.Random) -> Recorded | None:
        """The call with another thing of the evidence as its answer: one of the same relation, if there is one."""
        right = {fold(answer) for answer in call.inputs["answer"].split("; ")}
        items = [parse_item(number, line) for number, line in enumerate(lines_of(call.inputs["evidence"]), start=1)]
        facts = [hop for item in items for hop in item.triples]
        said = {hop.relation for hop in facts if {fold(hop.subject), fold(hop.object)} & right}
        ends = [(hop.relation in said, end) for hop in facts for end in (hop.subject, hop.object)]
        asked = fold(call.inputs["question"])
        others = sorted({(same, end) for same, end in ends if fold(end) not in right and fold(end) not in asked})
        rng.shuffle(others)
        for _, end in sorted(others, key=lambda other: not other[0])[:_TRIES]:
            made = Recorded(call.role, {**call.inputs, "answer": end}, call.shape)
            if not self._oracle(call.role, made.inputs, made.shape)["right"]:
                return made
        return None


def _spread(cases: Sequence[Case]) -> list[Case]:
    """Cases with those first that are the first of their question."""
    seen: dict[str, int] = defaultdict(int)
    ranked = []
    for case in cases:
        ranked.append((seen[case.question], case))
        seen[case.question] += 1
    return [case for _, case in sorted(ranked, key=lambda pair: pair[0])]


def _words(labels: Iterable[str], question: str) -> list[str]:
    """The words of relations that the question uses too."""
    known = set(content_tokens(question))
    return sorted({word for label in labels for word in content_tokens(label) if word in known})


def _generated(kind: str, value: Sequence[Any], gold: Gold, call: Recorded) -> dict[str, Any]:
    """What is right where a reply is generated."""
    named, words, more = names(gold), list[str](), dict[str, Any]()
    if kind == "keywords":
        words = _words((hop.relation for hop in gold.hops), call.inputs["question"])
    elif kind == "keys":
        asked, parts = call.inputs["questions"], [entry["key"] for entry in value]
        ends = dict.fromkeys(part for key in parts for part in (key[0], *key[2:_TRIPLE]) if not part.startswith("?"))
        named = [end for end in ends if fold(end) in fold(asked)]
        words = _words((key[1] for key in parts if len(key) > 1), asked)
    elif kind == "subquestions":
        count, refers = len(value), any(part["refers"] for part in value)
        # One more may combine the others; a question of one hop may stay as it is.
        most = count + (gold.operation != "chain")
        more = {"least": count if count > 1 else 0, "most": most, "refers": refers}
    return {"names": named, "words": words, **more}
