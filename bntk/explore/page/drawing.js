// The network: nodes that hold bars, and the arcs between them. Only what changed is touched when it is painted again.

/** Where the layout of the model puts nodes, as boxes with their upper left corner, and arcs. */
function placesOf({ layout, parents }) {
  const boxes = layout.positions.map(([x, y], i) => {
    const [width, height] = layout.sizes[i];
    return { x: x - width / 2, y: y - height / 2, width, height };
  });
  const routes = layout.routes.map(([from, to, ...numbers]) => {
    const route = [];
    for (let k = 0; k < numbers.length; k += 2) route.push([numbers[k], numbers[k + 1]]);
    return { from, to, route: route.length >= 2 ? route : null };
  });
  const drawn = new Set(routes.map(({ from, to }) => `${from} ${to}`));
  parents.forEach((own, to) => own.forEach((from) => drawn.has(`${from} ${to}`) || routes.push({ from, to, route: null })));
  return { boxes, routes };
}

/** A point on the border of a box, on the line from its centre towards another point. */
function borderPoint(box, towards) {
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  const [dx, dy] = [towards[0] - cx, towards[1] - cy];
  const reach = Math.max(Math.abs(dx) / (box.width / 2), Math.abs(dy) / (box.height / 2), 1e-9);
  return [cx + dx / reach, cy + dy / reach];
}

const centre = (box) => [box.x + box.width / 2, box.y + box.height / 2];

/** An arc as an SVG path: the route of the layout, or straight from border to border where a node was moved. */
function arcPath(route, from, to) {
  const points = route ?? [borderPoint(from, centre(to)), borderPoint(to, centre(from))];
  const say = ([x, y]) => `${Number(x.toFixed(1))} ${Number(y.toFixed(1))}`;
  if (points.length === 2) return `M${say(points[0])}L${say(points[1])}`;
  let path = `M${say(points[0])}`;
  for (let k = 1; k + 2 < points.length; k += 3) path += `C${points.slice(k, k + 3).map(say).join(" ")}`;
  return path;
}

/** The head of an arc: a triangle whose tip is the end of the path. */
function arcHead(route, from, to) {
  const points = route ?? [borderPoint(from, centre(to)), borderPoint(to, centre(from))];
  const tip = points[points.length - 1];
  let before = points[points.length - 2];
  for (let k = points.length - 2; k >= 0 && Math.hypot(tip[0] - before[0], tip[1] - before[1]) < 1; k--) before = points[k];
  const length = Math.hypot(tip[0] - before[0], tip[1] - before[1]) || 1;
  const [ux, uy] = [(tip[0] - before[0]) / length, (tip[1] - before[1]) / length];
  const corner = (side) => [tip[0] - 9 * ux - side * 3.6 * uy, tip[1] - 9 * uy + side * 3.6 * ux];
  return [tip, corner(1), corner(-1)].map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
}

/** The size of a name where the network is small: as large as its node has room for. */
function farSize(name, width) {
  farSize.context ??= document.createElement("canvas").getContext("2d");
  farSize.context.font = `650 20px ${FONT}`;
  return Math.max(13, Math.min(24, (18 * (width - 14)) / farSize.context.measureText(visible(name)).width)).toFixed(1);
}

class Drawing {
  constructor(store, places) {
    this.store = store;
    this.boxes = places.boxes.map((box) => ({ ...box }));
    this.routes = places.routes.map((arc) => ({ ...arc })); // {from, to, route}
    this.arcLayer = make("svg:svg", { class: "arcs", "aria-hidden": "true" });
    this.nodeLayer = make("div", { class: "nodes" });
    this.world = make("div", { class: "world" }, this.arcLayer, this.nodeLayer);
    this.arcs = this.routes.map((arc) => this.makeArc(arc));
    this.arcsOf = this.boxes.map(() => []);
    this.routes.forEach((arc, k) => {
      this.arcsOf[arc.from].push(k);
      this.arcsOf[arc.to].push(k);
    });
    this.nodes = this.boxes.map((_, i) => this.makeNode(i));
    this.readingOrder = this.boxes.map((_, i) => i).sort((a, b) => this.boxes[a].y - this.boxes[b].y || this.boxes[a].x - this.boxes[b].x);
    this.nodeLayer.append(...this.readingOrder.map((i) => this.nodes[i].element));
    this.hidden = new Set();
  }

  makeArc(arc) {
    const path = make("svg:path", { class: "line" });
    const head = make("svg:polygon", { class: "head" });
    const group = make("svg:g", { class: "arc" }, path, head);
    this.arcLayer.append(group);
    const drawn = { group, path, head };
    this.placeArc(arc, drawn);
    return drawn;
  }

