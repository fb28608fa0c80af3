"""Relation extraction by a model, for documents without a graph (ToG-2 section 1: "for purely document database").

Passages are asked about concurrently. Every reply is stored at once, so that a stopped build asks nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from thinkgraph.errors import ModelError, ThinkGraphError
from thinkgraph.ingest.documents.lexicon import Chunk
from thinkgraph.ingest.documents.store import DocumentStore, Extracted
from thinkgraph.ingest.documents.words import key_of_name
from thinkgraph.models.budget import BudgetSpentError, Ledger, ceilings
from thinkgraph.models.calls import CallScope, ModelCall, call_model, rendered
from thinkgraph.models.journal import Journal, SqliteJournal
from thinkgraph.prompts.kinds import TRIPLES, Shape, Statements
from thinkgraph.prompts.lines import numbered, passage_line, safe_label
from thinkgraph.runtime.driver import Driver
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.cache import cache_folder
from thinkgraph.tools.kb_files import json_hash
from thinkgraph.tools.linking.lexical import UNSPACED
from thinkgraph.tools.linking.names import normal_name
from thinkgraph.tools.progress import Progress
from thinkgraph.tools.protocols import closed_on_error
from thinkgraph.tools.values import value_kind

if TYPE_CHECKING:
    from thinkgraph.models.client import ChatClient
    from thinkgraph.models.roles import Models
    from thinkgraph.prompts.library import PromptLibrary
    from thinkgraph.state.events import Event

ROLE = "extract.triples"

_GIVE_UP = 8
"""Passages that fail in a row before the extraction stops."""
_KEPT_AT_ONCE = 32
_LONGEST_RELATION = 100
_LONGEST_NAME = 200


class ExtractSettings(RunSettings):
    """Settings of relation extraction. The other settings of a run are accepted and not used."""

    max_calls: int | None = Field(
        None, ge=1, le=10_000_000, description="Ceiling on model calls of one command, repairs and retries included."
    )
    concurrency: int = Field(8, ge=1, le=256, description="Passages asked about at one time.")
    max_output_tokens: int | None = Field(None, ge=16, description="Limit on a reply's length, sent to the provider.")


@dataclass
class ExtractionUsage:
    """Usage and failures of an extraction."""

    model: str = ""
    calls: int = 0
    """Requests made by this command, retries and repairs included."""
    replayed: int = 0
    """Replies taken from the journal."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None where the model has no price."""
    unreadable: int = 0
    """Passages whose reply could not be read, even after one repair."""
    failed: int = 0
    """Passages without a usable reply: those `unreadable`, and those that were not asked about any more, too."""
    first_problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """How relations are extracted."""

    models: Models
    prompts: PromptLibrary
    settings: ExtractSettings
    relations: Sequence[str] = ()
    """The only relations to extract, each with an optional description after " -- "; empty: any."""
    types: Sequence[str] = ()
    """Types to give entities; empty: none."""

    @property
    def client(self) -> ChatClient:
        """The model that answers."""
        return self.models.of(self.prompts.get(ROLE))

    def shape(self) -> Shape:
        """What a reply may hold."""
        return Shape(fields=("types",) if self.types else (), explain=self.settings.explain)

    def inputs(self, chunk: Chunk) -> dict[str, str]:
        """What the prompt is filled with."""
        return {
            "relations": numbered(map(_entry, self.relations)),
            "types": numbered(map(_entry, self.types)),
            "passage": numbered([passage_line(chunk.title, chunk.section, chunk.text)]),
        }

    def key(self, chunk: Chunk) -> str:
        """Hash of all that a reply depends on: passage, prompt, model, settings."""
        messages = rendered(self.prompts.get(ROLE), self.inputs(chunk), self.shape(), self.models, self.settings)
        settings = self.settings
        return json_hash([self.client.name, settings.temperature_reason, settings.max_output_tokens, messages])


def _entry(line: str) -> str:
    """A name with its description, if it has one, as prompts show entities."""
    name, dash, words = line.partition(" -- ")
    return f"{safe_label(name)}{dash}{safe_label(words)}"


class _Purse(Ledger):
    """A ledger for what this command spends: replies from the journal are free."""

    def replay(self, *, attempts: int, tokens: int, cost: float) -> None:
        del attempts, tokens, cost


