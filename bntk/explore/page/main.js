// The page: a bar of commands, the network, the panels; and what happens when something changes.

/** Build the page inside of `root`; `setCase` of what it returns shows other findings, as if a person had entered them. */
function mountExplorer(root, model, engine, options = {}) {
  const store = new Store(model, engine);
  const first = startingCase(store, options);
  const drawing = new Drawing(store, placesOf(model));
  const paper = make("div", { class: "paper", "aria-label": "Network", role: "application", "aria-describedby": "how" });
  const view = new Window(drawing, paper);
  const actions = new Actions(store, drawing, view);
  const panels = new Panels(store, drawing, actions);
  const page = { model, engine, store, drawing, paper, view, actions, panels, options, told: store.case };
  sizesOf(model.layout.box);
  new Pointers(store, drawing, view, actions);
  page.commands = commandsOf(page);
  page.toolbar = toolbarOf(page);
  page.keyboard = new Keyboard(store, drawing, view, actions, page.commands);
  paper.append(zoomButtons(page), actions.toast);
  const how = make("p", { class: "unseen", id: "how" }, "Arrow keys move between states and variables, Enter observes a state, question mark opens the help.");
  root.append(page.toolbar.element, make("main", { class: "content" }, paper, panels.element), actions.live, how);
  actions.showPanel = panels.show = (name) => {
    togglePanel(page, true);
    panels.open(name);
  };
  actions.panelShows = (name) => panels.openName === name && !document.body.classList.contains("no-panel");
  if (options.embedded && window.innerWidth <= 760) togglePanel(page, false); // a frame has less room than a phone
  listen(page);
  paintAll(page, "start");
  view.fit();
  acceptFiles(page);
  if (first.length) complain(actions, first);
  return { setCase: (given) => showFromOutside(page, given) };
}

/** A case of the program around the page, which knows it already. */
function showFromOutside(page, given) {
  page.told = withOneFindingEach(page.engine.checkedCase(given).case, page.model);
  page.store.setCase(page.told);
}

/** Rows of the nodes are as high as the layout assumed. */
function sizesOf(box) {
  const { style } = document.documentElement;
  for (const key of ["head", "row", "pad"]) style.setProperty(`--${key}`, `${box[key]}px`);
}

/** The case of the model, or that of the link by which the page was opened; what is wrong with the link. */
function startingCase(store, options) {
  if (options.case) store.solve(withOneFindingEach(options.case, store.model));
  if (location.hash.length < 2) return [];
  const read = readFragment(store, location.hash);
  store.solve(read.case);
  return read.problems;
}

function complain(actions, problems) {
  const more = problems.length > 3 ? ` And ${plural(problems.length - 3, "more problem")}.` : "";
  actions.say([make("bdi", {}, `In the link: ${problems.slice(0, 3).join(" ")}${more}`)], 12);
}

// ---- commands ---------------------------------------------------------------------------------------------------------

function commandsOf(page) {
  const { store, actions, view, panels } = page;
  const explain = () => {
    store.setExplaining(!store.explaining);
    const words = store.explanation ? `shown, probability ${probability(store.explanation.logProbability)}` : "off";
    actions.announce(`most probable explanation ${words}`);
  };
  const hide = () => {
    if (store.target === null) {
      actions.showPanel("target");
      actions.say(["Choose a target first: what is irrelevant to it can then be hidden."]);
      return;
    }
    store.setHiding(!store.hiding);
    view.fit();
    actions.announce(store.hiding ? `${plural(page.drawing.hidden.size, "irrelevant variable")} hidden` : "all variables shown");
  };
  const beside = () => {
    if (store.other) store.compareWith(null);
    else {
      store.compareWith({ name: "the case before", case: store.case });
      actions.say(["Two cases: this one goes on, the other stays as it is now, below it and hatched."]);
    }
  };
  const commands = {
    explain, hide, beside,
    undo: () => actions.undo(),
    redo: () => actions.redo(),
    clear: () => actions.clear(),
    save: () => panels.saveCase(),
    help: () => openHelp(actions),
    search: () => page.toolbar.search.focus(),
    fit: () => view.fit(),
    link: () => shareLink(page),
    python: () => actions.openText("This case as Python", engineCode(page), "With the network in the variable bn:"),
    svg: () => download(fileName(page.model.title, "svg"), svgText(page.drawing, store), "image/svg+xml"),
    png: async () => download(fileName(page.model.title, "png"), await pngOf(page.drawing, store)),
    theme: () => nextTheme(actions),
  };
  commands.keys = {
    "/": commands.search, "?": commands.help, e: explain, h: hide, b: beside, s: commands.save, n: () => page.keyboard.focus(...page.keyboard.at),
    "+": () => view.zoom(1.25), "=": () => view.zoom(1.25), "-": () => view.zoom(0.8), "0": commands.fit,
    Escape: () => actions.closeMenu(),
  };
  ["findings", "target", "table", "cases"].forEach((name, k) => {
    commands.keys[String(k + 1)] = () => {
      actions.showPanel(name);
      panels.tabs[name].focus();
    };
  });
  return commands;
}

