"""The page's runs: started, followed, stopped, resumed and answered, over the command line's run store."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.errors import GraphDrained

from thinkgraph.cli.ask import built, check_fits, kept_words, waiting
from thinkgraph.cli.options import open_models, prices_of
from thinkgraph.cli.resume import continuation
from thinkgraph.cli.runs import RunOptions, RunRow, RunStore, kept_answer, new_thread
from thinkgraph.config import Model, model_words
from thinkgraph.errors import ManifestMismatchError, RunError, UsageError
from thinkgraph.eval.costs.estimate import estimates
from thinkgraph.graphs.build import Graph
from thinkgraph.integrations.mcp.tools import client_settings
from thinkgraph.models.roles import OFFLINE, Models
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer
from thinkgraph.tools.addresses import redacted
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.ui.live import LiveRun, about_run, failed, kept_run
from thinkgraph.ui.prompts import Listener
from thinkgraph.ui.travel import Moment, branch, moments
from thinkgraph.ui.walk import AskedBack, Forked, Paused, Queued, Recorder

MOST_RUNS = 8
"""Runs that are worked on at a time; others wait for their turn."""
MOST_ENDED = 100
"""Runs that have ended whose events stay in memory: a page that loads one while it ends still asks for the rest."""
STOPPED = "stopped: nothing is lost, go on when you like"


@dataclass
class Served:
    """What the page may be asked about, and with what."""

    knowledge: Knowledge
    options: RunOptions
    """Of every run; method, model and settings are the run's own."""
    fixed: Mapping[str, Mapping[str, Any]]
    """The methods, the default first, with the settings that nobody can change from outside."""

    more_models: Sequence[Model] = ()
    """That may be chosen beside the one of `options`."""
    more_knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    """That may be asked beside `knowledge`, by its folder or address."""

    def asks(self, method: str) -> dict[str, Any]:
        """When a run asks, where nobody fixed it: a person is there, who can be asked before it stops at a ceiling."""
        return {} if "ask_user" in self.fixed[method] else {"ask_user": "budget"}

    @functools.cached_property
    def models(self) -> dict[str, Model]:
        """The models that may be chosen, by what they are called; the first is the one configured."""
        return {model_words(one): one for one in (self.options["model"], *self.more_models, OFFLINE)}

    @functools.cached_property
    def bases(self) -> dict[str, tuple[str, Knowledge]]:
        """The knowledge bases by folder or address, without passwords; each with its whole address. The default is the first."""
        every = {self.options["kb"]: self.knowledge, **self.more_knowledge}
        return {redacted(kb): (kb, knowledge) for kb, knowledge in every.items()}

    def base(self, name: str) -> tuple[str, Knowledge]:
        """The address and the knowledge base of a name, the default for an empty one.

        Raises:
            UsageError: it is not served.
        """
        if name and name not in self.bases:
            raise UsageError(f"this page has no knowledge '{one_line(name)}'; known: {', '.join(self.bases)}")
        return self.bases[name or next(iter(self.bases))]