@dataclass(slots=True)
class _Task:
    """One passage to ask about, and what came of it."""

    document: str
    place: int
    chunk: Chunk
    key: str
    tries: int
    found: Statements | None = None
    problem: str = ""
    unreadable: bool = False
    spent: bool = False
    records: list[tuple[Any, bool]] = field(default_factory=list)
    """Call records, each with whether it was replayed."""


def extract(
    store: DocumentStore, how: Extraction, journal: Journal, *, keep: bool, progress: Progress
) -> ExtractionUsage:
    """Ask about every passage that has no usable reply yet. A failure is recorded, and the others go on.

    With `keep`, statements by another model or prompt stay if their passages did not change.

    Raises:
        ModelError: no passage could be asked about: the model cannot be reached, or refuses.
        ThinkGraphError: the prompt or the journal is wrong.
    """
    work = _Extractor(store, how, journal, keep=keep)
    with (
        ThreadPoolExecutor(how.settings.concurrency, thread_name_prefix="extract") as pool,
        closed_on_error(partial(pool.shutdown, wait=False, cancel_futures=True)),
    ):
        work.run(pool, progress)
    return work.usage


class _Extractor:
    def __init__(self, store: DocumentStore, how: Extraction, journal: Journal, *, keep: bool) -> None:
        self._store = store
        self._how = how
        self._journal = journal
        self._keep = keep
        price = how.models.price(how.client.name)
        self.usage = ExtractionUsage(model=how.client.name, cost=None if price is None else 0.0)
        self._ledger = _Purse(ceilings(how.settings), how.settings)
        self._done: list[tuple[str, int, Extracted]] = []
        self._stopped = ""
        self._in_a_row = 0
        self._worked = False

    def run(self, pool: ThreadPoolExecutor, progress: Progress) -> None:
        documents = self._store.documents()
        waiting: set[Future[_Task]] = set()
        room = 2 * self._how.settings.concurrency
        for number, document in enumerate(documents):
            progress("extraction", number, len(documents))
            for task in self._tasks(document):
                while len(waiting) >= room:
                    waiting = self._take(waiting)
                if self._stopped:
                    self.usage.failed += 1
                    self._note(task, Extracted(task.key, None, task.tries, f"not asked: {self._stopped}"))
                    continue
                waiting.add(pool.submit(self._ask, task))
        while waiting:
            waiting = self._take(waiting)
        self._flush()
        self.usage.calls = self._ledger.calls
        progress("extraction", len(documents), len(documents))

    def _tasks(self, document: str) -> Iterator[_Task]:
        """The passages of a document that have no usable reply yet."""
        known = self._store.extracted(document)
        for place, chunk in enumerate(self._store.chunks(of=document)):
            one = known.get(place, Extracted("", None))
            if one.found is not None and self._keep:
                continue
            key = self._how.key(chunk)
            if one.found is None or one.key != key:
                yield _Task(document, place, chunk, key, one.tries if one.key == key else 0)

    def _ask(self, task: _Task) -> _Task:
        """Ask about a passage; runs in a thread of the pool.

        The journal is shared: an unreadable reply to another base's build says nothing of the model as it is now.
        """
        while self._only_replayed(task) and task.unreadable:
            task.tries += 1
        return task

    def _only_replayed(self, task: _Task) -> bool:
        """Ask once. Whether all that came of it was in the journal."""
        task.problem, task.unreadable = "", False
        events: list[Event] = []
        scope = CallScope(
            models=self._how.models,
            prompts=self._how.prompts,
            journal=self._journal,
            thread="extract",
            run=0,
            node="extract",
            place="extract",
            settings=self._how.settings,
            ledger=self._ledger,
            emit=events.append,
        )
        request = ModelCall(
            kind=TRIPLES,
            role=ROLE,
            inputs=self._how.inputs(task.chunk),
            shape=self._how.shape(),
            fallback=Statements(triples=[], types={}),
            # The journal has unreadable replies too, so another attempt is another sample.
            sample=task.tries,
        )
        try:
            result = Driver({}).drive(call_model(request, scope))
            if result.fell_back:
                model = self.usage.model
                task.problem = f"the reply of {model} could not be read (try it: thinkgraph doctor --model {model})"
                task.unreadable = True
            else:
                task.found = result.value
        except BudgetSpentError as spent:
            task.problem, task.spent = spent.reason, True
        except ModelError as error:
            task.problem = str(error)
        replayed = [bool(event.get("replayed")) for event in events if event["type"] == "called"]
        # Attempts that no reply came of have no event.
        told = [*replayed, *[False] * len(scope.records)]
        asked = list(zip(scope.records.values(), told, strict=False))
        task.records += asked
        return all(old for _, old in asked)

    def _take(self, waiting: set[Future[_Task]]) -> set[Future[_Task]]:
        finished, rest = wait(waiting, return_when=FIRST_COMPLETED)
        for future in finished:
            self._keep_answer(future.result())
        return rest

    def _keep_answer(self, task: _Task) -> None:
        usage = self.usage
        for record, replayed in task.records:
            usage.replayed += replayed
            if not replayed:
                usage.input_tokens += record["input_tokens"]
                usage.output_tokens += record["output_tokens"]
                usage.cost = None if usage.cost is None else usage.cost + record["cost"]
        if task.found is not None:
            self._in_a_row = 0
            self._worked = True
            self._note(task, Extracted(task.key, grounded(task.found, task.chunk, self._how.relations)))
            return
        usage.failed += 1
        usage.unreadable += task.unreadable
        usage.first_problem = usage.first_problem or task.problem
        self._in_a_row += 1
        self._note(task, Extracted(task.key, None, task.tries + task.unreadable, task.problem))
        if task.spent:
            self._stopped = task.problem
        elif self._in_a_row >= _GIVE_UP and not task.unreadable:
            self._stopped = f"{self._in_a_row} passages in a row failed, the last with: {task.problem}"
            if not self._worked:
                self._flush()
                raise ModelError(f"{task.problem}; mend that and run the same command again to go on")

    def _note(self, task: _Task, one: Extracted) -> None:
        self._done.append((task.document, task.place, one))
        if len(self._done) >= _KEPT_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._store.put_extracted(self._done)
        self._done.clear()


