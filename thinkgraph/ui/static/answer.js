// The answer: its status in words, and each part of it tied to the triples and the sentence that it stands on.
import { cut, fill, h, many, marked, plain, said } from "./dom.js";
import { KINDS, STATUSES, seconds } from "./words.js";

export function statusChip(status, working = false) {
  if (working) return h("span", { class: "chip working" }, "Working");
  return h("span", { class: `chip ${status}` }, STATUSES[status]?.title ?? status);
}

// show: { triples(ids), clear() } of the graph beside it. of: which run's, where several stand side by side.
export function answerPanel(answer, show, of = "") {
  const words = STATUSES[answer.status];
  const { evidence } = answer;
  const supports = answer.support;
  const held = (within, at) => supports.filter((one) => one.within === within && one.line === at);
  const pick = (line, support) => {
    document.querySelectorAll(".cited-now").forEach((one) => one.classList.remove("cited-now"));
    for (const one of [...lines.paths, ...lines.passages]) one.mark(one === line ? support : undefined);
    line.element.classList.add("cited-now");
    line.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    line.light(support);
  };
  const lines = {
    paths: evidence.paths.map((one, at) => pathLine(one, held("paths", at), { evidence, show, pick })),
    passages: evidence.passages.map((one, at) => passageCard(one, held("passages", at), show)),
  };
  const parts = answer.answers.map((text, at) => partButton(text, supports[at], lines, pick));
  const total = answer.usage.total;
  return h("section", { class: "answer", "aria-label": `Answer${of}` },
    h("div", { class: "answer-head" }, h("h2", {}, "Answer"), statusChip(answer.status),
      typeof answer.confidence === "number" ? h("span", { class: "faint" }, `confidence ${answer.confidence.toFixed(2)}`) : null),
    parts.length ? h("ul", { class: "parts" }, parts) : h("p", { class: "big" }, said(answer.text)),
    h("p", {}, words?.says ?? "", " ", said(answer.reason, "span", { class: "faint" })),
    words?.not ? h("p", { class: "promise" }, h("strong", {}, "It does not promise "), words.not, ".") : null,
    lines.paths.length ? [h("h3", {}, "Paths in the graph"), h("ol", { class: "paths" }, lines.paths.map((one) => one.element))] : null,
    lines.passages.length ? [h("h3", {}, "Passages"), lines.passages.map((one) => one.element)] : null,
    h("p", { class: "faint usage" }, `${many(total.calls, "model call")}, ${many(total.input_tokens + total.output_tokens, "token")}, `
      + `${many(answer.usage.store_round_trips, "store round trip")}, ${seconds(answer.usage.seconds)}${total.cost ? `, $${total.cost.toFixed(4)}` : ""}`),
  );
}

function partButton(text, support, lines, pick) {
  const kind = support ? KINDS[support.kind] : "";
  const line = lines[support?.within]?.[support.line];
  return h("li", {}, line
    ? h("button", { class: "part", type: "button", onclick: () => pick(line, support) }, said(text, "bdi", { class: "big" }),
      h("span", { class: "why" }, `${kind} `, h("span", { class: "cite" }, `${support.within === "paths" ? "path" : "passage"} ${support.line + 1}`)))
    : h("div", { class: "part" }, said(text, "bdi", { class: "big" }), kind ? h("span", { class: "why" }, kind) : null));
}

function pathLine(path, supports, { evidence, show, pick }) {
  const words = h("button", { type: "button", dir: "auto", onclick: () => pick(line) });
  // What was cut off is known by the answer itself.
  const light = (support) => show.triples(support ? wayTo(cut(path.text, support.start, support.end)[1] || support.answer, path, evidence) : path.triples);
  const line = { element: h("li", { class: "path" }, words), mark: marker(words, path.text, supports), light };
  return line;
}

function passageCard(passage, supports, show) {
  const where = [passage.title, passage.section].filter(Boolean).join(" / ");
  const words = h("p", { dir: "auto" });
  return { element: h("article", { class: "passage" }, h("h4", {}, said(where || passage.id)), words), mark: marker(words, passage.text, supports), light: show.clear };
}

// Gives what marks an answer in a text: the one that was picked, else the only one.
function marker(words, text, supports) {
  const mark = (support = supports.length === 1 ? supports[0] : null) => fill(words, support ? marked(text, support.start, support.end) : plain(text));
  mark();
  return mark;
}

// Ids of a path's triples at the ends of this label, and of those that lead there; all of them where none has such an end.
function wayTo(label, path, evidence) {
  const every = path.triples.map((id) => evidence.triples.find((one) => one.id === id)).filter(Boolean);
  const way = new Set(every.filter((one) => one.subject_label === label || one.object_label === label));
  if (!way.size) return path.triples;
  const start = path.text.startsWith(`(${every[0].subject_label})`) ? every[0].subject : every[0].object;
  const led = new Map([[start, null]]);
  for (const one of every) {
    const [near, far] = led.has(one.subject) ? [one.subject, one.object] : [one.object, one.subject];
    if (!led.has(far)) led.set(far, { one, near });
  }
  for (const { subject, subject_label: name, object } of [...way]) {
    for (let step = led.get(name === label ? subject : object); step; step = led.get(step.near)) way.add(step.one);
  }
  return [...way].map((one) => one.id);
}
