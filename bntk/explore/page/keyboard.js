// The keyboard: one stop of Tab for the network, arrows between states and nodes, and a key for everything else.

const HELP = [
  ["In the network", [
    ["Arrows", "to the next state, or the next variable in that direction"],
    ["Home, End", "to the first and the last variable"],
    ["P, C", "to a parent, to a child"],
    ["Enter or Space", "observe the state; again: free"],
    ["Shift+Enter or X", "exclude the state; again: not excluded"],
    ["Ctrl+Enter or D", "set the state by an intervention (do)"],
    ["[ and ]", "likelihood: less or more of the state"],
    ["L", "likelihoods as numbers"],
    ["Delete", "free the variable"],
    ["T", "make the variable the target"],
    ["I", "show the table of the variable"],
    ["M", "menu of the variable"],
    ["Alt+arrows", "move the node"],
    ["Shift+arrows", "move the paper"],
  ]],
  ["Everywhere", [
    ["Ctrl+Z, Ctrl+Y", "undo, redo"],
    ["N", "to the network"],
    ["/", "search a variable"],
    ["E", "most probable explanation"],
    ["H", "hide what is irrelevant to the target"],
    ["B", "put this case beside itself, and go on with one of the two"],
    ["S", "save the case"],
    ["1 2 3 4", "panels: findings, target, table, cases"],
    ["+, -, 0", "zoom in, zoom out, fit to the window"],
    ["Shift+Delete", "clear all findings"],
    ["?", "this help"],
    ["Esc", "close, or leave a field"],
  ]],
  ["With a pointer", [
    ["Click a state", "observe it; again: free"],
    ["Shift-click", "exclude it"],
    ["Ctrl-click", "set it by an intervention (do)"],
    ["Drag a bar", "likelihood: the bar follows the pointer"],
    ["Right-click, long press or …", "menu, with all of these for touch"],
    ["Click a name", "its table; twice: make it the target"],
    ["Drag a name, the paper", "move the node, the paper"],
    ["Wheel, two fingers", "zoom"],
  ]],
];

class Keyboard {
  constructor(store, drawing, view, actions, commands) {
    Object.assign(this, { store, drawing, view, actions, commands });
    this.at = null;
    this.settle(drawing.readingOrder[0] ?? 0, 0);
    actions.focus = (i, s) => this.focus(i, s);
    view.element.addEventListener("keydown", (event) => this.inNetwork(event));
    view.element.addEventListener("focusin", (event) => this.followed(event));
    document.addEventListener("keydown", (event) => this.anywhere(event));
  }

  row(i, s) {
    return this.drawing.nodes[i].rows[s].element;
  }

  /** Tab comes back to this state. */
  settle(i, s) {
    if (this.at) this.row(...this.at).tabIndex = -1;
    this.at = [i, s];
    this.row(i, s).tabIndex = 0;
  }

  focus(i, s) {
    this.settle(i, s);
    this.row(i, s).focus({ preventScroll: true });
  }

  /** The window shows what has the focus; the browser's own scrolling would move the page under it. */
  followed(event) {
    this.view.element.scrollTo(0, 0);
    const place = placeOf(event.target);
    if (place?.s === undefined) return;
    this.settle(place.i, place.s);
    if (event.target.matches(":focus-visible")) this.view.show(place.i);
    place.row.scrollIntoView?.({ block: "nearest", inline: "nearest" });
    this.view.element.scrollTo(0, 0);
  }

  /** The nearest variable in a direction: far to the side counts more than far away. */
  neighbour(i, dx, dy) {
    const [x, y] = centre(this.drawing.boxes[i]);
    let best = null;
    let least = Infinity;
    this.drawing.boxes.forEach((box, k) => {
      if (k === i || this.drawing.hidden.has(k)) return;
      const [u, v] = centre(box);
      const ahead = (u - x) * dx + (v - y) * dy;
      const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      if (ahead > 4 && ahead + 2.5 * aside < least) [best, least] = [k, ahead + 2.5 * aside];
    });
    return best;
  }

