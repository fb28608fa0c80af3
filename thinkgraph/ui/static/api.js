// The page's own server: JSON in and out, and a run's events as they come.

// Runs that are followed at a time: a browser holds six connections to a server, and one is left for Stop.
export const MOST = 5;

export const GONE = "the page's server does not answer: is 'thinkgraph ui' still running?";

export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Error(GONE);
  }
  // A reply that cannot be read is no result, whatever its status.
  const found = await reply.json().catch(() => null);
  if (!reply.ok) throw new Error(found?.error ?? `the server answered with status ${reply.status}`);
  if (found === null) throw new Error("the server's reply cannot be read: reload the page, and see its log if it stays so");
  return found;
}

// Calls back with each event from a number on, and when the server is lost or found again; gives a function that ends it.
export function follow(thread, after, { onEvent, onRest, onLost }) {
  const source = new EventSource(`api/runs/${encodeURIComponent(thread)}/events?after=${after - 1}`);
  source.onmessage = (message) => onEvent(JSON.parse(message.data), Number(message.lastEventId));
  source.addEventListener("rest", () => { source.close(); onRest(); });
  source.onopen = () => onLost(false);
  // The browser goes on trying, unless it was told that there is nothing to follow.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) onRest(); else onLost(true); };
  return () => source.close();
}
