// Going back: a checkpoint of a run, what of its state may be changed, and the branch that goes on from there.
import { fill, h, plain, said } from "./dom.js";
import { ask } from "./api.js";
import { seconds } from "./words.js";

export async function travelDialog(path, thread, at, onForked) {
  const error = h("p", { class: "problem", role: "alert", hidden: true });
  const fail = (text) => { error.hidden = !text; error.textContent = plain(text); };
  const fields = h("div", { class: "edits" });
  const choose = h("select", { id: "moment-choice" });
  let moments = [];
  let read = () => ({});
  const go = h("button", { type: "submit", class: "primary" }, "Go on from here");
  const dialog = h("dialog", { class: "travel", "aria-labelledby": "travel-title" }, h("form", { method: "dialog", onsubmit: async (event) => {
    event.preventDefault();
    fail("");
    go.disabled = true;
    try {
      const { thread: made } = await ask(`${path}/fork`, { checkpoint: choose.value, ...read() });
      dialog.close();
      onForked(made);
    } catch (problem) { fail(problem.message); }
    go.disabled = false;
  } },
    h("h2", { id: "travel-title" }, "Go back and change it"),
    h("p", { class: "faint" }, "The run stays as it is: what goes on from here is another one, beside it."),
    h("div", { class: "field" }, h("label", { for: "moment-choice" }, "After the step"), choose), fields, error,
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), go)));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    moments = await ask(`${path}/moments`);
  } catch (problem) { fail(problem.message); }
  if (!moments.length) {
    go.disabled = true;
    fields.textContent = "This run has kept no step to go back to.";
    return;
  }
  const first = moments[0].at;
  fill(choose, moments.map((one) => h("option", { value: one.id }, `${one.did.replaceAll("_", " ")}${one.round ? `, round ${one.round}` : ""} (${seconds(Math.max(0, one.at - first))})`)));
  choose.value = (moments.findLast((one) => one.at <= at && one.texts.question) ?? moments[0]).id;
  const redraw = () => { read = editor(fields, moments.find((one) => one.id === choose.value), thread, fail); };
  choose.addEventListener("change", redraw);
  redraw();
  choose.focus();
}

// The fields of one checkpoint; gives a function that reads what was changed.
function editor(root, moment, thread, fail) {
  const ticks = (list) => list.map((one) => ({ id: one.id, box: h("input", { type: "checkbox", checked: true }), label: one.label }));
  const starts = ticks(moment.starts);
  const relations = ticks(moment.relations);
  const added = [];
  const shown = (entries) => entries.map((one) => h("label", { class: "tick" }, one.box, said(one.label, "span")));
  const group = (title, entries) => (entries.length ? h("fieldset", {}, h("legend", {}, title), shown(entries)) : null);
  const texts = Object.entries(moment.texts).map(([name, text]) => ({ name, area: h("textarea", { id: `edit-${name}`, rows: "2", dir: "auto" }), text }));
  for (const one of texts) one.area.value = one.text;
  const clues = moment.clues.length ? h("textarea", { id: "edit-clues", rows: String(Math.min(8, moment.clues.length + 1)), dir: "auto" }) : null;
  if (clues) clues.value = moment.clues.join("\n");
  const find = h("input", { type: "search", id: "add-entity", placeholder: "another entity, by its name", dir: "auto" });
  const found = h("div", { class: "others" });
  const look = async () => {
    fail("");
    if (!find.value.trim()) return;
    try {
      const { entities } = await ask(`api/look/find_entities?run=${encodeURIComponent(thread)}`, { text: find.value.trim(), limit: 5 });
      for (const one of entities) {
        if (added.some((other) => other.id === one.id)) continue;
        const box = h("input", { type: "checkbox" });
        added.push({ id: one.id, box });
        found.append(h("label", { class: "tick" }, box, said(one.label, "span"), h("span", { class: "faint" }, said(plain(one.description, 80)))));
      }
    } catch (problem) { fail(problem.message); }
  };
  find.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); look(); } });
  fill(root,
    starts.length || moment.addable ? h("fieldset", {}, h("legend", {}, "Entities it goes out from"), shown(starts),
      moment.addable ? [h("div", { class: "row" }, h("label", { class: "unseen", for: "add-entity" }, "Find another entity"), find, h("button", { type: "button", onclick: look }, "Find")), found] : null) : null,
    group("Relations it walks next (from other entities they may come again)", relations),
    clues ? h("div", { class: "field" }, h("label", { for: "edit-clues" }, "Clues, one a line"), clues) : null,
    texts.map((one) => h("div", { class: "field" }, h("label", { for: `edit-${one.name}` }, one.name === "query" ? "What it looks for next" : "Question"), one.area)));
  if (!root.firstChild) root.textContent = "What comes after this step heeds no change: go further back.";
  return () => {
    const changed = { drop: starts.filter((one) => !one.box.checked).map((one) => one.id), add: added.filter((one) => one.box.checked).map((one) => one.id), forbid: relations.filter((one) => !one.box.checked).map((one) => one.id) };
    for (const one of texts) if (one.area.value.trim() !== one.text.trim()) changed[one.name] = one.area.value;
    if (clues && clues.value !== moment.clues.join("\n")) changed.clues = clues.value.split("\n");
    return changed;
  };
}
