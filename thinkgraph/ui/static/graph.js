// The graph of a run: entities and triples as they are met, communities as boxes, evidence and answers brought out.
// Labels go to a canvas: no text of a graph is ever markup.
import { plain } from "./dom.js";

const BIG = 1200, MANY = 400;
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"), soft: of("--soft"), line: of("--line"), paper: of("--paper"), accent: of("--accent"),
    good: of("--good"), box: of("--box"), glow: of("--glow"), node: of("--node"),
  };
}

// Words stay readable where the picture is small: `grow` is how many times larger they are written.
function styles(grow) {
  const c = colours();
  return [
    { selector: "*", style: {
      "label": "data(label)", "font-family": "system-ui, Segoe UI, Noto Sans, sans-serif", "text-wrap": "ellipsis", "text-outline-color": c.paper, "text-outline-width": 2.5 } },
    { selector: "node", style: {
      "width": 16, "height": 16, "background-color": c.node, "border-width": 1.5, "border-color": c.line,
      "font-size": 11 * grow, "color": c.ink, "text-valign": "bottom", "text-margin-y": 4, "text-max-width": 130 * grow, "min-zoomed-font-size": 7,
      "transition-property": "background-color, border-color, opacity", "transition-duration": calm() ? "0s" : "0.25s" } },
    { selector: "node.literal", style: { "shape": "round-rectangle", "width": 14, "height": 10, "font-style": "italic" } },
    { selector: "node.kept", style: { "background-color": c.accent, "border-color": c.accent, "width": 20, "height": 20 } },
    { selector: "node.start", style: {
      "background-color": c.paper, "border-color": c.accent, "border-width": 5, "width": 26, "height": 26, "font-size": 13 * grow, "font-weight": 600 } },
    { selector: "node.answer", style: {
      "background-color": c.good, "border-color": c.good, "width": 30, "height": 30, "font-size": 14 * grow, "font-weight": 700 } },
    { selector: "node.dropped", style: { "opacity": 0.35, "border-style": "dashed" } },
    { selector: "node.box", style: {
      "background-color": c.box, "background-opacity": 0.5, "border-color": c.accent, "border-width": 1, "border-style": "dashed",
      "shape": "round-rectangle", "text-valign": "top", "font-size": 12, "color": c.soft, "padding": 16, "text-max-width": 260 } },
    { selector: ".away", style: { "display": "none" } },
    { selector: "edge", style: {
      "width": 1.2, "line-color": c.line, "target-arrow-color": c.line, "target-arrow-shape": "triangle", "arrow-scale": 0.8,
      "curve-style": "bezier", "font-size": 9.5, "color": c.soft, "text-rotation": "autorotate", "min-zoomed-font-size": 9,
      "text-max-width": 120 } },
    { selector: "edge.kept", style: { "width": 2.2, "line-color": c.accent, "target-arrow-color": c.accent, "color": c.ink } },
    { selector: "edge.cited", style: {
      "width": 3.2, "line-color": c.good, "target-arrow-color": c.good, "color": c.ink, "font-size": 11, "z-index": 8 } },
    { selector: ".box > node, .terse", style: { "label": "", "curve-style": "straight" } },
    { selector: ".box > .start, .box > .answer, .box > .lit, .box > .near, .terse.near", style: { "label": "data(label)" } },
    { selector: ".covered", style: { "text-opacity": 0 } },
    { selector: ".quiet", style: { "opacity": 0.16, "text-opacity": 0 } },
    { selector: "edge.lit", style: { "width": 4, "curve-style": "bezier", "line-color": c.good, "target-arrow-color": c.good, "font-size": 12, "z-index": 9 } },
    { selector: "node.lit", style: { "underlay-color": c.glow, "underlay-opacity": 0.5, "underlay-padding": 8, "z-index": 9 } },
    { selector: "core", style: { "active-bg-opacity": 0 } },
  ];
}

// Thousands of things: straight lines and no words until they are near, so that the picture stays fluid.
const plainly = [
  { selector: "edge", style: { "curve-style": "haystack", "label": "", "width": 1 } },
  { selector: "node", style: { "label": "data(label)", "min-zoomed-font-size": 12, "text-outline-width": 0, "transition-duration": "0s" } },
];

function nameOf(nodes, most = 2) {
  const names = nodes.slice(0, most).map((node) => node.data("label")).join(", ");
  return nodes.length > most ? `${names} +${nodes.length - most}` : names;
}