def grounded(found: Statements, chunk: Chunk, relations: Sequence[str] = ()) -> dict[str, Any]:
    """The statements with both ends in the passage, its title or its section. The others are dropped and counted by reason."""
    shown = [f" {key_of_name(text)} " for text in (chunk.text, chunk.title, chunk.section)]
    allowed = {normal_name(name): name for name in (line.partition(" -- ")[0].strip() for line in relations)}
    kept: dict[tuple[str, str, str], None] = {}
    dropped: Counter[str] = Counter()
    for subject, words, thing in found["triples"]:
        relation = " ".join(words.replace("_", " ").split())
        if allowed:
            relation = allowed.get(normal_name(relation), "")
        unwanted = "relation not wanted" if allowed and not relation else ""
        if fault := unwanted or _fault(subject, relation, thing, shown):
            dropped[fault] += 1
        else:
            kept[" ".join(subject.split()), relation, " ".join(thing.split())] = None
    types = {" ".join(name.split()): kind for name, kind in found["types"].items() if _stands_in(name, shown)}
    return {"triples": [list(triple) for triple in kept], "types": types, "dropped": dict(dropped)}


def _fault(subject: str, relation: str, thing: str, shown: Sequence[str]) -> str:
    """Why a statement is dropped; empty if it is kept."""
    if not _stands_in(subject, shown) or not _stands_in(thing, shown):
        return "not in the passage"
    if value_kind(subject) or max(len(subject), len(thing)) > _LONGEST_NAME:
        return "no name"
    if len(relation) > _LONGEST_RELATION or key_of_name(subject) == key_of_name(thing):
        return "no statement"
    return ""


def _stands_in(name: str, shown: Sequence[str]) -> bool:
    """Whether a name is in one of some texts, given by the keys of their words between spaces."""
    key = key_of_name(name)
    if UNSPACED.search(key):
        return any(key.replace(" ", "") in words.replace(" ", "") for words in shown)
    return bool(key) and any(f" {key} " in words for words in shown)


def cached_journal(otherwise: Path) -> SqliteJournal:
    """The journal in the user's cache, which all knowledge bases share; a file at `otherwise` if the cache cannot be written."""
    with suppress(OSError, ThinkGraphError):
        folder = cache_folder("extract")
        folder.mkdir(parents=True, exist_ok=True)
        return SqliteJournal(folder / "replies.sqlite")
    return SqliteJournal(otherwise)
