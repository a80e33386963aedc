// What can be done with a variable, whichever way it was asked for: by pointer, key, menu or list.

class Actions {
  constructor(store, drawing, view) {
    Object.assign(this, { store, drawing, view });
    this.live = make("div", { class: "unseen", "aria-live": "polite", role: "status" });
    this.toast = make("div", { class: "toast", hidden: true });
  }

  // ---- messages -------------------------------------------------------------------------------------------------------

  /** Read aloud by a screen reader. */
  announce(words) {
    this.live.textContent = words;
  }

  /** A message that is shown for some seconds, and read aloud. */
  say(parts, seconds = 5) {
    this.toast.replaceChildren(...parts);
    this.toast.hidden = false;
    clearTimeout(this.fading);
    this.fading = setTimeout(() => (this.toast.hidden = true), 1000 * seconds);
    this.announce(this.toast.textContent);
  }

  announceFinding(i) {
    const { store } = this;
    const finding = findingOf(store.case, i);
    const words = [finding ? findingText(store, i, finding) : `${plainWord(store.name(i))} is free`];
    if (store.contradiction) {
      words.push(`These findings contradict each other: ${joined(this.clashing(plainWord)).join("")}`);
    } else {
      words.push(`probability of the findings ${probability(store.result.logProbability)}`);
      if (store.target !== null && store.target !== i) words.push(this.targetWords());
    }
    this.announce(`${words.join(". ")}.`);
    if (store.contradiction && !this.panelShows?.("findings")) this.sayContradiction();
  }

  sayContradiction() {
    const parts = this.clashing();
    if (parts.length === 1) this.say([...parts, " is impossible in this network."], 8);
    else this.say(["These findings contradict each other: ", ...joined(parts), "."], 8);
  }

  targetWords() {
    const { store } = this;
    const marginal = [...store.shown.marginals[store.target]];
    const s = marginal.indexOf(Math.max(...marginal));
    return `${plainWord(store.name(store.target))}: ${plainWord(store.state(store.target, s))} ${percent(marginal[s])}`;
  }

  /** The findings that exclude each other, in words. */
  clashing(say = word) {
    const { store } = this;
    return store.contradiction.flatMap((i) => {
      const finding = findingOf(store.case, i);
      const words = finding ? findingWords(store, i, finding, say) : [say(store.name(i))];
      return say === word ? [make("span", {}, words)] : [words.join("")];
    });
  }

  // ---- findings -------------------------------------------------------------------------------------------------------

  observe(i, s) {
    this.store.observe(i, s);
    this.announceFinding(i);
  }

  exclude(i, s) {
    if (this.store.nStates(i) === 1) return;
    this.store.exclude(i, s);
    this.announceFinding(i);
  }

  intervene(i, s) {
    this.store.intervene(i, s);
    this.announceFinding(i);
  }

  free(i) {
    this.store.set(i, null);
    this.announceFinding(i);
  }

  /** A step towards or away from a state, by the keyboard. */
  nudge(i, s, step) {
    const { store } = this;
    const p = store.shown.marginals[i][s];
    const finding = findingOf(store.case, i);
    if ((finding && !store.softFinding(i)) || !store.result.possible || p <= 0 || p >= 1) return;
    const next = store.towards(i, s, p + step);
    store.set(i, next);
    this.announceFinding(i);
  }

  undo() {
    this.announceStep(this.store.past.length > 0, () => this.store.undo(), "undone");
  }

  redo() {
    this.announceStep(this.store.future.length > 0, () => this.store.redo(), "done again");
  }

  clear() {
    this.announceStep(true, () => this.store.clear(), "all findings cleared");
  }

  announceStep(possible, act, words) {
    if (!possible) return;
    act();
    this.announce(`${words}. ${plural(variablesWithFindings(this.store.case).length, "finding")}.`);
  }

  // ---- variables ------------------------------------------------------------------------------------------------------

  /** Choose a variable: its arcs stand out, and its table is shown; again: none. */
  select(i) {
    const next = this.store.selected === i ? null : i;
    this.store.select(next);
    if (next !== null && !document.body.classList.contains("no-panel")) this.showPanel("table");
  }

  setTarget(i) {
    const next = this.store.target === i ? null : i;
    this.store.setTarget(next);
    this.announce(next === null ? "no target" : `target ${plainWord(this.store.name(i))}`);
  }

  focusState(i, s) {
    this.focus?.(i, s);
  }

  /** Show a variable wherever it is, and put the focus on it. */
  goTo(i) {
    if (this.drawing.hidden.has(i)) this.store.setHiding(false);
    this.view.show(i, true);
    this.focusState(i, 0);
    this.store.select(i);
  }

  // ---- the menu of a variable -----------------------------------------------------------------------------------------

  openMenu(i, s, x, y) {
    const { store } = this;
    const finding = findingOf(store.case, i);
    const item = (words, sign, act) => button(words, sign, () => this.closeMenu(act), { role: "menuitem", tabindex: -1 });
    const entries = [];
    const ofState = (state) => {
      const row = make("div", { class: "menu-state", role: "group", "aria-label": plainWord(store.state(i, state)) });
      const name = word(store.state(i, state), "menu-name");
      const act = (words, sign, pressed, run) =>
        button(words, sign, () => this.closeMenu(run), {
          role: "menuitemcheckbox", "aria-checked": String(pressed), tabindex: -1,
          description: `${words}: ${plainWord(store.state(i, state))}`,
        });
      const kind = rowKind(finding, state, -1);
      row.append(
        name,
        act("observe", "check", kind === "observed", () => this.observe(i, state)),
        act("exclude", "cross", kind === "excluded", () => this.exclude(i, state)),
        act("do", "does", kind === "done", () => this.intervene(i, state)),
      );
      return row;
    };
    const states = s === undefined ? store.model.variables[i].states.map((_, k) => k) : [s];
    const menu = make("div", { class: "menu", role: "menu", "aria-label": `What to do with ${plainWord(store.name(i))}` });
    entries.push(word(store.name(i), "menu-title"), make("div", { class: "menu-states" }, states.map(ofState)));
    entries.push(item("Likelihood…", "scale", () => this.openLikelihood(i)));
    if (finding) entries.push(item("Free this variable", "clear", () => this.free(i)));
    entries.push(
      item(store.target === i ? "No longer the target" : "Make it the target", "target", () => this.setTarget(i)),
      item("Show its table", "panel", () => {
        store.select(i);
        this.showPanel?.("table");
      }),
    );
    menu.append(...entries);
    this.placeMenu(menu, x, y);
  }