const engineCode = ({ engine, store }) => engine.python(store.case, store.target);

function shareLink(page) {
  writeFragment(page);
  const address = location.href.split("#")[0];
  const fragment = fragmentOf(page.store);
  page.actions.openText("A link to this case", fragment ? `${address}#${fragment}` : address,
    "Who has this file at the same place sees the same case; the part behind # can also be put behind the address of a copy.");
}

/** Keep the case in the address, so that a reload or a copied address shows it; not every frame has one. */
function writeFragment(page) {
  const fragment = fragmentOf(page.store);
  if (fragment === page.fragment) return;
  page.fragment = fragment;
  try {
    history.replaceState(null, "", fragment ? `#${fragment}` : location.href.split("#")[0]);
  } catch {
    // a page without an address of its own
  }
}

/** Auto, light, dark: as the system wants, or as the reader does. */
function nextTheme(actions) {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const now = root.dataset.theme ?? system;
  root.dataset.theme = now === "dark" ? "light" : "dark";
  actions.announce(`${root.dataset.theme} colours`);
}

// ---- the bar above ----------------------------------------------------------------------------------------------------

function toolbarOf(page) {
  const { model, commands } = page;
  const buttons = {
    undo: button("", "undo", commands.undo, { description: "Undo (Ctrl+Z)" }),
    redo: button("", "redo", commands.redo, { description: "Redo (Ctrl+Y)" }),
    clear: button("Clear", "clear", commands.clear, { description: "Clear all findings (Shift+Delete)" }),
    explain: button("Explanation", "star", commands.explain, { description: "Most probable explanation (E)", "aria-pressed": "false" }),
    hide: button("Relevant only", "eye", commands.hide, { description: "Hide what is irrelevant to the target, given what is known (H)", "aria-pressed": "false" }),
    beside: button("Two cases", "compare", commands.beside, { description: "Put this case beside itself, and go on with one of the two (B)", "aria-pressed": "false" }),
    share: button("Share", "save", () => openShare(page), { description: "Copy a link or Python, save a picture", "aria-haspopup": "menu" }),
    theme: button("", "theme", commands.theme, { description: "Light or dark" }),
    help: button("", "help", commands.help, { description: "Help (?)" }),
    panel: button("", "panel", () => togglePanel(page), { description: "Show or hide the panels", "aria-pressed": "true" }),
  };
  const search = searchField(page);
  const title = make("h1", {}, model.title || "Bayesian network");
  const group = (words, ...names) => make("div", { class: "group", role: "group", "aria-label": words }, names.map((name) => buttons[name]));
  const element = make("header", { class: "toolbar" }, title, search.element,
    group("Findings", "undo", "redo", "clear"), group("View", "explain", "hide", "beside"),
    make("div", { class: "group figure-group" }, search.figure), group("Page", "share", "theme", "help", "panel"));
  return { element, buttons, search: search.input, figure: search.figure };
}

function zoomButtons({ view, commands }) {
  return make("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("", "plus", () => view.zoom(1.25), { description: "Zoom in (+)" }),
    button("", "minus", () => view.zoom(0.8), { description: "Zoom out (-)" }),
    button("", "fit", commands.fit, { description: "Fit to the window (0)" }));
}

function openShare(page) {
  const { actions, commands } = page;
  const item = (words, sign, act) => button(words, sign, () => actions.closeMenu(act), { role: "menuitem", tabindex: -1 });
  const menu = make("div", { class: "menu", role: "menu", "aria-label": "Share" },
    item("Copy a link to this case", "compare", commands.link), item("Copy this case as Python", "panel", commands.python),
    item("Save the picture as SVG", "save", commands.svg), item("Save the picture as PNG", "save", commands.png));
  const { left, bottom } = page.toolbar.buttons.share.getBoundingClientRect();
  actions.placeMenu(menu, left, bottom + 4);
}

