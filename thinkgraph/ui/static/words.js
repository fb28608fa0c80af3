// What a person reads: statuses, steps and settings in words.

export const STATUSES = {
  lost: { title: "No connection" },
  grounded: {
    title: "Grounded",
    says: "The cited evidence leads to every answer, and nothing says that it is something else than was asked for.",
    not: "that the model took the right way: an answer at the end of the wrong path is grounded where nothing tells the difference",
  },
  partial: {
    title: "Partial",
    says: "A best effort: the evidence is not complete, speaks of nothing that the question names, or only shares words with an answer.",
    not: "that any of it is right, or that a list is whole",
  },
  memory: {
    title: "From memory",
    says: "The model's own knowledge, which no evidence supports.",
    not: "anything that you could look up in your knowledge",
  },
  unknown: {
    title: "No answer",
    says: "No answer was found, or only one that is not what the question asks for.",
    not: "that there is none: the graph may hold it where the search did not look",
  },
  unfinished: { title: "Unfinished" },
};

export const KINDS = {
  path: "what this path leads to",
  value: "a value on this path",
  sentence: "said in this sentence",
  count: "how many things this line lists",
  conclusion: "a conclusion from this line",
  words: "only shares words with what is cited",
  none: "nothing is cited for it",
};

const THINGS = {
  topics: "starting points", relations: "relations", entities: "entities", chunks: "passages", communities: "communities",
  branches: "branches", triples: "triples", questions: "questions", paths: "paths",
};

export function thingsIn(what) {
  return THINGS[what] ?? what;
}

const SETTINGS = {
  max_calls: "Model calls, at most", max_tokens: "Tokens, at most", max_cost: "Dollars, at most", max_seconds: "Seconds, at most",
  task: "Kind of question", width: "Width", depth: "Depth", relations: "Relations per entity", hops: "Hops", top_k: "Passages kept",
  samples: "Samples", turns: "Turns", community_size: "Community size", backtracks: "Times it may go back", verify: "Verify the answer",
  explain: "Ask for explanations", seed: "Seed",
};

export function settingTitle(name) {
  return SETTINGS[name] ?? name.replaceAll("_", " ");
}

export function seconds(value) {
  return value < 10 ? `${value.toFixed(1)} s` : value < 120 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`;
}

export function shortNumber(value) {
  return value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value >= 1e4 ? `${Math.round(value / 1e3)} k` : value.toLocaleString("en");
}
