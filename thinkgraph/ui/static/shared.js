// A shared run: the events lie in the page itself.
import { RunView } from "./replay.js";

const run = JSON.parse(document.getElementById("run").textContent);
new RunView(document.getElementById("main"), run);
