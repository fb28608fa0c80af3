// One event of a run as an entry of its list of steps, and as a line for a screen reader.
import { h, many, plain, said } from "./dom.js";
import { seconds, thingsIn } from "./words.js";

export function stepOf(event) {
  const make = STEPS[event.type];
  return make ? make(event) : null;
}

function entry(kind, title, ...details) {
  return { kind, title, details };
}

function scored(list, name) {
  if (!list.length) return null;
  const shown = list.slice(0, 40).map((one) => h("li", {}, said(one.label), one.score ? h("span", { class: "score" }, one.score.toFixed(2)) : null));
  const rest = list.length > 40 ? h("li", { class: "faint" }, `and ${list.length - 40} more`) : null;
  return h("ul", { class: `scored ${name}` }, shown, rest);
}

const STEPS = {
  started: (e) => entry("begin", `${e.method} begins`, h("p", {}, `with ${e.models.join(", ")} over `, said(e.knowledge))),
  rephrased: (e) => entry("read", "The question in full", h("p", {}, said(e.full))),
  linked: (e) => entry("find", e.candidates.length ? `Found ${many(e.candidates.length, "candidate")} to start from` : "Found nothing to start from",
    scored(e.candidates.slice(0, 12), "kept")),
  pruned: (e) => {
    const all = e.kept.length + e.dropped.length;
    if (!all) return null;
    const dropped = e.dropped.length ? h("details", {},
      h("summary", {}, `${e.dropped.length} dropped: `, plain(e.reason, 300)), scored(e.dropped, "dropped")) : null;
    return entry("choose", `Kept ${e.kept.length} of ${many(all, "option")}: ${thingsIn(e.what)}`, scored(e.kept, "kept"), dropped);
  },
  retrieved: (e) => entry("read", `Read ${e.passages ? many(e.passages, "passage") + " and " : ""}${many(e.triples, "triple")}`,
    e.best.length ? h("details", {}, h("summary", {}, e.ranked ? "the best of it" : "the first of it"),
      h("ul", {}, e.best.map((text) => h("li", {}, said(plain(text, 400)))))) : null),
  reasoned: (e) => e.sufficient
    ? entry("yes", "The evidence is enough", h("p", {}, said(e.answers.join("; "))))
    : entry("no", "Not enough yet", e.clues ? h("p", {}, said(plain(e.clues, 400))) : null),
  verified: (e) => entry(e.right === false ? "no" : "yes", e.answers.length ? (e.attempts > 1 ? "Answered after re-thinking" : "Answered") : "No answer",
    h("p", {}, said(e.question)), e.answers.length ? h("p", {}, h("strong", {}, said(e.answers.join("; ")))) : h("p", { class: "faint" }, said(e.why))),
  stopped: (e) => entry("stop", "A ceiling is reached", h("p", {}, said(e.reason))),
  asked: (e) => entry("asks", "The run asks you", h("p", {}, said(e.question.text))),
  paused: (e) => entry("stop", "The run rests", h("p", {}, said(e.reason))),
  called: (e) => (e.problem ? entry("no", "A reply was mended", h("p", {}, `${e.role}: `, said(plain(e.problem, 300)))) : null),
  waiting: (e) => entry("no", "A request failed", h("p", {}, `${e.role}: `, said(plain(e.reason, 300)), `; again in ${e.seconds.toFixed(1)} s`)),
  prompted: (e) => entry("model", `Asked the model: ${e.role}`, h("details", {}, h("summary", {}, "prompt and reply"),
    e.messages.map((one) => [h("h4", {}, one.role), h("pre", { dir: "auto", tabIndex: 0 }, plain(one.text, 30000))]), h("h4", {}, "reply"), h("pre", { dir: "auto", tabIndex: 0 }, plain(e.reply, 30000)))),
  queued: (e) => entry("begin", "The run waits for its turn", h("p", {}, `${many(e.running, "other run")} at work`)),
  forked: (e) => entry("asks", "From here on it is another run", e.changes.length ? h("ul", {}, e.changes.map((one) => h("li", {}, said(one)))) : h("p", {}, "with nothing changed")),
  answered: (e) => entry("end", "Answer", h("p", {}, h("strong", {}, said(e.text)))),
};

// worked: seconds of work until then.
export function stepElement(step, event, worked) {
  const at = event.at ? h("time", {}, seconds(worked)) : null;
  const round = event.round ? h("span", { class: "round" }, `round ${event.round}`) : null;
  return h("li", { class: `step ${step.kind}` }, h("div", { class: "step-head" }, h("h3", {}, step.title), round, at), step.details);
}