  placeArc(arc, { path, head }) {
    const [from, to] = [this.boxes[arc.from], this.boxes[arc.to]];
    path.setAttribute("d", arcPath(arc.route, from, to));
    head.setAttribute("points", arcHead(arc.route, from, to));
  }

  makeNode(i) {
    const { name, states } = this.store.model.variables[i];
    const badge = make("span", { class: "badge", hidden: true });
    const more = button("", "more", null, { class: "more", tabindex: -1, description: `What to do with ${plainWord(name)}` });
    const title = word(name, "title");
    title.title = visible(name);
    const rows = states.map((state, s) => this.makeRow(i, s, state));
    const list = make("div", { class: "states" }, ...rows.map((row) => row.element));
    const head = make("div", { class: "head" }, title, badge, more);
    const element = make("div", { class: "node", role: "group", "data-variable": i }, head, list);
    title.style.setProperty("--far", `${farSize(name, this.boxes[i].width)}px`);
    const node = { element, head, badge, more, list, rows, looks: "", words: "" };
    this.placeNode(i, node);
    return node;
  }

  makeRow(i, s, state) {
    const sign = make("span", { class: "sign", "aria-hidden": "true" });
    const bar = make("span", { class: "bar" });
    const track = make("span", { class: "track" }, bar);
    const figure = make("span", { class: "figure" });
    const name = word(state, "name");
    name.title = visible(state);
    const attributes = { class: "state", role: "button", tabindex: -1, "data-variable": i, "data-state": s };
    const element = make("div", attributes, sign, name, track, figure);
    return { element, sign, bar, track, figure, name, p: NaN, other: null, otherP: NaN, kind: "", likelihood: null, words: "" };
  }

  placeNode(i, node = this.nodes[i]) {
    const { x, y, width, height } = this.boxes[i];
    node.element.style.transform = `translate(${x}px, ${y}px)`;
    node.element.style.width = `${width}px`;
    node.element.style.height = `${height}px`;
  }

  /** Move a node; its arcs become straight. */
  move(i, x, y) {
    Object.assign(this.boxes[i], { x, y });
    this.placeNode(i);
    for (const k of this.arcsOf[i]) {
      this.routes[k].route = null;
      this.placeArc(this.routes[k], this.arcs[k]);
    }
  }

  /** The frame of all that is shown. */
  frame() {
    const frame = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    const include = (x, y) => {
      frame.left = Math.min(frame.left, x);
      frame.right = Math.max(frame.right, x);
      frame.top = Math.min(frame.top, y);
      frame.bottom = Math.max(frame.bottom, y);
    };
    this.boxes.forEach(({ x, y, width, height }, i) => {
      if (this.hidden.has(i)) return;
      include(x, y);
      include(x + width, y + height);
    });
    for (const { from, to, route } of this.routes) {
      if (route && !this.hidden.has(from) && !this.hidden.has(to)) for (const [x, y] of route) include(x, y);
    }
    return frame.left <= frame.right ? frame : { left: 0, top: 0, right: 1, bottom: 1 };
  }

  // ---- painting -------------------------------------------------------------------------------------------------------

  paint() {
    const { store } = this;
    const compared = store.other !== null;
    if (compared !== this.compared) {
      this.world.classList.toggle("two", compared);
      this.compared = compared;
    }
    this.world.classList.toggle("stale", !store.result.possible);
    const clash = new Set(store.contradiction ?? []);
    const relevant = store.relevant();
    this.nodes.forEach((node, i) => {
      this.paintNode(node, i, clash.has(i), relevant !== null && !relevant.has(i));
    });
    this.paintArcs();
  }

  paintNode(node, i, clashes, hidden) {
    const { store } = this;
    const finding = findingOf(store.case, i);
    const marginal = store.shown.marginals[i];
    const second = store.other?.result.possible ? store.other.result.marginals[i] : null;
    if (hidden !== this.hidden.has(i)) {
      if (hidden) this.hidden.add(i);
      else this.hidden.delete(i);
    }
    const looks = [
      "node", finding?.kind, store.target === i && "target", store.selected === i && "selected", clashes && "clash",
      hidden && "irrelevant",
    ].filter(Boolean).join(" ");
    if (looks !== node.looks) {
      node.element.className = looks;
      node.looks = looks;
      this.paintBadge(node, finding, store.target === i, clashes);
    }
    const words = this.wordsOf(i, finding, clashes);
    if (words !== node.words) {
      node.element.setAttribute("aria-label", words);
      node.words = words;
    }
    const best = store.explanation && finding === null ? store.explanation.states[i] : -1;
    const weights = finding?.kind === "likelihood" ? finding.value : null;
    node.rows.forEach((row, s) => {
      this.paintRow(row, i, s, marginal[s], second && second[s], rowKind(finding, s, best), weights && weights[s]);
    });
  }

