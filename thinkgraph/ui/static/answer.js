// The answer: its status in words, and each part of it tied to the triples and the sentence that it stands on.
import { add, h, many, marked, plain, said } from "./dom.js";
import { KINDS, STATUSES, seconds } from "./words.js";

export function statusChip(status, working = false) {
  if (working) return h("span", { class: "chip working" }, "Working");
  return h("span", { class: `chip ${status}` }, STATUSES[status]?.title ?? status);
}

// show: { triples(ids), clear() } of the graph beside it.
export function answerPanel(answer, show) {
  const words = STATUSES[answer.status];
  const evidence = answer.evidence;
  const supports = answer.support ?? [];
  const passages = evidence.passages.map((one, at) => passageCard(one, supports.filter((s) => s.within === "passages" && s.line === at)));
  const paths = evidence.paths.map((one, at) => pathLine(one, supports.filter((s) => s.within === "paths" && s.line === at), show));
  const parts = answer.answers.map((text, at) => partButton(text, supports[at], evidence, { show, passages, paths }));
  const total = answer.usage.total;
  return h("section", { class: "answer", "aria-labelledby": "answer-title" },
    h("div", { class: "answer-head" }, h("h2", { id: "answer-title" }, "Answer"), statusChip(answer.status),
      typeof answer.confidence === "number" ? h("span", { class: "faint" }, `confidence ${answer.confidence.toFixed(2)}`) : null),
    parts.length ? h("ul", { class: "parts" }, parts) : h("p", { class: "big" }, said(answer.text)),
    h("p", {}, words?.says ?? "", " ", said(answer.reason, "span", { class: "faint" })),
    words?.not ? h("p", { class: "promise" }, h("strong", {}, "It does not promise "), words.not, ".") : null,
    paths.length ? [h("h3", {}, "Paths in the graph"), h("ol", { class: "paths" }, paths)] : null,
    passages.length ? [h("h3", {}, "Passages"), passages] : null,
    h("p", { class: "faint usage" }, `${many(total.calls, "model call")}, ${many(total.input_tokens + total.output_tokens, "token")}, `
      + `${many(answer.usage.store_round_trips, "store round trip")}, ${seconds(answer.usage.seconds)}${total.cost ? `, $${total.cost.toFixed(4)}` : ""}`),
  );
}

function partButton(text, support, evidence, { show, passages, paths }) {
  const kind = support ? KINDS[support.kind] : "";
  const pick = () => {
    document.querySelectorAll(".cited-now").forEach((one) => one.classList.remove("cited-now"));
    if (support?.within === "paths") {
      show.triples(evidence.paths[support.line]?.triples ?? []);
      point(paths[support.line]);
    } else if (support?.within === "passages") {
      show.clear();
      point(passages[support.line]);
    }
  };
  const placed = support?.within;
  return h("li", {}, placed
    ? h("button", { class: "part", type: "button", onclick: pick }, said(text, "bdi", { class: "big" }),
      h("span", { class: "why" }, `${kind} `, h("span", { class: "cite" }, `${support.within === "paths" ? "path" : "passage"} ${support.line + 1}`)))
    : h("div", { class: "part" }, said(text, "bdi", { class: "big" }), kind ? h("span", { class: "why" }, kind) : null));
}

function point(element) {
  if (!element) return;
  element.classList.add("cited-now");
  element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function pathLine(path, supports, show) {
  const first = supports[0];
  return h("li", { class: "path" }, h("button", { type: "button", dir: "auto", onclick: (event) => {
    document.querySelectorAll(".cited-now").forEach((one) => one.classList.remove("cited-now"));
    event.currentTarget.parentElement.classList.add("cited-now");
    show.triples(path.triples);
  } }, first ? marked(path.text, first.start, first.end) : plain(path.text)));
}

function passageCard(passage, supports) {
  const where = [passage.title, passage.section].filter(Boolean).join(" / ");
  const card = h("article", { class: "passage" }, h("h4", {}, said(where || passage.id)));
  const first = supports[0];
  return add(card, [h("p", { dir: "auto" }, first ? marked(passage.text, first.start, first.end) : plain(passage.text))]);
}