export class Graph {
  constructor(container, onPick) {
    this.cy = cytoscape({
      container, style: styles(1), minZoom: 0.05, maxZoom: 3, layout: { name: "preset" }, boxSelectionEnabled: false,
    });
    this.cy.on("tap", "node, edge", ({ target }) => {
      onPick?.(target.data());
      target.children?.().addClass("near");
      if (this.folding && target.neighborhood?.().addClass("near").nonempty()) this.arrange();
    });
    this.cy.on("tap", (event) => event.target === this.cy && onPick?.(null));
    this.big = this.touched = false;
    this.met = 0;
    this.cy.on("dragpan scrollzoom", () => { this.touched = true; });
    this.cy.on("dragfree", () => this.uncover());
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.grow = 1;
    this.repaint = () => {
      this.cy.style(this.big ? [...styles(this.grow), ...plainly] : styles(this.grow));
      this.uncover();
    };
    this.cy.on("zoom", () => {
      const grow = this.big ? 1 : Math.min(2, Math.max(1, 0.8 / this.cy.zoom()));
      if (Math.abs(grow / this.grow - 1) < 0.1) return;
      this.grow = grow;
      clearTimeout(this.painting);
      this.painting = setTimeout(this.repaint, 60);
    });
    this.scheme.addEventListener("change", this.repaint);
    this.watch = new ResizeObserver(() => { this.cy.resize(); if (!this.touched) this.fit(); });
    this.watch.observe(container);
  }

  destroy() {
    clearTimeout(this.timer);
    clearTimeout(this.painting);
    this.scheme.removeEventListener("change", this.repaint);
    this.watch.disconnect();
    this.cy.destroy();
  }

  reset() {
    clearTimeout(this.timer);
    this.layout?.stop();
    this.subject = null;
    this.folding = this.all = false;
    this.cy.elements().remove();
    this.touched = false;
  }

  get size() {
    return { entities: this.cy.nodes().not(".box").length, triples: this.cy.edges().length };
  }

  node(id, label, literal = false, near = null) {
    const key = "n:" + id;
    const known = this.cy.getElementById(key);
    if (known.nonempty()) return known;
    const by = near && this.cy.getElementById(near);
    const at = by?.nonempty() ? by.position() : { x: 0, y: 0 };
    this.met += 1;
    const turn = (this.met * 2.4) % (2 * Math.PI);
    return this.cy.add({
      group: "nodes", data: { id: key, entity: id, label: plain(label, 60), whole: plain(label, 300) }, classes: literal ? "literal" : "",
      position: { x: at.x + 90 * Math.cos(turn), y: at.y + 90 * Math.sin(turn) },
    });
  }

  starts(entities) {
    for (const one of entities) this.node(one.id, one.label).addClass("start");
    if (entities.length) this.arrange();
  }

  triples(triples) {
    this.cy.batch(() => {
      for (const one of triples) {
        const subjectKnown = this.cy.getElementById("n:" + one.subject).nonempty();
        const subject = this.node(one.subject, one.subject_label, false, "n:" + one.object);
        const object = this.node(one.object, one.object_label, one.literal, subjectKnown ? "n:" + one.subject : null);
        if (this.cy.getElementById("t:" + one.id).nonempty()) continue;
        this.cy.add({
          group: "edges",
          data: { id: "t:" + one.id, triple: one.id, source: subject.id(), target: object.id(), label: plain(one.relation_label, 50), said: one },
        });
      }
    });
    if (!this.folding) this.thin(this.cy.elements().length);
    if (triples.length) this.arrange();
  }

  thin(many) {
    const big = many > BIG;
    if (big === this.big) return;
    this.big = big;
    this.repaint();
  }

  evidence(ids, name = "kept") {
    this.cy.batch(() => {
      for (const id of ids) {
        const edge = this.cy.getElementById("t:" + id);
        edge.addClass(name);
        edge.connectedNodes().removeClass("dropped").addClass(`kept ${name}`);
      }
    });
  }

  // Entities are dropped by their labels, the one thing that a prune tells of them.
  dropped(labels, kept) {
    const gone = new Set(labels.map((label) => plain(label, 60)));
    for (const label of kept) gone.delete(plain(label, 60));
    this.cy.nodes().forEach((node) => {
      if (gone.has(node.data("label")) && !node.hasClass("kept") && !node.hasClass("start")) node.addClass("dropped");
    });
  }

  boxes(boxes) {
    this.cy.batch(() => {
      for (const box of boxes) {
        const free = box.entities.map((id) => this.cy.getElementById("n:" + id)).filter((node) => node.nonempty() && node.parent().empty());
        if (!free.length) continue;
        if (this.cy.getElementById("b:" + box.id).empty()) {
          this.cy.add({ group: "nodes", data: { id: "b:" + box.id, label: nameOf(free), whole: nameOf(free, 40) }, classes: "box" });
        }
        for (const node of free) node.move({ parent: "b:" + box.id });
      }
    });
    if (boxes.length) this.arrange();
  }

  answers(labels) {
    const wanted = new Set(labels.map((label) => plain(label, 60).toLocaleLowerCase()));
    this.cy.nodes().forEach((node) => {
      if (wanted.has(String(node.data("label")).toLocaleLowerCase())) node.removeClass("dropped").addClass("answer");
    });
  }

