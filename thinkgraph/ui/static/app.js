// The page: which view is open, the runs beside it, and the run that is watched.
import "./vendor/graph.js";
import { fill, h, icon, plain, said } from "./dom.js";
import { GONE, MOST, ask, follow } from "./api.js";
import { statusChip } from "./answer.js";
import { askView } from "./ask.js";
import { knowledgeView } from "./knowledge.js";
import { RunView } from "./replay.js";
import { sideView } from "./side.js";
import { travelDialog } from "./travel.js";

const bar = document.getElementById("bar");
const side = document.getElementById("side");
const main = document.getElementById("main");
let about = null;
let leave = null;
// Views gone to: what an earlier one asked for comes too late.
let visits = 0;

async function begin() {
  try {
    about = await ask("api/about");
  } catch (problem) {
    fill(main, h("p", { class: "problem", role: "alert" }, problem.message));
    return;
  }
  const menu = h("button", { type: "button", class: "menu", "aria-expanded": "false", "aria-controls": "side", "aria-label": "Runs", onclick: () => {
    const open = document.body.classList.toggle("side-open");
    menu.setAttribute("aria-expanded", String(open));
  } }, icon("list"));
  fill(bar, menu, h("a", { class: "brand", href: "#/" }, h("img", { src: "static/mark.svg", alt: "", width: "26", height: "26" }), "thinkgraph"),
    h("a", { class: "view", href: "#/" }, "Ask"), h("a", { class: "view", href: "#/knowledge" }, "Knowledge"));
  window.addEventListener("hashchange", show);
  await Promise.all([show(), history()]);
}

async function show() {
  leave?.();
  leave = null;
  document.body.classList.remove("side-open");
  document.querySelector("dialog")?.remove();
  const [, view, ...threads] = location.hash.split("/").map(decoded);
  for (const link of bar.querySelectorAll(".view")) {
    const here = link.getAttribute("href") === `#/${view ?? ""}`;
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const visit = ++visits;
  let made = null;
  if (view === "run" && threads[0]) made = await mount(main, threads[0]);
  else if (view === "side" && threads.length > 1) made = await sideView(main, threads.slice(0, MOST), mount);
  else if (view === "knowledge") made = knowledgeView(main, about);
  else made = askView(main, about, (started) => { location.hash = `#/${started.length > 1 ? "side" : "run"}/${started.map(encodeURIComponent).join("/")}`; });
  if (visit === visits) {
    leave = made;
    document.title = [main.querySelector("h1")?.textContent, "thinkgraph"].filter(Boolean).join(" - ");
  } else made?.();
  if (view === "run" || view === "side") history(); else mark();
}

// What is no right encoding stays as it is: no run has such a name.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

async function history() {
  let runs = [];
  let none = h("p", { class: "faint" }, "None yet.");
  try { runs = await ask("api/runs"); } catch (problem) { none = h("p", { class: "problem" }, plain(problem.message)); }
  fill(side, h("a", { class: "new", href: "#/" }, icon("plus"), "New question"), h("h2", {}, "Runs"),
    runs.length ? h("ul", {}, runs.map((run) => h("li", {}, h("a", { href: `#/run/${encodeURIComponent(run.thread)}` },
      h("span", { class: "asked", dir: "auto" }, plain(run.question, 120)), h("span", { class: "of" }, statusChip(run.status, run.working), said(run.method)))))) : none);
  mark();
}

function mark() {
  for (const link of side.querySelectorAll("li a")) {
    if (link.getAttribute("href") === location.hash) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
}

// A run in a part of the page; gives what ends it. Where there is none, that is null, and so is what onEnd is told.
async function mount(root, thread, { of = "", onEnd = null } = {}) {
  const path = `api/runs/${encodeURIComponent(thread)}`;
  const visit = visits;
  const run = await ask(path).catch((problem) => ({ problem }));
  if (visit !== visits) return null;
  if (run.problem) {
    fill(root, h("p", { class: "problem", role: "alert" }, run.problem.message));
    onEnd?.(null);
    return null;
  }
  const error = h("p", { class: "problem", role: "alert", hidden: true });
  const fail = (text) => { error.hidden = !text; error.textContent = plain(text); };
  const attempt = async (doing, body = {}) => {
    fail("");
    try { await ask(`${path}/${doing}`, body); } catch (problem) { fail(problem.message); return false; }
    return true;
  };
  let view = null;
  let end = null;
  // What is refused here may have gone on elsewhere, in another tab or a terminal.
  const moved = async () => {
    const now = await ask(path).catch(() => run);
    return now !== run && (now.working || now.status !== run.status || now.events.length !== view.events.length);
  };
  const goOn = async (doing, body) => { if (await attempt(doing, body) || await moved()) show(); };
  const stopping = (is) => { stop.disabled = is; stop.lastChild.textContent = is ? "Stopping …" : "Stop"; };
  const stop = h("button", { type: "button", onclick: async () => { stopping(true); if (!await attempt("stop")) stopping(false); } }, icon("stop"), h("span", {}, "Stop"));
  const resume = h("button", { type: "button", class: "primary", onclick: () => goOn("resume") }, icon("play"), "Go on");
  const change = h("button", { type: "button", onclick: () => travelDialog(path, thread, view.shownAt(), (made) => { location.hash = `#/side/${[thread, made].map(encodeURIComponent).join("/")}`; }) }, icon("back"), "Change");
  const share = h("details", { class: "share" }, h("summary", {}, icon("share"), "Share"), h("ul", {},
    [["share.html", "A page that replays, in one file"], ["picture.svg", "A picture (SVG)"], ["run.json", "The events (JSON)"]].map(([file, title]) => h("li", {}, h("a", { href: `${path}/${file}`, download: "" }, title)))));
  const buttons = (working, last) => {
    stop.hidden = !working;
    resume.hidden = working || last === "finished" || last === "asked" || run.status !== "unfinished";
    share.hidden = last !== "finished";
    change.hidden = working;
  };
  view = new RunView(root, run, { actions: [error, stop, resume, change, share], of, onReply: (reply) => goOn("reply", { reply }) });
  buttons(run.working, run.events.at(-1)?.type);
  if (run.working) {
    let away = false;
    end = follow(thread, run.events.length, {
      onEvent: (event, number) => { if (number === view.events.length) view.push(event); },
      onLost: (is) => {
        if (is === away || view.events.at(-1)?.type === "finished") return;
        away = is;
        fail(is ? GONE : "");
        stop.hidden = is;
        view.status(is ? "lost" : run.status, !is);
      },
      onRest: () => {
        const last = view.events.at(-1)?.type;
        if (away) fail("");
        buttons(false, last);
        if (last !== "finished") view.status("unfinished", false);
        onEnd?.(view);
        history();
      },
    });
  } else onEnd?.(view);
  return () => { end?.(); view.destroy(); };
}

begin();
