// The window onto the network: pan, zoom, fit; and what a pointer does in it - click, drag a bar, a node or the paper.

const NEAREST = 3;
const FARTHEST = 0.03;
const FAR = 0.5; // below this scale states are too small to read, and only names and bars are shown
const CLICK = 5; // pixels that a hand may shake

class Window {
  constructor(drawing, element) {
    this.drawing = drawing;
    this.element = element;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.untouched = true; // fit again when the window changes its size
    element.append(drawing.world);
    new ResizeObserver(() => this.untouched && this.fit()).observe(element);
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  apply() {
    const { world } = this.drawing;
    world.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    world.classList.toggle("far", this.scale < FAR);
  }

  /** Show all of the network; a small one is not blown up. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const { left, top, right, bottom } = this.drawing.frame();
    const margin = Math.min(24, width / 20);
    const below = width < 500 ? 40 : 0; // the zoom buttons of a phone
    const scale = Math.min((width - 2 * margin) / (right - left), (height - below - 2 * margin) / (bottom - top), 1.25);
    this.scale = Math.max(scale, FARTHEST);
    this.x = (width - this.scale * (left + right)) / 2;
    this.y = (height - below - this.scale * (top + bottom)) / 2;
    this.untouched = true;
    this.apply();
  }

  /** Zoom by a factor; the point (px, py) of the window stays where it is. */
  zoom(factor, px = this.element.clientWidth / 2, py = this.element.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * factor, FARTHEST), NEAREST);
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
    this.untouched = false;
    this.apply();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.untouched = false;
    this.apply();
  }

  wheel(event) {
    const list = event.target.closest?.(".states");
    if (list && list.scrollHeight > list.clientHeight + 1 && !event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = this.element.getBoundingClientRect();
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) this.pan(-(event.deltaX || event.deltaY) * lines, 0);
    else this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - left, event.clientY - top);
  }

  /** Bring a node into view, at a scale at which it can be read. */
  show(i, readable = false) {
    const { x, y, width, height } = this.drawing.boxes[i];
    const { clientWidth, clientHeight } = this.element;
    if (readable && this.scale < 0.8) this.scale = 1;
    const [left, top] = [this.x + this.scale * x, this.y + this.scale * y];
    const [right, bottom] = [left + this.scale * width, top + this.scale * height];
    if (readable || left < 0 || top < 0 || right > clientWidth || bottom > clientHeight) {
      this.x = clientWidth / 2 - this.scale * (x + width / 2);
      this.y = clientHeight / 2 - this.scale * (y + height / 2);
      this.untouched = false;
    }
    this.apply();
  }
}

/** What the pointer is on: `{i, s, onTrack}` of a state, `{i}` of a node, or null on the paper. */
function placeOf(target) {
  const node = target.closest?.(".node");
  if (!node) return null;
  const row = target.closest(".state");
  const i = Number(node.dataset.variable);
  if (!row) return { i, onButton: target.closest(".more") !== null };
  return { i, s: Number(row.dataset.state), row, track: target.closest(".track") };
}

/** Clicks, drags, long presses and pinches in the window. */
class Pointers {
  constructor(store, drawing, view, actions) {
    Object.assign(this, { store, drawing, view, actions });
    this.down = new Map(); // pointers that touch
    this.gesture = null;
    const on = (name, handler) => view.element.addEventListener(name, handler);
    on("pointerdown", (event) => this.start(event));
    on("pointermove", (event) => this.moveTo(event));
    on("pointerup", (event) => this.end(event));
    on("pointercancel", (event) => this.end(event));
    on("click", (event) => this.click(event));
    on("contextmenu", (event) => this.menu(event));
    on("dblclick", (event) => this.doubleClick(event));
    on("pointerover", (event) => this.exactNumber(event.target.closest?.(".state")));
  }

  start(event) {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    this.down.set(event.pointerId, [event.clientX, event.clientY]);
    if (this.down.size === 2) {
      clearTimeout(this.press);
      this.finish();
      this.gesture = { kind: "pinch", ...this.pinch() };
      return;
    }
    const place = placeOf(event.target);
    if (place?.onButton) return;
    this.suppressed = false;
    this.gesture = { kind: "waiting", place, x: event.clientX, y: event.clientY, pointer: event.pointerId };
    clearTimeout(this.press);
    if (event.pointerType !== "mouse" && place) this.press = setTimeout(() => this.longPress(place), 500);
  }

  longPress(place) {
    const { x, y } = this.gesture ?? {};
    this.gesture = null;
    this.suppressed = true;
    this.actions.openMenu(place.i, place.s, x, y);
  }

  moveTo(event) {
    if (!this.down.has(event.pointerId)) return;
    const last = this.down.get(event.pointerId);
    this.down.set(event.pointerId, [event.clientX, event.clientY]);
    const { gesture } = this;
    if (!gesture) return;
    if (gesture.kind === "pinch") this.movePinch();
    else if (gesture.kind === "waiting") this.decide(event);
    else if (gesture.kind === "bar") this.dragBar(event);
    else if (gesture.kind === "node") this.dragNode(event);
    else if (gesture.kind === "pan") this.view.pan(event.clientX - last[0], event.clientY - last[1]);
  }

