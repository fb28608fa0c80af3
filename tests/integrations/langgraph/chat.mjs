// What a chat page does, with LangGraph's JavaScript SDK: asks in messages, follows the stream, replies to what the run asks.
import { Client } from "@langchain/langgraph-sdk";

const [apiUrl, question, ceiling] = process.argv.slice(2);
const client = new Client({ apiUrl });
const { thread_id: thread } = await client.threads.create();
const context = { ranker: "bm25", ask_user: "budget", max_calls: Number(ceiling) };

async function follow(how) {
  const parts = [];
  for await (const { event, data } of client.runs.stream(thread, "tog2", { ...how, context, streamMode: ["messages-tuple", "updates", "custom"] })) {
    parts.push({ event, data });
  }
  return parts;
}

const first = await follow({ input: { messages: [{ type: "human", content: question }] } });
const waits = (await client.threads.getState(thread)).tasks.flatMap((task) => task.interrupts);
const reply = { type: "respond", message: "40" };
const second = await follow({ command: { resume: { decisions: [reply] } } });
const { values } = await client.threads.getState(thread);
console.log(JSON.stringify({ first, waits, second, messages: values.messages, answer: values.answer }));
