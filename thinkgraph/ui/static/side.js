// The view of several runs side by side: one question by several methods or models, or a run and its branch.
import { fill, h, many, said } from "./dom.js";
import { statusChip } from "./answer.js";
import { seconds, shortNumber } from "./words.js";

export async function sideView(root, threads, mount) {
  const rows = threads.map(() => h("tr", {}, h("td", { colSpan: 6, class: "faint" }, "working …")));
  const columns = threads.map((_, at) => h("section", { class: "column", "aria-label": `Run ${at + 1} of ${threads.length}` }));
  fill(root, h("div", { class: "side-by-side" }, h("h1", { class: "unseen" }, "Runs side by side"),
    h("div", { class: "scroller", tabIndex: 0, role: "region", "aria-label": "The runs in figures" }, h("table", { class: "figures" },
      h("thead", {}, h("tr", {}, ["Run", "Answer", "Status", "Evidence", "Time", "Cost"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows))),
    h("div", { class: "columns" }, columns)));
  const tell = (at) => (view) => {
    if (!view) {
      fill(rows[at], h("td", { colSpan: 6, class: "faint" }, "it cannot be shown, see below"));
      return;
    }
    const last = view.events.at(-1);
    const forked = view.events.find((event) => event.type === "forked");
    const name = h("th", { scope: "row" }, `${view.run.method} · `, said(view.run.model), forked ? h("p", { class: "faint" }, said(forked.changes.join(", ") || "nothing changed")) : null);
    if (last?.type !== "finished") {
      fill(rows[at], name, h("td", { colSpan: 5, class: "faint" }, last?.type === "asked" ? "it asks you, below" : "it rests"));
      return;
    }
    const { answer } = last;
    const total = answer.usage.total;
    const { paths, passages } = answer.evidence;
    fill(rows[at], name, h("td", {}, said(answer.text, "strong")), h("td", {}, statusChip(answer.status)), h("td", {}, many(paths.length + passages.length, "line")),
      h("td", {}, seconds(answer.usage.seconds)), h("td", {}, `${many(total.calls, "call")} · ${shortNumber(total.input_tokens + total.output_tokens)} tokens`, total.cost ? ` · $${total.cost.toFixed(4)}` : ""));
  };
  const ends = await Promise.all(threads.map((thread, at) => mount(columns[at], thread, { of: `, run ${at + 1} of ${threads.length}`, onEnd: tell(at) })));
  return () => ends.forEach((end) => end?.());
}
