// The view "Knowledge": find entities, their neighbours and passages.
import { fill, h, many, plain, said } from "./dom.js";
import { Graph } from "./graph.js";
import { ask } from "./api.js";
import { choice, knowledgeWords } from "./ask.js";

export function knowledgeView(root, about) {
  let end = null;
  const show = (counts) => { end?.(); end = baseView(root, about.knowledge, counts, show); };
  show(about.knowledge[0]);
  return () => end();
}

function baseView(root, bases, counts, show) {
  const of = `?of=${encodeURIComponent(counts.kb)}`;
  const look = (name, given) => ask(`api/look/${name}${of}`, given);
  const base = choice("knowledge", bases.map((one) => [one.kb, one.name]), counts.kb);
  base.addEventListener("change", () => show(bases[base.selectedIndex]));
  const reads = counts.looks.includes("passages_of");
  const error = h("p", { class: "problem", role: "alert", hidden: true });
  const fail = (text) => { error.hidden = !text; error.textContent = plain(text); };
  const search = h("input", { type: "search", id: "search", placeholder: "A name, or a whole sentence", autocomplete: "off", dir: "auto" });
  const results = h("ul", { class: "results" });
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": "Neighbours of the chosen entity, listed beside it" });
  const hint = h("p", { class: "hint" }, "Find an entity: its neighbours appear here. A click on one goes on from there.");
  const panel = h("div", { class: "panel", tabIndex: 0, role: "region", "aria-label": "The chosen entity" });
  const lines = h("pre", {});
  const indexed = h("details", { class: "more indexed", ontoggle: async () => {
    if (lines.textContent) return;
    try { lines.textContent = (await ask(`api/indexed${of}`)).lines.map((line) => plain(line)).join("\n"); } catch (problem) { fail(problem.message); }
  } }, h("summary", {}, "What is indexed"), lines);
  fill(root, h("article", { class: "run" },
    h("header", { class: "run-head" }, h("div", { class: "run-title" }, h("h1", {}, "Knowledge"),
      h("p", { class: "faint" }, knowledgeWords(counts), counts.relations > 0 ? `, ${many(counts.relations, "relation")}` : "")),
      h("form", { class: "row search", role: "search", onsubmit: (event) => { event.preventDefault(); find(); } },
        bases.length > 1 ? [h("label", { class: "unseen", for: "knowledge" }, "Knowledge base"), base] : null,
        h("label", { class: "unseen", for: "search" }, "Find entities"), search, h("button", { type: "submit", class: "primary" }, "Find"))),
    indexed, error, results,
    h("div", { class: "stage" }, h("section", { class: "picture", "aria-label": "Neighbours" }, canvas, hint), panel)));
  const graph = new Graph(canvas, (data) => {
    if (data?.entity) open(data.entity, data.whole);
  });

  // Only the last request is shown.
  let turns = 0;

  async function find() {
    fail("");
    const text = search.value.trim();
    if (!text) return;
    const turn = ++turns;
    try {
      const { entities } = await look("find_entities", { text, limit: 12 });
      if (turn !== turns) return;
      fill(results, entities.length ? entities.map((one) => h("li", {}, h("button", { type: "button", class: "choice", onclick: () => open(one.id, one.label) },
        h("strong", {}, said(one.label)), h("span", { class: "faint" }, said(plain(one.description || one.type || one.id, 120)))))) : h("li", { class: "faint" }, "Nothing of that name."));
      hint.hidden = entities.length;
      if (entities.length) await open(entities[0].id, entities[0].label);
      else { graph.reset(); fill(panel); }
    } catch (problem) { if (turn === turns) fail(problem.message); }
  }

  async function open(id, label) {
    fail("");
    const turn = ++turns;
    try {
      const [relations, near] = await Promise.all([look("relations_of", { entity: id }), look("neighbours", { entity: id, limit: 60 })]);
      if (turn !== turns) return;
      graph.reset();
      graph.starts([{ id, label: near.entity.label }]);
      graph.triples(near.triples);
      const about = h("div", {}, h("h2", {}, said(near.entity.label)), h("p", { class: "faint" }, said(near.entity.description)),
        h("h3", {}, many(relations.total, "kind of relation", "kinds of relations")),
        h("ul", { class: "relations" }, relations.relations.slice(0, 40).map((one) => h("li", {}, said(one.label), one.direction === "in" ? " (to it)" : "", h("span", { class: "score" }, Number(one.count).toLocaleString("en"))))),
        h("h3", {}, near.total > near.triples.length ? `${near.triples.length} of ${many(near.total, "triple")}` : many(near.total, "triple")),
        h("ul", { class: "sentences" }, near.triples.map((one) => h("li", {}, step(one, id)))));
      fill(panel, about);
      if (reads) await passages(about, id, label);
    } catch (problem) {
      // A literal is a node of the picture and no entity of the store's names.
      if (turn === turns && !/no entity/.test(problem.message)) fail(problem.message);
    }
  }

  function step(triple, here) {
    const other = triple.subject === here ? triple.object : triple.subject;
    const words = [said(triple.subject_label), " — ", said(triple.relation_label), " → ", said(triple.object_label)];
    return triple.literal ? words : h("button", { type: "button", onclick: () => open(other, "") }, words);
  }

  async function passages(about, id, label) {
    const { passages: found } = await look("passages_of", { entities: [id], query: label || search.value || id, limit: 4 });
    if (found.length) about.append(h("h3", {}, "Passages"), ...found.map((one) => h("article", { class: "passage" }, h("h4", {}, said([one.title, one.section].filter(Boolean).join(" / "))), h("p", { dir: "auto" }, plain(one.text, 1200)))));
  }

  search.focus();
  return () => graph.destroy();
}