  paintRow(row, i, s, p, q, kind, weight) {
    let changed = false;
    if (p !== row.p) {
      row.p = p;
      row.element.dataset.p = String(p);
      row.bar.style.transform = `scaleX(${p})`;
      setText(row.figure, percent(p));
      changed = true;
    }
    if (this.compared) this.paintSecond(row, q);
    if (kind !== row.kind) {
      row.kind = kind;
      row.element.className = kind ? `state ${kind}` : "state";
      row.sign.replaceChildren(...(SIGNS[kind] ? [icon(SIGNS[kind])] : []));
      setAttribute(row.element, "aria-pressed", kind === "observed" || kind === "done" ? "true" : "false");
      changed = true;
    }
    if (weight !== row.likelihood) {
      row.likelihood = weight;
      row.mark?.remove();
      row.mark = weight === null ? null : make("span", { class: "weight" });
      if (row.mark) {
        row.mark.style.left = `${100 * weight}%`;
        row.track.append(row.mark);
      }
      changed = true;
    }
    if (changed || row.words === "" || this.compared) {
      const words = this.rowWords(row, i, s, kind, weight);
      if (words !== row.words) row.element.setAttribute("aria-label", (row.words = words));
    }
  }

  paintSecond(row, q) {
    if (!row.other) {
      row.other = { bar: make("span", { class: "bar other" }), figure: make("span", { class: "figure other" }) };
      row.track.append(row.other.bar);
      row.element.append(row.other.figure);
      row.otherP = NaN;
    }
    const value = q ?? null;
    if (Object.is(value, row.otherP)) return;
    row.otherP = value;
    row.element.dataset.otherP = value === null ? "" : String(value);
    row.other.bar.style.transform = `scaleX(${value ?? 0})`;
    setText(row.other.figure, value === null ? "–" : percent(value));
  }

  rowWords(row, i, s, kind, weight) {
    const parts = [`${plainWord(this.store.state(i, s))}: ${percent(row.p)}`];
    if (this.compared && row.otherP !== null) parts.push(`beside it ${percent(row.otherP)}`);
    if (KIND_WORDS[kind]) parts.push(KIND_WORDS[kind]);
    if (weight !== null) parts.push(`likelihood ${number(weight)}`);
    return parts.join(", ");
  }

  wordsOf(i, finding, clashes) {
    const parts = [plainWord(this.store.name(i))];
    if (this.store.target === i) parts.push("target");
    if (finding) parts.push(findingText(this.store, i, finding));
    if (clashes) parts.push("contradicts other findings");
    return parts.join(", ");
  }

  paintBadge(node, finding, isTarget, clashes) {
    const words = clashes ? "contradiction" : finding ? BADGES[finding.kind] : isTarget ? "target" : "";
    const sign = clashes ? "warning" : finding ? null : isTarget ? "target" : null;
    node.badge.hidden = words === "";
    node.badge.replaceChildren(...(sign ? [icon(sign)] : []), words);
  }

  paintArcs() {
    const { store } = this;
    this.routes.forEach(({ from, to }, k) => {
      const looks = [
        "arc", store.case.intervened[to] !== undefined && "cut",
        (store.selected === from || store.selected === to) && "near",
        (this.hidden.has(from) || this.hidden.has(to)) && "irrelevant",
      ].filter(Boolean).join(" ");
      setAttribute(this.arcs[k].group, "class", looks);
    });
  }
}

const SIGNS = { observed: "check", excluded: "cross", done: "does", best: "star" };
const BADGES = { observed: "observed", intervened: "do", excluded: "excluded", likelihood: "likelihood" };
const KIND_WORDS = {
  observed: "observed",
  done: "set by intervention",
  excluded: "excluded",
  best: "in the most probable explanation",
};

/** How the row of a state is marked. */
function rowKind(finding, s, best) {
  if (finding?.kind === "observed" && finding.value === s) return "observed";
  if (finding?.kind === "intervened" && finding.value === s) return "done";
  if (finding?.kind === "excluded" && finding.value.includes(s)) return "excluded";
  if (finding?.kind === "likelihood" && finding.value[s] === 0) return "excluded";
  return best === s ? "best" : "";
}
