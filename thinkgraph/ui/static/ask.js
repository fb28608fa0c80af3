// The view "Ask": question, method, model, settings out of their schema, ceilings, and what it is expected to cost.
import { fill, h, many, plain, said } from "./dom.js";
import { settingTitle, shortNumber } from "./words.js";
import { MOST, ask } from "./api.js";

const CEILINGS = ["max_calls", "max_tokens", "max_cost", "max_seconds"];
const remembered = { question: "", method: "", model: "", knowledge: "", settings: {} };

// Gives what keeps the question, asked or not.
export function askView(root, about, onStarted) {
  const error = h("p", { class: "problem", role: "alert", hidden: true });
  const fail = (text) => { error.hidden = !text; error.textContent = plain(text); };
  const question = h("textarea", { id: "question", rows: "3", required: true, dir: "auto", placeholder: "Which river flows through the capital of …?" });
  question.value = remembered.question;
  const method = choice("method", about.methods.map((one) => [one.name, one.title || one.name]), remembered.method);
  const model = choice("model", about.models.map((one) => [one, one]), remembered.model);
  const base = choice("knowledge", about.knowledge.map((one) => [one.kb, one.name]), remembered.knowledge);
  const counts = h("p", { class: "faint" });
  const count = () => fill(counts, knowledgeWords(about.knowledge[base.selectedIndex]));
  const told = h("p", { class: "faint", id: "method-told" });
  method.setAttribute("aria-describedby", "method-told");
  const ceilings = h("div", { class: "fields" });
  const settings = h("div", { class: "fields" });
  const sections = [[ceilings, "Ceilings"], [settings, "Settings"]].map(([inside, title]) => h("details", { class: "more" }, h("summary", {}, title), inside));
  const cost = h("p", { class: "estimate", role: "status" });
  let fields = [];
  // A ceiling that somebody set holds for the next method and the next question too, until it is taken back.
  const keep = () => {
    for (const one of fields) remembered.settings[one.name] = one.read();
    Object.assign(remembered, { question: question.value, method: method.value, model: model.value, knowledge: base.value });
  };
  const redraw = () => {
    const chosen = about.methods.find((one) => one.name === method.value);
    told.textContent = plain(chosen.summary);
    keep();
    fields = Object.entries(chosen.settings).map(([name, schema]) => field(name, schema, remembered.settings[name]));
    fill(ceilings, fields.filter((one) => CEILINGS.includes(one.name)).map((one) => one.element));
    fill(settings, fields.filter((one) => !CEILINGS.includes(one.name)).map((one) => one.element));
    cost.textContent = "";
  };
  const asked = () => ({
    question: question.value, method: method.value, model: model.value, knowledge: base.value,
    settings: Object.fromEntries(fields.map((one) => [one.name, one.read()]).filter(([, value]) => value !== undefined)),
  });
  // The same question goes to other models with the same settings, to other methods with their own ones under the same ceilings.
  const others = h("div", { class: "others" });
  const ticks = () => [...others.querySelectorAll("input:checked")].map((one) => one.value);
  const bodies = () => {
    const first = asked();
    const more = ticks().map((one) => JSON.parse(one));
    const same = Object.fromEntries(Object.entries(first.settings).filter(([name]) => CEILINGS.includes(name)));
    return [first, ...more.map((one) => ({ ...first, ...(one.method ? { settings: same } : {}), ...one }))];
  };
  const offer = () => {
    const ticked = new Set(ticks());
    fill(others,
      about.methods.filter((one) => one.name !== method.value).map((one) => tick({ method: one.name }, one.title || one.name)),
      about.models.filter((one) => one !== model.value).map((one) => tick({ model: one }, one)));
    for (const one of others.querySelectorAll("input")) one.checked = ticked.has(one.value);
  };
  const estimate = h("button", { type: "button", onclick: async () => {
    fail("");
    cost.textContent = "walking the graph without a model …";
    try { cost.textContent = plain((await ask("api/estimate", asked())).words); } catch (problem) { cost.textContent = ""; fail(problem.message); }
  } }, "Estimate");
  const start = h("button", { type: "submit", class: "primary" }, "Ask");
  const form = h("form", { class: "ask", onsubmit: async (event) => {
    event.preventDefault();
    fail("");
    const wanted = bodies();
    if (wanted.length > MOST) return fail(`At most ${MOST} runs stand side by side: untick ${wanted.length - MOST} under "Compare with".`);
    start.disabled = true;
    try {
      const threads = [];
      for (const body of wanted) threads.push((await ask("api/runs", body)).thread);
      onStarted(threads);
    } catch (problem) { fail(problem.message); }
    start.disabled = false;
    return undefined;
  } },
    h("h1", {}, "Ask your knowledge"),
    counts,
    h("label", { class: "unseen", for: "question" }, "Question"), question,
    h("div", { class: "row" },
      h("div", { class: "field" }, h("label", { for: "method" }, "Method"), method),
      h("div", { class: "field" }, h("label", { for: "model" }, "Model"), model),
      about.knowledge.length > 1 ? h("div", { class: "field" }, h("label", { for: "knowledge" }, "Knowledge"), base) : null,
      h("div", { class: "row end" }, estimate, start)),
    told, cost, error,
    h("details", { class: "more" }, h("summary", {}, "Compare with"), others),
    sections);
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); }
  });
  // A browser cannot point at a field of a closed section, and would do nothing. The event does not bubble.
  form.addEventListener("invalid", (event) => { const section = event.target.closest("details"); if (section) section.open = true; }, true);
  method.addEventListener("change", () => { redraw(); offer(); });
  model.addEventListener("change", offer);
  base.addEventListener("change", count);
  redraw();
  offer();
  count();
  fill(root, form);
  // What was set before is in sight.
  for (const section of sections) section.open = fields.some((one) => section.contains(one.element) && one.read() !== undefined);
  question.focus();
  return keep;
}

