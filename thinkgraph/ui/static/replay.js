// A run as a picture that grows with its events: the same for a run that is going on, one of yesterday, and a shared file.
import { add, fill, h, icon, many, plain, said } from "./dom.js";
import { Graph } from "./graph.js";
import { answerPanel, statusChip } from "./answer.js";
import { stepElement, stepOf } from "./steps.js";
import { seconds, shortNumber } from "./words.js";

export class RunView {
  // run: { question, method, model, status, events }. actions: buttons of the head; onReply: for what the run asks;
  // of: which run it is, where several stand side by side.
  constructor(root, run, { actions = [], onReply = null, of = "" } = {}) {
    this.run = run;
    this.of = of;
    this.onReply = onReply;
    this.events = [];
    // Seconds that had been worked when each of them came.
    this.worked = [];
    this.shown = 0;
    this.following = true;
    this.build(root, actions);
    for (const event of run.events) this.push(event);
    if (!run.events.length) this.meter();
  }

  build(root, actions) {
    const { run } = this;
    this.chip = h("span", {}, statusChip(run.status, run.working));
    this.canvas = h("div", { class: "canvas", role: "img", "aria-label": "The graph of the run" });
    this.tip = h("p", { class: "tip", hidden: true });
    this.empty = h("p", { class: "hint" }, run.working ? "The graph appears here as the run finds it." : "This run has kept no steps.");
    this.list = h("ul", { class: "sentences" });
    this.asking = h("div", {});
    this.answerBox = h("div", {});
    this.clueBox = h("div", {});
    this.mapBox = h("div", {});
    this.passageBox = h("div", {});
    this.steps = h("ol", { class: "steps" });
    this.live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.seen = h("li", { class: "is-seen" }, "seen");
    this.numbers = h("dl", { class: "numbers" });
    this.slider = h("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Moment of the run", oninput: () => this.scrub(Number(this.slider.value)) });
    this.play = h("button", { type: "button", class: "quiet-button", "aria-label": "Replay", onclick: () => this.replay() }, icon("play"));
    this.moment = h("span", { class: "faint moment" });
    const layered = h("button", { type: "button", "aria-pressed": "false", title: "In layers, from left to right", "aria-label": "Layers", onclick: () => {
      const on = layered.getAttribute("aria-pressed") !== "true";
      layered.setAttribute("aria-pressed", String(on));
      this.graph.tree(on);
    } }, icon("tree"));
    const listed = h("details", { class: "as-list" }, h("summary", {}, "The graph as a list"), this.list);
    listed.addEventListener("toggle", () => listed.open && this.sentences());
    this.listed = listed;
    fill(root,
      h("article", { class: this.of ? "run small" : "run" },
        h("header", { class: "run-head" },
          h("div", { class: "run-title" }, h(this.of ? "h2" : "h1", { dir: "auto" }, plain(run.question, 500)),
            h("p", { class: "faint" }, this.chip, ` ${run.method} · `, said(run.model), run.knowledge ? [" · ", said(run.knowledge)] : null)),
          h("div", { class: "actions" }, actions)),
        h("div", { class: "stage" },
          h("section", { class: "picture", "aria-label": `Graph${this.of}` }, this.canvas, this.empty, this.tip,
            h("div", { class: "tools" },
              h("button", { type: "button", title: "See all of it", "aria-label": "See all of the graph", onclick: () => { this.graph.unlight(); this.graph.subject = null; this.graph.all = !this.graph.all; this.graph.arrange(0); this.graph.fit(); } }, icon("fit")), layered),
            h("ul", { class: "legend", "aria-label": "What the colours say" },
              ["start", "kept", "answer"].map((one) => h("li", { class: `is-${one}` }, LEGEND[one])), this.seen)),
          h("div", { class: "panel", tabIndex: 0, role: "region", "aria-label": `What happened${this.of}` },
            this.asking, this.answerBox, this.clueBox, this.mapBox, this.passageBox,
            h("section", {}, h("h2", {}, "Steps"), this.steps), listed)),
        h("footer", { class: "timeline" }, this.play, this.slider, this.moment, this.numbers), this.live));
    this.graph = new Graph(this.canvas, (data) => this.picked(data));
    this.graph.onFold = (count) => fill(this.seen, count ? `seen (${count} not drawn: pick a node, or see all)` : "seen");
    this.clear();
  }

  destroy() {
    clearInterval(this.timer);
    this.graph.destroy();
  }

  clear() {
    this.graph.reset();
    for (const box of [this.steps, this.asking, this.answerBox, this.clueBox, this.mapBox, this.passageBox]) box.replaceChildren();
    this.empty.hidden = false;
    this.passages = null;
    this.sum = { calls: 0, tokens: 0, cost: 0 };
    this.shown = 0;
  }

  push(event) {
    const before = this.events.at(-1);
    // A rest may last for days, and a branch may be made as late.
    const rested = !before || ["paused", "asked", "queued"].includes(before.type) || event.type === "forked";
    this.worked.push((this.worked.at(-1) ?? 0) + (rested ? 0 : Math.max(0, event.at - before.at || 0)));
    this.events.push(event);
    this.slider.max = String(this.events.length);
    if (this.following) {
      this.apply(event);
      this.slider.value = String(this.shown);
    }
    this.meter();
  }

  scrub(to) {
    this.following = to >= this.events.length;
    if (to < this.shown) this.clear();
    while (this.shown < to) this.apply(this.events[this.shown]);
    this.slider.value = String(to);
    this.meter();
  }

  replay() {
    if (this.timer) return this.pause();
    if (this.shown >= this.events.length) this.scrub(0);
    fill(this.play, icon("pause"));
    this.play.setAttribute("aria-label", "Pause");
    this.timer = setInterval(() => {
      let next = this.shown + 1;
      while (next < this.events.length && !stepOf(this.events[next - 1]) && this.events[next - 1].type !== "walked") next += 1;
      this.scrub(next);
      if (this.shown >= this.events.length) this.pause();
    }, 450);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    fill(this.play, icon("play"));
    this.play.setAttribute("aria-label", "Replay");
  }

  apply(event) {
    this.shown += 1;
    if (event.type !== "called") this.asking.replaceChildren();
    this[`on_${event.type}`]?.(event);
    const step = stepOf(event);
    if (step) {
      this.steps.prepend(stepElement(step, event, this.worked[this.shown - 1]));
      if (step.kind !== "model") this.live.textContent = step.title;
    }
    if (this.listed.open) this.sentences();
  }

  on_called(event) {
    if (event.replayed) return;
    this.sum.calls += event.attempts ?? 1;
    this.sum.tokens += event.input_tokens + event.output_tokens;
  }

  on_walked(event) {
    this.sum.cost = event.cost;
    if (event.step.includes("community")) this.graph.folding = true;
    this.graph.starts(event.starts);
    this.graph.triples(event.triples);
    this.graph.evidence(event.evidence);
    this.graph.boxes(event.boxes);
    if (event.starts.length || event.triples.length) this.empty.hidden = true;
    if (event.passages.length) this.read(event.passages);
    if (event.clues) fill(this.clueBox, clueTable(event.clues));
    if (event.questions) fill(this.mapBox, mindMap(event.questions));
  }

  on_pruned(event) {
    if (event.what === "entities" || event.what === "topics") {
      this.graph.dropped(event.dropped.map((one) => one.label), event.kept.map((one) => one.label));
    }
  }

  read(passages) {
    if (!this.passages) {
      this.passages = h("div", { class: "passages", tabIndex: 0, role: "group", "aria-label": "Passages read" });
      // Open while the run reads, unless somebody wants it otherwise.
      const box = h("details", { class: "read", open: this.reading ?? true },
        h("summary", { onclick: () => { this.reading = !box.open; } }, h("h2", {}, "Passages read")), this.passages);
      fill(this.passageBox, box);
    }
    for (const one of passages) {
      const where = [one.title, one.section].filter(Boolean).join(" / ");
      this.passages.prepend(h("article", { class: "passage fresh" }, h("h4", {}, said(where || one.id)), h("p", { dir: "auto" }, plain(one.text, 1200))));
    }
  }

  on_asked(event) {
    fill(this.asking, askCard(event.question, this.onReply && this.events.at(-1) === event ? this.onReply : null));
  }

  on_finished(event) {
    const { answer } = event;
    this.graph.triples(answer.evidence.triples);
    this.graph.evidence(answer.evidence.triples.map((one) => one.id), "cited");
    this.graph.answers(answer.answers);
    this.graph.closeUp();
    if (answer.evidence.triples.length) this.empty.hidden = true;
    else this.empty.textContent = "The answer cites no triple.";
    const { calls, input_tokens: asked, output_tokens: written, cost } = answer.usage.total;
    this.sum = { calls, tokens: asked + written, cost: cost || this.sum.cost };
    const show = { triples: (ids) => this.graph.light(ids), clear: () => this.graph.unlight() };
    fill(this.answerBox, answerPanel(answer, show, this.of));
    if (answer.trace?.lines?.length && !this.mapBox.firstChild && !this.clueBox.firstChild) {
      fill(this.mapBox, h("details", {}, h("summary", {}, h("h2", {}, plain(answer.trace.title, 80))), outline(answer.trace.lines)));
    }
    if (this.passages) this.passages.parentElement.open = this.reading ?? false;
    this.status(answer.status, false);
    this.live.textContent = `Answer: ${plain(answer.text, 300)}`;
  }

  status(status, working) {
    fill(this.chip, statusChip(status, working));
  }

  // When the event was that is shown last.
  shownAt() {
    return this.events[Math.max(0, this.shown - 1)]?.at ?? 0;
  }

  meter() {
    const entries = [["calls", this.sum.calls], ["tokens", shortNumber(this.sum.tokens)], ["time", seconds(this.worked[this.shown - 1] ?? 0)]];
    if (this.sum.cost) entries.push(["cost", `$${this.sum.cost.toFixed(4)}`]);
    fill(this.numbers, entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
    this.moment.textContent = `${this.shown} of ${this.events.length}`;
    this.slider.setAttribute("aria-valuetext", `event ${this.shown} of ${this.events.length}`);
    const { entities, triples } = this.graph.size;
    this.canvas.setAttribute("aria-label", `The graph of the run: ${many(entities, "entity", "entities")}, ${many(triples, "triple")}; below it stands as a list`);
  }

  sentences() {
    const all = this.graph.sentences().sort((a, b) => Number(b.cited) - Number(a.cited));
    fill(this.list, all.slice(0, 500).map((one) => h("li", {}, h("button", { type: "button", dir: "auto", onclick: () => this.graph.light([one.triple]) }, plain(one.text, 400)), one.cited ? h("span", { class: "cite" }, "cited") : null)));
    if (!all.length) add(this.list, [h("li", { class: "faint" }, "nothing yet")]);
  }

  picked(data) {
    this.tip.hidden = !data;
    if (!data) return this.graph.unlight();
    const one = data.said;
    fill(this.tip, one ? [said(one.subject_label), " — ", said(one.relation_label), " → ", said(one.object_label),
      (one.qualifiers ?? []).map(([name, value]) => h("span", { class: "faint" }, " ", said(name), ": ", said(value)))] : said(data.whole));
    return undefined;
  }
}