  placeMenu(menu, x, y) {
    this.closeMenu(null, false);
    this.menu = menu;
    this.beforeMenu = document.activeElement;
    document.body.append(menu);
    const { width, height } = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, window.innerHeight - height - 4))}px`;
    menu.addEventListener("keydown", (event) => this.menuKey(event));
    menu.addEventListener("contextmenu", (event) => event.preventDefault());
    const outside = (event) => menu.contains(event.target) || this.closeMenu(null, false);
    setTimeout(() => document.addEventListener("pointerdown", outside, true));
    this.endMenu = () => document.removeEventListener("pointerdown", outside, true);
    menu.querySelector("button").focus();
  }

  menuKey(event) {
    const buttons = [...this.menu.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const below = buttons.findIndex((item) => !item.closest(".menu-state")); // the first below the rows of three
    const down = at < below ? Math.min(at + 3, below) - at : 1;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: down, ArrowUp: at < below && at >= 3 ? -3 : -1 };
    if (event.key === "Escape" || event.key === "Tab") this.closeMenu();
    else if (event.key === "Home") buttons[0].focus();
    else if (event.key === "End") buttons[buttons.length - 1].focus();
    else if (event.key in steps) buttons[(at + steps[event.key] + buttons.length) % buttons.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  closeMenu(act = null, focus = true) {
    if (this.menu) {
      this.endMenu();
      this.menu.remove();
      this.menu = null;
      if (focus) this.beforeMenu?.focus({ preventScroll: true });
    }
    act?.();
  }

  // ---- dialogs --------------------------------------------------------------------------------------------------------

  /** A dialog with a title, a body and buttons; it is gone when it is closed. */
  openDialog(title, body, buttons = [], className = "") {
    const close = button("", "close", () => dialog.close(), { class: "plain", description: "Close" });
    const heading = make("h2", { id: "dialog-title" }, title);
    const head = make("div", { class: "dialog-head" }, heading, close);
    const foot = make("div", { class: "dialog-foot" }, buttons);
    const dialog = make("dialog", { class: className, "aria-labelledby": "dialog-title" }, head, make("div", { class: "dialog-body" }, body), foot);
    const before = document.activeElement;
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.({ preventScroll: true });
    });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
  }

  /** Likelihoods as numbers: how probable what was seen is in each state. */
  openLikelihood(i) {
    const { store } = this;
    const weights = weightsOf(store.softFinding(i), store.nStates(i));
    const inputs = weights.map((w, s) =>
      make("input", { type: "number", min: 0, step: "any", value: w, inputmode: "decimal", id: `likelihood-${s}` }),
    );
    const rows = inputs.map((input, s) => {
      const label = make("label", { for: input.id }, word(store.state(i, s)));
      return make("div", { class: "field" }, label, input);
    });
    const problem = make("p", { class: "problem", role: "alert" });
    const apply = () => {
      const values = inputs.map((input) => (input.value.trim() === "" ? NaN : Number(input.value)));
      const wrong = values.findIndex((v) => !(v >= 0 && v < Infinity));
      if (wrong >= 0) {
        problem.replaceChildren("The likelihood of ", word(store.state(i, wrong)), " has to be a number of at least 0.");
        inputs[wrong].focus();
      } else if (!values.some((v) => v > 0)) problem.replaceChildren("One of the likelihoods has to be more than 0.");
      else {
        dialog.close();
        store.set(i, findingFromWeights(values));
        this.announceFinding(i);
      }
    };
    const form = make("form", { novalidate: true, onsubmit: (event) => (event.preventDefault(), apply()) },
      make("p", {}, "How probable is what was seen, in each state? Only the ratios matter; equal numbers say nothing."),
      rows, problem, make("button", { type: "submit", class: "main" }, "Set the likelihood"));
    const dialog = this.openDialog(["Likelihood of ", word(store.name(i))], form);
    inputs[0].focus();
    inputs[0].select();
  }

  /** Text to be copied: it is put on the clipboard, and shown in case that is not allowed. */
  async openText(title, text, explanation) {
    const area = make("textarea", { readonly: true, rows: Math.min(18, text.split("\n").length + 1), spellcheck: "false", "aria-label": title });
    area.value = text;
    const done = make("p", { role: "status", class: "done" });
    const copy = async () => {
      area.select();
      done.textContent = (await copied(text, area)) ? "Copied to the clipboard." : "Press Ctrl+C to copy it.";
    };
    this.openDialog(title, [make("p", {}, explanation), area, done], [button("Copy", "check", copy, { class: "main" })], "wide");
    await copy();
  }
}

/** Put text on the clipboard; whether that was possible. */
async function copied(text, area) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    area.select();
    try {
      return document.execCommand("copy");
    } catch {
      return false;
    }
  }
}