  arrow(dx, dy) {
    const [i, s] = this.at;
    const next = s + dy;
    if (dy !== 0 && next >= 0 && next < this.store.nStates(i)) return this.focus(i, next);
    const k = this.neighbour(i, dx, dy);
    if (k !== null) this.focus(k, dy < 0 ? this.store.nStates(k) - 1 : dy > 0 ? 0 : Math.min(s, this.store.nStates(k) - 1));
  }

  /** To the first of some variables, or from one of them to the next. */
  visit(variables) {
    const shown = variables.filter((v) => !this.drawing.hidden.has(v));
    if (shown.length) this.focus(shown[0], 0);
  }

  inNetwork(event) {
    if (!placeOf(event.target) || event.defaultPrevented) return;
    const [i, s] = this.at;
    const { actions, drawing, store } = this;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const control = event.ctrlKey || event.metaKey;
    if (move && event.altKey) drawing.move(i, drawing.boxes[i].x + 10 * move[0], drawing.boxes[i].y + 10 * move[1]);
    else if (move && event.shiftKey) this.view.pan(-40 * move[0], -40 * move[1]);
    else if (move) this.arrow(...move);
    else if (event.key === "Enter" || event.key === " ") {
      if (event.shiftKey) actions.exclude(i, s);
      else if (control) actions.intervene(i, s);
      else actions.observe(i, s);
    } else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) this.menu(i);
    else if (control || event.altKey) return;
    else if (!this.letter(event.key, i, s, event.shiftKey)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  letter(key, i, s, shift) {
    const { actions, drawing, store } = this;
    const { parents } = store.model;
    const acts = {
      Home: () => this.focus(this.shown()[0], 0),
      End: () => this.focus(this.shown().at(-1), 0),
      p: () => this.visit(parents[i]),
      c: () => this.visit(drawing.readingOrder.filter((v) => parents[v].includes(i))),
      x: () => actions.exclude(i, s),
      d: () => actions.intervene(i, s),
      "[": () => actions.nudge(i, s, -0.05),
      "]": () => actions.nudge(i, s, 0.05),
      l: () => actions.openLikelihood(i),
      t: () => actions.setTarget(i),
      i: () => (store.select(i), actions.showPanel("table")),
      m: () => this.menu(i),
    };
    acts.Backspace = () => actions.free(i);
    if (!shift) acts.Delete = acts.Backspace;
    const act = acts[key.length === 1 ? key.toLowerCase() : key];
    act?.();
    return act !== undefined;
  }

  shown() {
    return this.drawing.readingOrder.filter((v) => !this.drawing.hidden.has(v));
  }

  menu(i) {
    const { left, bottom } = this.row(...this.at).getBoundingClientRect();
    this.actions.openMenu(i, undefined, left, bottom);
  }

  anywhere(event) {
    if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
    const inField = event.target.closest?.("input, textarea, select");
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const { commands } = this;
    let act;
    if (control) act = inField ? null : { z: event.shiftKey ? commands.redo : commands.undo, y: commands.redo }[key];
    else if (inField) act = key === "Escape" ? () => event.target.blur() : null;
    else if (key === "Delete" && event.shiftKey) act = commands.clear;
    else act = commands.keys[key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

function openHelp(actions) {
  const section = ([title, entries]) => make("section", {}, make("h3", {}, title),
    make("dl", { class: "keys" }, entries.map(([keys, words]) => [make("dt", {}, keys), make("dd", {}, words)])));
  const signs = make("section", {}, make("h3", {}, "Signs"), make("dl", { class: "keys" }, [
    ["check", "observed"], ["cross", "excluded"], ["does", "set by an intervention: double border, and the arcs into it are dashed, as they no longer count"],
    ["star", "in the most probable explanation"], ["target", "the target"], ["warning", "contradicts other findings"],
  ].map(([sign, words]) => [make("dt", {}, icon(sign)), make("dd", {}, words)])));
  actions.openDialog("Help", make("div", { class: "help" }, HELP.map(section), signs), [], "wide");
}
