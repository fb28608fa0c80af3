// Elements out of plain values. Texts become text nodes, never markup: labels and passages are other people's.

// What steers a terminal or the direction of writing is shown as a mark instead; a line may end as on Windows.
const HIDDEN = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export function plain(text, longest = 4000) {
  const whole = String(text ?? "").replace(HIDDEN, "\ufffd");
  return whole.length > longest ? whole.slice(0, longest - 1) + "…" : whole;
}

export function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

export function add(parent, children) {
  for (const child of [children].flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child instanceof Node ? child : plain(child));
  }
  return parent;
}

export function fill(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

// Other people's words: isolated, so that their direction of writing stays within them.
export function said(text, tag = "bdi", attributes = {}) {
  return h(tag, { dir: "auto", ...attributes }, text);
}

// Offsets from Python count characters; those of JavaScript count halves of some.
export function cut(text, start, end) {
  const letters = Array.from(String(text));
  return [letters.slice(0, start), letters.slice(start, end), letters.slice(end)].map((part) => part.join(""));
}

// A text with one stretch marked, and the sentence around it shaded.
export function marked(text, start, end) {
  const [before, inside, after] = cut(text, start, end);
  if (!inside) return [plain(text)];
  const head = Math.max(0, ...[". ", "! ", "? ", "\n"].map((stop) => before.lastIndexOf(stop) + (before.includes(stop) ? stop.length : 0)));
  const ends = [". ", "! ", "? ", "\n"].map((stop) => after.indexOf(stop)).filter((at) => at >= 0);
  const tail = ends.length ? Math.min(...ends) + 1 : after.length;
  return [
    before.slice(0, head),
    h("span", { class: "sentence" }, before.slice(head), h("mark", {}, inside), after.slice(0, tail)),
    after.slice(tail),
  ];
}

export function many(number, one, more = one + "s") {
  return `${Number(number).toLocaleString("en")} ${number === 1 ? one : more}`;
}

export function icon(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 20 20");
  made.setAttribute("aria-hidden", "true");
  made.setAttribute("class", "icon");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  made.append(path);
  return made;
}

const ICONS = {
  play: "M6 4l10 6-10 6z",
  pause: "M6 4h3v12H6zM11 4h3v12h-3z",
  stop: "M5 5h10v10H5z",
  fit: "M3 8V3h5M17 8V3h-5M3 12v5h5M17 12v5h-5",
  share: "M10 3v9M6 7l4-4 4 4M4 11v5h12v-5",
  list: "M4 5h12M4 10h12M4 15h12",
  plus: "M10 4v12M4 10h12",
  back: "M8 5L3 10l5 5M3 10h9a5 5 0 015 5",
  tree: "M10 3v5M10 8H4v5M10 8h6v5",
};