  /** A pointer that has moved far enough drags what it went down on. */
  decide(event) {
    const { gesture } = this;
    const [dx, dy] = [event.clientX - gesture.x, event.clientY - gesture.y];
    if (Math.hypot(dx, dy) < CLICK) return;
    clearTimeout(this.press);
    this.suppressed = true;
    this.view.element.setPointerCapture(gesture.pointer);
    const { place } = gesture;
    if (place?.track && Math.abs(dx) >= Math.abs(dy)) this.startBar(place, event);
    else if (place && place.s === undefined) {
      gesture.kind = "node";
      gesture.box = { ...this.drawing.boxes[place.i] };
      this.dragNode(event);
    } else {
      gesture.kind = "pan";
      this.view.element.classList.add("panning");
      this.view.pan(dx, dy);
    }
  }

  startBar(place, event) {
    const { store } = this;
    const { i, s } = place;
    const soft = store.softFinding(i);
    const known = findingOf(store.case, i);
    if (known && !soft) {
      this.gesture = null;
      this.actions.say([word(store.name(i)), " is known. Free it before you give it a likelihood."]);
      return;
    }
    const from = { weights: weightsOf(soft, store.nStates(i)), now: store.shown.marginals[i][s] };
    if (!store.result.possible || from.now <= 0 || from.now >= 1) {
      this.gesture = null;
      const why = store.result.possible ? (from.now <= 0 ? "impossible" : "certain") : null;
      this.actions.say(why ? [word(store.state(i, s)), ` is ${why} given the other findings: a likelihood cannot change it.`] : CONTRADICTORY);
      return;
    }
    Object.assign(this.gesture, { kind: "bar", from, rectangle: place.track.getBoundingClientRect() });
    place.row.classList.add("dragged");
    this.dragBar(event);
  }

  dragBar(event) {
    const { place, from, rectangle } = this.gesture;
    const wanted = (event.clientX - rectangle.left) / rectangle.width;
    this.gesture.finding = this.store.towards(place.i, place.s, wanted, from);
    if (this.painting) return;
    this.painting = requestAnimationFrame(() => this.applyBar());
  }

  applyBar() {
    cancelAnimationFrame(this.painting);
    this.painting = null;
    if (this.gesture?.kind !== "bar" || this.gesture.finding === undefined) return;
    this.store.setCase(withFinding(this.store.case, this.gesture.place.i, this.gesture.finding), false);
  }

  dragNode(event) {
    const { gesture, view } = this;
    const [dx, dy] = [event.clientX - gesture.x, event.clientY - gesture.y];
    this.drawing.move(gesture.place.i, gesture.box.x + dx / view.scale, gesture.box.y + dy / view.scale);
  }

  pinch() {
    const [[ax, ay], [bx, by]] = [...this.down.values()];
    return { x: (ax + bx) / 2, y: (ay + by) / 2, span: Math.hypot(ax - bx, ay - by) || 1 };
  }

  movePinch() {
    if (this.down.size < 2) return;
    const now = this.pinch();
    const { left, top } = this.view.element.getBoundingClientRect();
    this.view.pan(now.x - this.gesture.x, now.y - this.gesture.y);
    this.view.zoom(now.span / this.gesture.span, now.x - left, now.y - top);
    Object.assign(this.gesture, now);
    this.suppressed = true;
  }

  end(event) {
    clearTimeout(this.press);
    this.down.delete(event.pointerId);
    this.finish();
  }

  finish() {
    const { gesture } = this;
    if (gesture?.kind === "bar") {
      this.applyBar();
      gesture.place.row.classList.remove("dragged");
      this.gesture = null;
      this.store.endDrag();
      this.actions.announceFinding(gesture.place.i);
    }
    this.view.element.classList.remove("panning");
    this.gesture = null;
  }

  click(event) {
    if (this.suppressed) {
      this.suppressed = false;
      return;
    }
    const place = placeOf(event.target);
    if (!place) return;
    const { i, s } = place;
    if (place.onButton) {
      const { left, bottom } = event.target.closest(".more").getBoundingClientRect();
      this.actions.openMenu(i, undefined, left, bottom);
    } else if (s === undefined) this.actions.select(i);
    else {
      this.actions.focusState(i, s);
      if (event.shiftKey) this.actions.exclude(i, s);
      else if (event.ctrlKey || event.metaKey) this.actions.intervene(i, s);
      else this.actions.observe(i, s);
    }
  }

  menu(event) {
    const place = placeOf(event.target);
    if (!place) return;
    event.preventDefault();
    clearTimeout(this.press);
    this.gesture = null;
    this.actions.openMenu(place.i, place.s, event.clientX, event.clientY);
  }

  doubleClick(event) {
    const place = placeOf(event.target);
    if (!place) {
      const { left, top } = this.view.element.getBoundingClientRect();
      this.view.zoom(1.6, event.clientX - left, event.clientY - top);
    } else if (place.s === undefined && !place.onButton) this.actions.setTarget(place.i);
  }

  /** All digits of a probability, where the pointer rests on it. */
  exactNumber(row) {
    if (row) row.querySelector(".figure").title = formats.all.format(Number(row.dataset.p));
  }
}

const CONTRADICTORY = ["The findings contradict each other: free one of them first."];