@dataclass
class Desk:
    """Takes questions and answers them, each in a thread of its own."""

    served: Served
    _live: dict[str, LiveRun] = field(default_factory=dict)
    _models: dict[tuple[str, str], Models] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(MOST_RUNS, thread_name_prefix="thinkgraph-page")
    )

    def close(self) -> None:
        """Stop what runs, which can be resumed, and end whoever follows it."""
        for live in list(self._live.values()):
            live.control.request_drain()
            live.let_go()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def options(self, asked: Mapping[str, Any]) -> RunOptions:
        """What a question is to be asked with.

        Raises:
            UsageError: a method, a model or knowledge that is not served.
            SettingsError: a setting that a page may not choose, or out of range.
        """
        method = str(asked.get("method") or next(iter(self.served.fixed)))
        if method not in self.served.fixed:
            raise UsageError(f"this page has no method '{one_line(method)}'; known: {', '.join(self.served.fixed)}")
        name = str(asked.get("model") or next(iter(self.served.models)))
        if name not in self.served.models:
            raise UsageError(f"this page has no model '{one_line(name)}'; known: {', '.join(self.served.models)}")
        kb, _ = self.served.base(str(asked.get("knowledge") or ""))
        given = asked.get("settings") or {}
        if not isinstance(given, Mapping):
            raise UsageError("settings are an object of names and values")
        asks = self.served.asks(method)
        settings = client_settings(method, self.served.fixed[method], {**asks, **given}, also=asks)
        own = {"method": method, "model": self.served.models[name], "kb": kb, "settings": settings}
        return cast("RunOptions", {**self.served.options, **own})

    def question(self, asked: Mapping[str, Any], options: RunOptions) -> str:
        """The question of a request.

        Raises:
            UsageError: there is none, it is no text, or it is too long.
        """
        given = asked.get("question") or ""
        if not isinstance(given, str):
            raise UsageError("the question is a text")
        question = kept_words(given)
        check_fits(question, options)
        return question

    def estimate(self, asked: Mapping[str, Any]) -> str:
        """What a question is expected to cost, in words. No model is asked.

        Raises:
            ThinkGraphError: as `ask`.
        """
        options = self.options(asked)
        question = self.question(asked, options)
        own = {options["method"]: options["settings"]}
        models, knowledge = self._models_of(options), self._knowledge(options)
        (expected,) = estimates(models, knowledge, own, [question], prompts=options["prompts"])
        return expected.line(prices_of(options["prices"])).partition(": ")[2]

    def ask(self, asked: Mapping[str, Any]) -> str:
        """Start a run; gives its thread.

        Raises:
            ThinkGraphError: it cannot be started.
        """
        options = self.options(asked)
        question = self.question(asked, options)
        thread = new_thread()
        with RunStore() as runs:
            runs.start(thread, question, options)
        self._begin(LiveRun(thread), None)
        return thread

    def resume(self, thread: str, reply: str | None = None) -> None:
        """Go on with a run that was stopped or that waits for a reply.

        Raises:
            RunError: there is none, it is being worked on, or it is finished.
            ManifestMismatchError: it was started with other knowledge or another model than this page serves.
        """
        if before := self._live.get(thread):
            before.settle()
        with RunStore() as runs:
            row = runs.known(thread)
            events = runs.events(thread)
        if row["status"] != "unfinished":
            raise RunError(f"run {thread} is finished")
        self._options_of(row)
        self._begin(LiveRun(thread, events), reply)

    def _options_of(self, row: RunRow) -> RunOptions:
        """What a run of the store goes on with here.

        Raises:
            ManifestMismatchError: it was started with other knowledge or another model than this page serves.
        """
        thread, own = row["thread"], self.served.options
        if row["options"]["kb"] not in self.served.bases or row["options"]["text"] != own["text"]:
            raise ManifestMismatchError(
                f"run {thread} was started with other knowledge than this page serves: thinkgraph resume {thread}"
            )
        if row["options"]["model"] not in self.served.models.values():
            raise ManifestMismatchError(
                f"run {thread} was started with a model that this page does not have: thinkgraph resume {thread}"
            )
        # Addresses come from the page, which knows their passwords.
        kept = {name: row["options"][name] for name in ("method", "model", "settings", "prompts")}
        return cast("RunOptions", {**own, **kept, "kb": self.served.base(row["options"]["kb"])[0]})

    def stop(self, thread: str) -> None:
        """Let a run rest after the step that is in flight.

        Raises:
            RunError: it is not being worked on here.
        """
        live = self._live.get(thread)
        if live is None or live.done:
            raise RunError(f"run {thread} is not being worked on")
        live.control.request_drain()

    def moments(self, thread: str) -> list[Moment]:
        """The checkpoints of a run from which it can go on otherwise.

        Raises:
            RunError: there is no such run.
        """
        with RunStore() as runs:
            row = runs.known(thread)
            return moments(self._graph(self._options_of(row), runs), row)

    def fork(self, thread: str, asked: Mapping[str, Any]) -> str:
        """Start a run that goes on from a checkpoint of another one, with changes; gives its thread.

        Raises:
            ThinkGraphError: see `branch` and `resume`.
        """
        with RunStore() as runs:
            row = runs.known(thread)
            options = self._options_of(row)
            new = new_thread()
            graph, knowledge = self._graph(options, runs), self._knowledge(options)
            chosen, words = branch(graph, runs, row, new, options, asked, knowledge)
            before = [event for event in runs.events(thread) if event["at"] <= chosen["at"]]
            forked = Forked(type="forked", source=thread, changes=words)
            events = [*before, Recorder.stamped(forked)]
            runs.keep_events(new, events)
        self._begin(LiveRun(new, events), None)
        return new

    def history(self) -> list[dict[str, Any]]:
        """All runs of the store, newest first."""
        with RunStore() as runs:
            rows = runs.rows()
        working = {thread for thread, live in list(self._live.items()) if not live.done}
        return [about_run(row, working=row["thread"] in working) for row in rows]

    def run(self, thread: str) -> dict[str, Any]:
        """A run with its events so far.

        Raises:
            RunError: there is none.
        """
        # Looked at before the store: what ends in between is kept there.
        live = self._live.get(thread)
        events = list(live.events) if live and not live.done else None
        with RunStore() as runs:
            row = runs.known(thread)
            if events is not None:
                return {**about_run(row, working=True), "events": events}
            found = kept_run(runs, row)
        if live and row["status"] == "unfinished":
            # Why it could not be worked on is not kept: another process that works on it since says more.
            since = max(row["updated"], found["events"][-1]["at"])
            found["events"] += [event for event in live.unkept() if event["at"] >= since]
        return found

    def base_of(self, thread: str) -> tuple[str, Knowledge]:
        """The address and the knowledge base that a run asks, without the run's events.

        Raises:
            RunError: there is no such run.
            UsageError: its knowledge is not served.
        """
        with RunStore() as runs:
            return self.served.base(runs.known(thread)["options"]["kb"])

    def live(self, thread: str) -> LiveRun | None:
        """The run, if this process works or has worked on it."""
        return self._live.get(thread)

    def answer(self, thread: str) -> Answer:
        """The answer of a finished run.

        Raises:
            RunError: there is none.
        """
        with RunStore() as runs:
            if runs.known(thread)["status"] == "unfinished":
                raise RunError(f"run {thread} has no answer yet")
            return kept_answer(runs, thread)

    def _knowledge(self, options: RunOptions) -> Knowledge:
        return self.served.base(redacted(options["kb"]))[1]

    def _models_of(self, options: RunOptions) -> Models:
        # The offline one uses the encoder of the knowledge.
        name = (options["kb"], model_words(options["model"]))
        with self._lock:
            if name not in self._models:
                knowledge = self._knowledge(options)
                self._models[name] = open_models(options["model"], knowledge, prices=options["prices"])
            return self._models[name]

    def _begin(self, live: LiveRun, reply: str | None) -> None:
        with self._lock:
            old = self._live.get(live.thread)
            if old and not old.done:
                raise RunError(f"run {live.thread} is being worked on")
            self._live.pop(live.thread, None)
            if sum(not one.done for one in self._live.values()) >= MOST_RUNS:
                live.add(Recorder.stamped(Queued(type="queued", running=MOST_RUNS)))
            self._live[live.thread] = live
            # The store has the events of all runs.
            for one in [one for one in self._live.values() if one.done and not one.unkept()][:-MOST_ENDED]:
                del self._live[one.thread]
        self._pool.submit(self._work, live, reply)

    def _work(self, live: LiveRun, reply: str | None) -> None:
        try:
            with RunStore() as runs, runs.lock(live.thread):
                try:
                    self._go(live, runs, reply)
                except Exception as error:
                    live.add(Recorder.stamped(failed(live.thread, error)))
                    raise
                finally:
                    live.keep(runs)
        except Exception as error:  # noqa: BLE001 - it is an event now
            if live.last != "paused":
                live.add(Recorder.stamped(failed(live.thread, error)))
        finally:
            live.end()

    def _go(self, live: LiveRun, runs: RunStore, reply: str | None) -> None:
        row = runs.known(live.thread)
        options = self._options_of(row)
        graph, recorder = self._graph(options, runs), Recorder(self._knowledge(options), live.events)
        config: Any = {"configurable": {"thread_id": live.thread}, "callbacks": [Listener(live.hear)]}
        start, answer = continuation(graph, row, reply)
        if answer is None:
            stream: Any = graph.stream(
                start, config, stream_mode=["custom", "updates"], durability="sync", control=live.control
            )
            with contextlib.closing(stream):
                try:
                    for mode, part in stream:
                        for event in recorder.read(mode, part):
                            live.add(event)
                        if mode == "updates":
                            live.keep(runs)
                except GraphDrained:
                    live.add(recorder.stamped(Paused(type="paused", reason=STOPPED)))
                    return
            state = graph.get_state(config)
            if questions := list(waiting(state).values()):
                live.add(recorder.stamped(AskedBack(type="asked", question=questions[0])))
                return
            answer = cast("Answer | None", state.values.get("answer"))
        if answer is None:
            raise RunError("the run stopped before its answer: go on")
        runs.finish(live.thread, answer["status"])
        live.add(recorder.finished(answer))

    def _graph(self, options: RunOptions, runs: RunStore) -> Graph:
        return built(options, runs, self._knowledge(options), self._models_of(options))