/** A field that finds variables by their names: the list below it is walked by arrows. */
function searchField(page) {
  const { store, actions } = page;
  const list = make("ul", { class: "found", role: "listbox", id: "found", "aria-label": "Variables", hidden: true });
  const input = make("input", {
    type: "search", placeholder: "Search a variable", role: "combobox", "aria-label": "Search a variable (/)", "aria-expanded": "false",
    "aria-controls": "found", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false",
  });
  let hits = [];
  let at = 0;
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const choose = (k) => {
    const i = hits[k];
    if (i === undefined) return;
    close();
    input.value = "";
    actions.goTo(i);
  };
  const mark = () => {
    [...list.children].forEach((item, k) => setAttribute(item, "aria-selected", String(k === at)));
    setAttribute(input, "aria-activedescendant", hits.length ? `found-${at}` : null);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    list.hidden = true;
    setAttribute(input, "aria-expanded", "false");
    setAttribute(input, "aria-activedescendant", null);
  };
  const find = () => {
    const sought = fold(input.value.trim());
    if (sought === "") return close();
    const place = (name) => fold(name).indexOf(sought);
    hits = store.model.variables.map((_, i) => i).filter((i) => place(store.name(i)) >= 0);
    hits.sort((a, b) => place(store.name(a)) - place(store.name(b)) || store.name(a).length - store.name(b).length || a - b);
    hits = hits.slice(0, 30);
    at = 0;
    const item = (i, k) => make("li", { role: "option", id: `found-${k}`, onpointerdown: (event) => (event.preventDefault(), choose(k)) }, word(store.name(i)));
    list.replaceChildren(...(hits.length ? hits.map(item) : [make("li", { class: "muted" }, "No variable has this in its name.")]));
    list.hidden = false;
    setAttribute(input, "aria-expanded", "true");
    mark();
  };
  input.addEventListener("input", find);
  input.addEventListener("focus", find);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(at);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + hits.length) % Math.max(hits.length, 1);
      mark();
      event.preventDefault();
    } else if (event.key === "Escape") {
      input.value = "";
      close();
    }
  });
  const figure = make("output", { class: "probability", title: "The probability of the findings" });
  return { element: make("div", { class: "search" }, icon("search"), input, list), input, figure };
}

// ---- what happens when something changes ----------------------------------------------------------------------------------

function listen(page) {
  const { store, actions } = page;
  store.onChange((what) => paintAll(page, what));
  window.addEventListener("hashchange", () => {
    const read = readFragment(store, location.hash);
    page.fragment = null;
    store.setCase(read.case);
    paintAll(page, "target");
    if (read.problems.length) complain(actions, read.problems);
  });
  window.addEventListener("keydown", (event) => event.key === "Escape" && actions.closeMenu());
}

/** The network at once; the panel, which may cost more, right after it. */
function paintAll(page, what) {
  const { drawing, panels, store } = page;
  drawing.paint();
  if (page.toolbar) paintToolbar(page);
  tellOutside(page);
  clearTimeout(page.later);
  page.later = setTimeout(() => {
    panels.paint();
    if (what !== "drag" && what !== "start") writeFragment(page);
  }, what === "drag" ? 120 : 0);
}

/** Tell the program around the page of other findings, once for each change. */
function tellOutside(page) {
  const { store, options } = page;
  if (store.case === page.told || store.beforeDrag) return;
  if (!sameCase(store.case, page.told)) options.onCase?.(store.case);
  page.told = store.case;
}

function paintToolbar({ store, toolbar }) {
  const { buttons } = toolbar;
  const clean = variablesWithFindings(store.case).length === 0;
  buttons.undo.disabled = store.past.length === 0;
  buttons.redo.disabled = store.future.length === 0;
  buttons.clear.disabled = clean;
  setAttribute(buttons.explain, "aria-pressed", String(store.explaining));
  setAttribute(buttons.hide, "aria-pressed", String(store.hiding));
  setAttribute(buttons.beside, "aria-pressed", String(store.other !== null));
  const logP = store.result.possible ? store.result.logProbability : -Infinity;
  toolbar.figure.dataset.logProbability = String(logP);
  setText(toolbar.figure, store.result.possible ? (clean ? "no findings" : `P(findings) = ${probability(logP)}`) : "contradiction");
  toolbar.figure.classList.toggle("problem", !store.result.possible);
}

function togglePanel(page, open = document.body.classList.contains("no-panel")) {
  document.body.classList.toggle("no-panel", !open);
  setAttribute(page.toolbar.buttons.panel, "aria-pressed", String(open));
}

/** CSV files that are dropped anywhere on the page. */
function acceptFiles({ panels }) {
  const { classList } = document.body;
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  window.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    classList.add("dropping");
  });
  window.addEventListener("dragleave", (event) => event.relatedTarget || classList.remove("dropping"));
  window.addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    classList.remove("dropping");
    panels.readFiles([...event.dataTransfer.files]);
  });
}