const LEGEND = { start: "where it starts", kept: "evidence", answer: "answer" };

function clueTable(rows) {
  return h("section", {}, h("h2", {}, "Clues"), h("table", { class: "clues" },
    h("thead", {}, h("tr", {}, ["Clue", "Mapped to"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, rows.map((row) => h("tr", { class: row.status }, h("th", { scope: "row" }, said(row.text)),
      h("td", {}, row.targets.length ? h("ul", {}, row.targets.slice(0, 6).map((one) => h("li", {}, one.label ? [said(one.label), one.ends.length ? ": " : ""] : null, said(one.ends.slice(0, 5).join(", "))))) : h("span", { class: "faint" }, "not yet")))))));
}

function mindMap(questions) {
  const under = (parent) => {
    const inside = questions.filter((one) => one.parent === parent);
    return inside.length ? h("ul", { class: "map" }, inside.map((one) => h("li", {}, h("div", { class: `question ${stateOf(one)}` },
      h("p", {}, said(one.question)), h("p", { class: "state" }, wordsOf(one))), under(one.id)))) : null;
  };
  return h("section", {}, h("h2", {}, "Mind map"), under(""));
}

function stateOf(one) {
  if (!one.solved) return "open";
  return one.answers.length ? (one.verified === false ? "doubted" : "solved") : "unsolved";
}

function wordsOf(one) {
  if (!one.solved) return "open";
  const again = one.attempts > 1 ? `, re-thought ${many(one.attempts - 1, "time")}` : "";
  if (!one.answers.length) return ["no answer: ", said(one.why), again];
  return [h("strong", {}, said(one.answers.join("; "))), one.verified === true ? " · verified" : one.verified === false ? " · the verifier doubts it" : "", again];
}

function outline(lines) {
  return h("ul", { class: "outline" }, lines.map((line) => h("li", { class: `level-${Math.min(line.level, 6)}` }, said(plain(line.text, 600)))));
}

function askCard(question, onReply) {
  const problem = question.problem ? h("p", { class: "problem" }, said(question.problem)) : null;
  const name = `ask-${Math.random().toString(36).slice(2)}`;
  if (!onReply) return h("section", { class: "ask-card" }, h("h2", {}, said(question.text)), h("p", { class: "faint" }, "The run asked this."));
  const ceiling = question.kind === "budget";
  const field = h("input", { type: "text", inputmode: "numeric", id: `${name}-field`, autocomplete: "off" });
  const send = (value) => onReply(value);
  const choices = question.options.map((one) => h("button", { type: "button", class: "choice", onclick: () => send(String(one.number)) },
    h("strong", {}, said(one.label)), h("span", { class: "faint" }, said(one.description || one.id))));
  return h("div", { class: "ask-card", role: "group", "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }, said(question.text)), problem,
    choices.length ? h("div", { class: "choices" }, choices, h("button", { type: "button", class: "choice", onclick: () => send("0") }, h("strong", {}, "Any of them"))) : null,
    ceiling ? h("form", { class: "reply", onsubmit: (event) => { event.preventDefault(); if (field.value.trim()) send(field.value.trim()); } },
      h("label", { for: `${name}-field` }, "New ceiling"), field, h("button", { type: "submit", class: "primary" }, "Raise it"),
      h("button", { type: "button", onclick: () => send("stop") }, "Answer from what there is")) : null);
}
