// What leaves the page by the hand of its reader: a link, Python, a picture. And what comes in by a link.

/** The fragment of a URL that shows this case again. */
function fragmentOf(store) {
  const parts = [store.engine.encodeCase(store.case)];
  if (store.target !== (store.model.target ?? null)) parts.push(`t=${store.target === null ? "" : encodeName(store.name(store.target))}`);
  return parts.filter(Boolean).join("&");
}

const encodeName = (name) => encodeURIComponent(name.toWellFormed?.() ?? name.replace(/[\ud800-\udfff]/g, "\ufffd"));

/** Show what a fragment says; what it holds is input, and whatever is wrong with it is left out and said. */
function readFragment(store, fragment) {
  const problems = [];
  const words = fragment.replace(/^#/, "").split("&");
  const target = words.find((part) => part.startsWith("t="));
  if (target !== undefined) {
    try {
      const name = decodeURIComponent(target.slice(2));
      const i = store.engine.variableOf(name);
      if (name === "") store.target = null;
      else if (i >= 0) store.target = i;
      else problems.push(`There is no variable “${name.slice(0, 60)}”.`);
    } catch {
      problems.push("The target cannot be read.");
    }
  }
  const read = store.engine.decodeCase(words.filter((part) => !part.startsWith("t=")).join("&"));
  return { case: withOneFindingEach(read.case, store.model), problems: [...read.problems, ...problems] };
}

/** Save text or a picture as a file. */
function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = make("a", { href: url, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const fileName = (title, suffix) => `${(title || "network").replace(/[^\p{L}\p{N}._ -]+/gu, "_").trim().slice(0, 60) || "network"}.${suffix}`;

// ---- the picture --------------------------------------------------------------------------------------------------------

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";

/** Text cut to a width, as the page cuts it. */
function fitted(text, width, font, context) {
  context.font = font;
  if (context.measureText(text).width <= width) return text;
  let letters = [...text];
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters = letters.slice(0, -1);
  return `${letters.join("")}…`;
}

/** The network as it is shown, as a picture of its own: one SVG element without styles. */
function picture(drawing, store) {
  const colours = picturePalette();
  const { left, top, right, bottom } = drawing.frame();
  const [margin, width, height] = [16, right - left + 32, bottom - top + 32];
  const svg = make("svg:svg", { xmlns: SVG_SPACE, viewBox: `${left - margin} ${top - margin} ${width} ${height}`, width, height, "font-family": FONT });
  svg.append(make("svg:title", {}, store.model.title || "Bayesian network"));
  svg.append(make("svg:rect", { x: left - margin, y: top - margin, width, height, fill: colours.paper }));
  drawing.routes.forEach(({ from, to, route }, k) => {
    if (drawing.hidden.has(from) || drawing.hidden.has(to)) return;
    const cut = store.case.intervened[to] !== undefined;
    const line = { d: drawing.arcs[k].path.getAttribute("d"), fill: "none", stroke: colours.arc, "stroke-width": 1.2, opacity: cut ? 0.45 : null, "stroke-dasharray": cut ? "4 4" : null };
    svg.append(make("svg:path", line), make("svg:polygon", { points: drawing.arcs[k].head.getAttribute("points"), fill: colours.arc, opacity: cut ? 0.45 : null }));
  });
  const context = document.createElement("canvas").getContext("2d");
  drawing.boxes.forEach((box, i) => drawing.hidden.has(i) || svg.append(pictureOfNode(drawing, store, i, box, colours, context)));
  return svg;
}

/** The colours of the page as they are now, light or dark. */
function picturePalette() {
  const probe = make("span", { hidden: true });
  document.body.append(probe);
  const names = ["paper", "card", "ink", "muted", "line", "arc", "bar", "track", "second", "observed", "done", "target"];
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
  probe.remove();
  return colours;
}

function pictureOfNode(drawing, store, i, box, colours, context) {
  const finding = findingOf(store.case, i);
  const { head, row, pad, rows: most } = store.model.layout.box;
  const group = make("svg:g", {});
  const edge = finding?.kind === "intervened" ? colours.done : finding ? colours.observed : store.target === i ? colours.target : colours.line;
  group.append(make("svg:rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 7, fill: colours.card, stroke: edge, "stroke-width": finding || store.target === i ? 2 : 1, "stroke-dasharray": finding?.kind === "likelihood" || finding?.kind === "excluded" ? "5 3" : null }));
  if (finding?.kind === "intervened") group.append(make("svg:rect", { x: box.x + 3.5, y: box.y + 3.5, width: box.width - 7, height: box.height - 7, rx: 4.5, fill: "none", stroke: edge, "stroke-width": 1 }));
  const badge = finding ? BADGES[finding.kind] : store.target === i ? "target" : "";
  const text = (x, y, size, content, more = {}) => make("svg:text", { x, y, "font-size": size, fill: colours.ink, "dominant-baseline": "central", ...more }, content);
  context.font = `10px ${FONT}`;
  const badgeWidth = badge ? context.measureText(badge).width + 8 : 0;
  const name = fitted(visible(store.name(i)), box.width - 20 - badgeWidth, `600 13px ${FONT}`, context);
  group.append(text(box.x + 10, box.y + pad + head / 2, 13, name, { "font-weight": 600 }));
  if (badge) group.append(text(box.x + box.width - 10, box.y + pad + head / 2, 10, badge, { "text-anchor": "end", fill: edge }));
  const labels = labelWidth(store, i, box);
  const start = box.x + 10 + labels + 6;
  const numbers = drawing.compared ? 88 : 46;
  const track = Math.max(8, box.x + box.width - 10 - numbers - start);
  drawing.nodes[i].rows.slice(0, most).forEach((painted, s) => {
    const middle = box.y + pad + head + row * (s + 0.5);
    const sign = { observed: "✓ ", excluded: "✕ ", done: "→ ", best: "★ " }[painted.kind] ?? "";
    const label = fitted(sign + visible(store.state(i, s)), labels, `11.5px ${FONT}`, context);
    group.append(text(box.x + 10, middle, 11.5, label, { "font-weight": painted.kind === "observed" || painted.kind === "done" ? 600 : null }));
    const bars = drawing.compared ? [[painted.p, colours.bar, -5], [painted.otherP ?? 0, colours.second, 1]] : [[painted.p, colours.bar, -5]];
    const thick = drawing.compared ? 4 : 10;
    group.append(make("svg:rect", { x: start, y: middle - 5, width: track, height: 10, fill: colours.track }));
    for (const [p, fill, dy] of bars) group.append(make("svg:rect", { x: start, y: middle + dy, width: track * p, height: thick, fill }));
    const end = box.x + box.width - 10;
    group.append(text(drawing.compared ? end - 44 : end, middle, 11, percent(painted.p), { "text-anchor": "end" }));
    if (drawing.compared) group.append(text(end, middle, 11, painted.otherP === null ? "–" : percent(painted.otherP), { "text-anchor": "end", fill: colours.muted }));
  });
  return group;
}

/** How much of a node's width its states take. */
function labelWidth(store, i, box) {
  return Math.min(box.width * 0.45, 12 + 7 * Math.max(...store.model.variables[i].states.map((state) => visible(state).length)));
}

const svgText = (drawing, store) => `${new XMLSerializer().serializeToString(picture(drawing, store))}\n`;

/** The picture painted on a canvas: the page may not load images, not even its own. */
function pngOf(drawing, store, ratio = 2) {
  const svg = picture(drawing, store);
  const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const scale = Math.min(ratio, 16000 / width, 16000 / height, Math.sqrt(1e8 / (width * height)));
  const canvas = make("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.translate(-x, -y);
  for (const shape of svg.querySelectorAll("rect, path, polygon, text")) paintShape(context, shape);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function paintShape(context, shape) {
  const get = (key) => shape.getAttribute(key);
  const numbers = (...keys) => keys.map((key) => Number(get(key) ?? 0));
  context.save();
  context.globalAlpha = Number(get("opacity") ?? 1);
  context.lineWidth = Number(get("stroke-width") ?? 1);
  context.setLineDash((get("stroke-dasharray") ?? "").split(" ").filter(Boolean).map(Number));
  if (shape.tagName === "text") {
    context.font = `${get("font-weight") ?? 400} ${get("font-size")}px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = get("text-anchor") === "end" ? "right" : "left";
    context.fillStyle = get("fill");
    context.fillText(shape.textContent, ...numbers("x", "y"));
  } else {
    const path = new Path2D(shape.tagName === "path" ? get("d") : shape.tagName === "polygon" ? `M${get("points").split(" ").join("L")}Z` : undefined);
    if (shape.tagName === "rect") path.roundRect(...numbers("x", "y", "width", "height", "rx"));
    if (get("fill") !== "none") {
      context.fillStyle = get("fill");
      context.fill(path);
    }
    if (get("stroke")) {
      context.strokeStyle = get("stroke");
      context.stroke(path);
    }
  }
  context.restore();
}