export function knowledgeWords(knowledge) {
  const counts = [[knowledge.entities, "entity", "entities"], [knowledge.triples, "triple"], [knowledge.passages, "passage"]];
  const shown = counts.filter(([count]) => count > 0).map(([count, one, more]) => many(count, one, more)).join(", ") || knowledge.problem;
  return [said(knowledge.name, "strong"), shown ? ` · ${shown}` : ""];
}

export function choice(id, options, chosen) {
  const made = h("select", { id }, options.map(([value, title]) => h("option", { value }, plain(title, 80))));
  if (options.some(([value]) => value === chosen)) made.value = chosen;
  return made;
}

function tick(value, title) {
  return h("label", { class: "tick" }, h("input", { type: "checkbox", value: JSON.stringify(value) }), said(title, "span"));
}

// A setting as a field: its kind, range and description are those of the schema. set: what somebody wants of it, if anything.
function field(name, schema, set) {
  const id = `set-${name}`;
  const kinds = schema.anyOf ?? [schema];
  const kind = kinds.find((one) => one.type !== "null") ?? {};
  const values = kind.enum ?? (kind.const === undefined ? null : [kind.const]);
  let input;
  let read;
  if (kind.type === "boolean") {
    input = h("input", { type: "checkbox", id });
    input.checked = Boolean(set ?? schema.default);
    read = () => (input.checked === Boolean(schema.default) ? undefined : input.checked);
  } else if (values) {
    input = choice(id, values.map((value) => [value, value]), values.includes(set) ? set : schema.default);
    read = () => (input.value === schema.default ? undefined : input.value);
  } else {
    const least = kind.minimum ?? kind.exclusiveMinimum;
    input = h("input", { type: "number", id, step: kind.type === "integer" ? "1" : "any", min: least === undefined ? null : String(least), max: kind.maximum === undefined ? null : String(kind.maximum),
      placeholder: schema.default === null ? "none" : shortNumber(schema.default), value: set === undefined ? null : String(set) });
    read = () => (input.value === "" ? undefined : Number(input.value));
  }
  input.setAttribute("aria-describedby", `${id}-about`);
  const label = h("label", { for: id }, settingTitle(name));
  const element = h("div", { class: `field ${kind.type === "boolean" ? "switch" : ""}` }, label, input, h("p", { class: "faint", id: `${id}-about` }, plain(schema.description ?? "", 400)));
  return { name, element, read };
}
