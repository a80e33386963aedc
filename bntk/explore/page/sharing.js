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
  const { head, row, rows: most } = store.model.layout.box;
  const isTarget = store.target === i;
  const edge = finding ? (finding.kind === "intervened" ? colours.done : colours.observed) : isTarget ? colours.target : colours.line;
  const group = make("svg:g", {});
  const frame = (inset, more) => make("svg:rect", { x: box.x + inset, y: box.y + inset, width: box.width - 2 * inset, height: box.height - 2 * inset, stroke: edge, ...more });
  const soft = finding?.kind === "likelihood" || finding?.kind === "excluded";
  group.append(frame(0, { rx: 8, fill: colours.card, "stroke-width": finding || isTarget ? 2 : 1, "stroke-dasharray": soft ? "5 3" : null }));
  if (finding?.kind === "intervened") group.append(frame(3.5, { rx: 5, fill: "none", "stroke-width": 1 }));
  const badge = finding ? BADGES[finding.kind] : isTarget ? "target" : "";
  context.font = `10px ${FONT}`;
  const room = box.width - 20 - (badge ? context.measureText(badge).width + 8 : 0);
  const name = fitted(visible(store.name(i)), room, `600 13px ${FONT}`, context);
  const middle = box.y + head / 2;
  group.append(pictureText(box.x + 10, middle, 13, name, { fill: colours.ink, "font-weight": 600 }));
  group.append(pictureText(box.x + box.width - 8, middle, 10, badge, { fill: edge, "text-anchor": "end" }));
  drawing.nodes[i].rows.forEach((painted, s) => {
    const y = box.y + head + row * (s + 0.5);
    if (s < most) group.append(...pictureOfRow(drawing, painted, visible(store.state(i, s)), box, y, colours, context));
    else if (s === most) group.append(pictureText(box.x + 18, y, 11.5, "…", { fill: colours.muted }));
  });
  return group;
}

const pictureText = (x, y, size, content, more) => make("svg:text", { x, y, "font-size": size, "dominant-baseline": "central", ...more }, content);

/** A state: its sign, its name, its bar or bars, its number or numbers, where the page has them. */
function pictureOfRow(drawing, painted, name, box, y, colours, context) {
  const { kind, p, otherP } = painted;
  const bold = kind === "observed" || kind === "done" || kind === "best" ? 600 : null;
  const right = box.x + box.width - 8;
  const [width, numbers] = drawing.compared ? [34, 78] : [62, 46];
  const left = right - numbers - width;
  const label = fitted(name, left - box.x - 22, `${bold ?? 400} 11.5px ${FONT}`, context);
  const colour = kind === "observed" ? colours.observed : kind === "done" ? colours.done : colours.bar;
  const rect = (dy, height, share, more) => make("svg:rect", { x: left, y: y + dy, width: width * share, height, ...more });
  const text = (x, size, content, more = {}) => pictureText(x, y, size, content, { fill: colours.ink, ...more });
  const number = { "text-anchor": "end" };
  const shapes = [
    text(box.x + 5, 10, { observed: "✓", excluded: "✕", done: "→", best: "★" }[kind] ?? ""),
    text(box.x + 18, 11.5, label, { "font-weight": bold, fill: kind === "excluded" ? colours.muted : colours.ink }),
    rect(-5, 10, 1, { fill: colours.track }),
  ];
  if (!drawing.compared) return [...shapes, rect(-5, 10, p, { fill: colour }), text(right, 11, percent(p), number)];
  const second = otherP === null ? "–" : percent(otherP);
  shapes.push(rect(-5, 5, p, { fill: colour }), rect(0.5, 4.5, otherP ?? 0, { fill: colours.track, stroke: colours.second }));
  return [...shapes, text(right - 40, 10, percent(p), number), text(right, 10, second, { ...number, fill: colours.second })];
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