  light(ids) {
    this.cy.elements().removeClass("lit quiet");
    const edges = this.cy.collection(ids.map((id) => this.cy.getElementById("t:" + id)).filter((edge) => edge.nonempty()).map((edge) => edge[0]));
    if (edges.empty()) return;
    const shown = edges.union(edges.connectedNodes());
    this.cy.elements().difference(shown).difference(shown.ancestors()).addClass("quiet");
    shown.addClass("lit near").removeClass("covered");
    if (!shown.is(".away")) return this.look(shown);
    // What was not drawn has no place yet.
    this.subject = ".lit";
    this.touched = false;
    this.arrange(0);
  }

  unlight() {
    this.cy.elements().removeClass("lit quiet near");
  }

  look(elements) {
    // No nearer than one reads well: two nodes alone would fill the picture.
    const box = elements.boundingBox();
    const zoom = Math.min(1.5, (this.cy.width() - 140) / Math.max(1, box.w), (this.cy.height() - 140) / Math.max(1, box.h));
    const pan = { x: this.cy.width() / 2 - (zoom * (box.x1 + box.x2)) / 2, y: this.cy.height() / 2 - (zoom * (box.y1 + box.y2)) / 2 };
    if (calm()) this.cy.viewport({ zoom, pan });
    else this.cy.animate({ zoom, pan }, { duration: 350 });
    this.touched = true;
  }

  fit() {
    if (this.cy.elements().empty()) return;
    this.cy.fit(this.subject ? this.cy.elements(this.subject) : undefined, 50);
    if (this.cy.zoom() > 1.4) { this.cy.zoom(1.4); this.cy.center(); }
  }

  // Of a crowd only what counts in the end fills the picture.
  closeUp() {
    const counts = this.cy.elements(".kept, .cited, .answer, .start");
    this.subject = counts.nonempty() && this.cy.nodes().length > 40 ? ".kept, .cited, .answer, .start" : null;
    this.arrange();
  }

  tree(on) {
    this.layered = on;
    this.touched = false;
    this.arrange(0);
  }

  // A large graph is laid out once it has stopped growing: until then what is new stands beside what it is next to. Of a folded one
  // little is drawn.
  arrange(wait = !this.folding && this.cy.nodes().length > MANY ? 1200 : 90) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), wait);
  }

  // Round communities only what a cited path leads through is drawn, until somebody picks a node next to it, or all of it.
  fold() {
    const round = this.folding && !this.all ? this.cy.nodes().orphans().not(".box, .start, .answer, .near") : this.cy.collection();
    const seen = round.filter((one) => one.connectedEdges(".cited").length < 2);
    this.cy.nodes().removeClass("away");
    seen.addClass("away");
    if (this.folding) this.cy.edges().addClass("terse");
    this.onFold?.(seen.length);
    return this.cy.elements().not(seen).not(seen.connectedEdges());
  }

  settle() {
    const drawn = this.fold();
    const many = drawn.nodes().length;
    if (!many) return;
    this.thin(drawn.length);
    const animate = !calm() && many < 250;
    const shared = { animate, animationDuration: 400, fit: false, padding: 50 };
    this.layout?.stop();
    const options = this.layered
      ? { name: "dagre", rankDir: "LR", nodeSep: 24, rankSep: 130, ...shared }
      : {
        name: "fcose", quality: many > MANY ? "draft" : "default", randomize: many > MANY || !this.settled, nodeSeparation: 110,
        idealEdgeLength: () => 125, nodeRepulsion: () => 9000, tilingPaddingVertical: 40, tilingPaddingHorizontal: 70, packComponents: true, numIter: many > MANY ? 400 : 1500, ...shared,
      };
    this.layout = drawn.layout(options);
    this.settled = true;
    this.layout.one("layoutstop", () => {
      if (!this.touched) this.fit();
      this.uncover();
    });
    this.layout.run();
  }

  // Of names that would cover each other the one that counts more is written: evidence before the rest, entities before relations.
  uncover() {
    if (this.big) return;
    const rank = (one) => (one.is(".lit, .cited, .answer, .start") ? 4 : 0) + (one.hasClass("kept") ? 2 : 0) + one.isNode();
    const taken = [];
    this.cy.elements(":visible").removeClass("covered").sort((a, b) => rank(b) - rank(a)).forEach((one) => {
      const { x1, x2, y1, y2 } = one.boundingBox({ includeNodes: false, includeEdges: false });
      if (taken.some((other) => x1 < other.x2 && other.x1 < x2 && y1 < other.y2 && other.y1 < y2)) one.addClass("covered");
      else taken.push({ x1, x2, y1, y2 });
    });
  }

  // What the picture says, for whoever cannot see it.
  sentences() {
    return this.cy.edges().map((edge) => {
      const one = edge.data("said");
      return { text: `${one.subject_label} — ${one.relation_label} → ${one.object_label}`, cited: edge.hasClass("cited"), triple: one.id };
    });
  }
}
