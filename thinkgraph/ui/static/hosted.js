// The page inside a chat host that shows MCP apps: the host hands over the result of the tool, by JSON-RPC in messages.
import { fill, h } from "./dom.js";
import { RunView } from "./replay.js";

const main = document.getElementById("main");
const dark = [...document.styleSheets[0].cssRules].find((rule) => rule.media?.mediaText.includes("prefers-color-scheme"));
let view = null;

const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

function note(words) {
  view?.destroy();
  view = null;
  fill(main, h("p", { class: "hint", role: "status" }, words));
}

// The host may be dark where the system is light.
function dress({ theme } = {}) {
  if (theme !== "dark" && theme !== "light") return;
  document.documentElement.style.colorScheme = theme;
  dark.media.mediaText = theme === "dark" ? "all" : "not all";
  view?.graph.repaint();
}

function shown({ content = [], structuredContent: answer, isError, _meta }) {
  if (isError || !answer?.evidence) return note(content.map((one) => one.text ?? "").join("\n"));
  note("");
  const { question, method, model, status } = answer;
  const events = _meta?.["thinkgraph/events"] ?? [{ type: "finished", answer }];
  view = new RunView(main, { question, method, model, status, events });
  return undefined;
}

const heard = new Map([
  ["ui/notifications/tool-input", (given) => note(["Looking for an answer: ", given.arguments?.question])],
  ["ui/notifications/tool-result", shown],
  ["ui/notifications/tool-cancelled", () => note("The question was withdrawn.")],
  ["ui/notifications/host-context-changed", dress],
  ["ui/resource-teardown", () => note("")],
  ["ping", () => {}],
]);

function begun({ hostContext }) {
  dress(hostContext);
  post({ method: "ui/notifications/initialized", params: {} });
  const room = hostContext?.containerDimensions ?? {};
  if (!room.height) post({ method: "ui/notifications/size-changed", params: { height: Math.min(720, room.maxHeight ?? 720) } });
}

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.id === 0 && data.result) return begun(data.result);
  const act = heard.get(data.method);
  act?.(data.params ?? {});
  if (data.method && data.id !== undefined) post({ id: data.id, ...(act ? { result: {} } : { error: { code: -32601, message: "no such method" } }) });
  return undefined;
});
note("The answer appears here.");
post({ id: 0, method: "ui/initialize", params: {
  appInfo: { name: "thinkgraph", version: main.dataset.version }, appCapabilities: {}, protocolVersion: "2026-01-26" } });
