// The panels beside the network: findings, target, table of a variable, cases. Only the one that is open is computed.

const PAGE = 50; // rows of a long list that are shown at once
const MOST_ROWS = 200; // rows of a conditional probability table
const SLOW = 150; // milliseconds that an answer may cost before it is computed only when it is asked for

class Panels {
  constructor(store, drawing, actions) {
    Object.assign(this, { store, drawing, actions });
    this.page = 0;
    this.openName = "findings";
    this.problems = [];
    const names = { findings: "Findings", target: "Target", table: "Table", cases: "Cases" };
    this.tabs = {};
    this.bodies = {};
    for (const [name, title] of Object.entries(names)) {
      const attributes = { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.open(name) };
      this.tabs[name] = make("button", attributes, title);
      this.bodies[name] = make("div", { class: "body", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: -1 });
    }
    this.list = make("div", { class: "tabs", role: "tablist", "aria-label": "Panels", onkeydown: (event) => this.tabKey(event) }, Object.values(this.tabs));
    this.element = make("aside", { class: "panel", "aria-label": "Findings, target, table and cases" }, this.list, Object.values(this.bodies));
    this.file = make("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", hidden: true, "aria-label": "CSV file with cases" });
    this.file.addEventListener("change", () => {
      this.readFiles([...this.file.files]);
      this.file.value = "";
    });
    this.element.append(this.file);
    this.open("findings");
  }

  open(name) {
    this.openName = name;
    for (const [key, tab] of Object.entries(this.tabs)) {
      setAttribute(tab, "aria-selected", String(key === name));
      setAttribute(tab, "tabindex", key === name ? "0" : "-1");
      this.bodies[key].hidden = key !== name;
    }
    this.paint();
  }

  tabKey(event) {
    const names = Object.keys(this.tabs);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.open(names[(names.indexOf(this.openName) + step + names.length) % names.length]);
    this.tabs[this.openName].focus();
  }

  /** Paint the open panel; the button that has the focus is found again in what replaces it. */
  paint() {
    const focused = this.element.contains(document.activeElement) ? document.activeElement.dataset?.key : null;
    const content = { findings: () => this.findings(), target: () => this.targetPanel(), table: () => this.table(), cases: () => this.cases() };
    const body = this.bodies[this.openName];
    const top = body.scrollTop;
    body.replaceChildren(...content[this.openName]().filter(Boolean));
    body.scrollTop = top;
    const count = variablesWithFindings(this.store.case).length;
    setText(this.tabs.findings, count ? `Findings (${formats.count.format(count)})` : "Findings");
    setText(this.tabs.cases, this.store.saved.length ? `Cases (${formats.count.format(this.store.saved.length)})` : "Cases");
    if (focused) (body.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? body).focus({ preventScroll: true });
  }

  // ---- findings -------------------------------------------------------------------------------------------------------

  findings() {
    const { store } = this;
    const found = variablesWithFindings(store.case);
    return [
      this.contradictionNote(),
      this.figures(found),
      found.length
        ? make("ul", { class: "list", "aria-label": "Findings" }, found.map((i) => this.findingItem(i)))
        : make("p", { class: "hint" }, "Nothing is known yet. Click a state to observe it; shift-click excludes it, ctrl-click sets it (do), and dragging a bar gives a likelihood. Right-click or hold a finger on a variable for a menu."),
      this.explanationNote(),
      this.comparedNote(),
    ];
  }

  contradictionNote() {
    const { store, actions } = this;
    if (!store.contradiction) return null;
    const parts = actions.clashing();
    const what = parts.length === 1 ? "This finding is impossible in this network: " : "These findings contradict each other: ";
    const more = parts.length === 1 ? "." : ` cannot ${parts.length === 2 ? "both" : "all"} hold.`;
    return make("div", { class: "note problem", role: "alert" }, icon("warning"),
      make("p", {}, what, ...joined(parts), more, " The bars show what held before. Free one of them, or undo."));
  }

  figures(found) {
    const { store } = this;
    const possible = store.result.possible;
    const logP = possible ? store.result.logProbability : -Infinity;
    const row = (term, value, attributes = {}) => [make("dt", {}, term), make("dd", attributes, value)];
    const parts = row("Probability of the findings", probability(logP), { "data-log-probability": String(logP), class: "probability" });
    if (possible && found.length > 1) {
      const { conflict } = store.once("conflict", () => store.engine.conflict(store.case));
      if (conflict !== null) {
        const words = conflict > 1e-9 ? "the findings disagree" : conflict < -1e-9 ? "the findings support each other" : "the findings say nothing about each other";
        parts.push(...row("Conflict", [`${number(Math.abs(conflict) < 1e-9 ? 0 : conflict)} `, make("span", { class: "muted" }, words)], {
          "data-conflict": String(conflict), class: "conflict",
          title: "sum of log P(finding) - log P(all findings), after Jensen: above 0, findings disagree",
        }));
      }
    }
    return make("dl", { class: "figures" }, parts);
  }

  findingItem(i) {
    const { store, actions } = this;
    const finding = findingOf(store.case, i);
    const clash = store.contradiction?.includes(i);
    const words = make("button", { type: "button", class: "link", "data-key": `go ${i}`, onclick: () => actions.goTo(i) }, findingWords(store, i, finding));
    const sign = { observed: "check", intervened: "does", excluded: "cross", likelihood: "scale" }[finding.kind];
    const free = button("", "close", () => actions.free(i), { class: "plain", "data-key": `free ${i}`, description: `Free ${plainWord(store.name(i))}` });
    return make("li", { class: clash ? "clash" : null, "data-variable": i, "data-kind": finding.kind }, icon(clash ? "warning" : sign), words, free);
  }

  explanationNote() {
    const { explanation } = this.store;
    if (!explanation) return null;
    const p = probability(explanation.logProbability);
    return make("div", { class: "note", "data-mpe": String(explanation.logProbability) }, icon("star"),
      make("p", {}, `Most probable explanation: the states with a star together have probability ${p} given the findings.`));
  }

  comparedNote() {
    const { store, actions } = this;
    if (!store.other) return null;
    const logP = store.other.result.possible ? store.other.result.logProbability : -Infinity;
    const found = variablesWithFindings(store.other.case);
    const list = found.length ? joined(found.map((i) => make("span", {}, findingWords(store, i, findingOf(store.other.case, i))))) : ["no findings"];
    return make("section", { class: "compared", "aria-label": "The case beside this one" },
      make("h3", {}, "Two cases"),
      make("p", {}, make("span", { class: "swatch" }), "above: this case"),
      make("p", {}, make("span", { class: "swatch other" }), "below, hatched: ", word(store.other.name), ": ", ...list),
      make("p", { "data-other-log-probability": String(logP) }, `Probability of its findings ${probability(logP)}`),
      make("div", { class: "row" },
        button("Swap", "compare", () => store.swap(), { "data-key": "swap" }),
        button("End", "close", () => (store.compareWith(null), actions.announce("one case")), { "data-key": "end" })));
  }

  // ---- target ---------------------------------------------------------------------------------------------------------

  targetPanel() {
    const { store } = this;
    const options = store.model.variables.map((v, i) => make("option", { value: i, selected: i === store.target }, visible(v.name)));
    const select = make("select", { id: "target", "data-key": "target", onchange: (event) => store.setTarget(event.target.value === "" ? null : Number(event.target.value)) },
      make("option", { value: "", selected: store.target === null }, "none"), options);
    const choice = make("div", { class: "field" }, make("label", { for: "target" }, "Target"), select);
    if (store.target === null) return [choice, make("p", { class: "hint" }, "Choose the variable that you want to know: then you see which finding moved it how much, and which observation would tell most next.")];
    if (!store.result.possible) return [choice, this.contradictionNote()];
    return [choice, this.posteriorOfTarget(), ...this.influence(), ...this.information()];
  }

  posteriorOfTarget() {
    const { store } = this;
    const marginal = store.shown.marginals[store.target];
    const rows = [...marginal].map((p, s) => [p, s]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 12);
    return make("div", { class: "meters" }, rows.map(([p, s]) => this.meter([word(store.state(store.target, s))], p, percent(p), { "data-p": String(p) })));
  }

  /** A line with words, a bar and a number. */
  meter(words, share, text, attributes = {}) {
    const bar = make("span", { class: "bar" });
    bar.style.transform = `scaleX(${Math.max(0, Math.min(1, share))})`;
    return make("div", { class: "meter", ...attributes }, make("span", { class: "label" }, words), make("span", { class: "track" }, bar), make("span", { class: "figure" }, text));
  }

  influence() {
    const { store, actions } = this;
    const effects = store.once(`influence ${store.target}`, () => store.engine.influence(store.case, store.target));
    const heading = make("h3", {}, "What moved it");
    if (effects.length === 0) return [heading, make("p", { class: "hint" }, "No finding yet.")];
    const items = effects.filter(({ variable }) => variable !== store.target || effects.length === 1).map((effect) => {
      const words = findingWords(store, effect.variable, findingOf(store.case, effect.variable));
      const title = "the largest change of a probability of the target by this finding, given the others";
      const [s, change] = this.largestChange(effect);
      const moved = [make("span", { class: "muted" }, word(store.state(store.target, s)), " "), formats.signed.format(change)];
      const text = change === null ? ["impossible without it"] : Math.abs(change) < 0.0005 ? ["no change"] : moved;
      return make("li", { "data-variable": effect.variable, "data-change": String(effect.change), "data-divergence": String(effect.divergence), title },
        make("button", { type: "button", class: "link", "data-key": `moved ${effect.variable}`, onclick: () => actions.goTo(effect.variable) }, words),
        make("span", { class: "figure" }, text));
    });
    return [heading, make("ul", { class: "list", "aria-label": "Influence of findings" }, items)];
  }

  /** The state of the target whose probability a finding changes most, and by how much. */
  largestChange({ posterior, without }) {
    if (!without) return [0, null];
    const change = (s) => posterior[s] - without[s];
    const size = (s) => Math.abs(change(s)) + (change(s) > 0 ? 1e-9 : 0); // of two that are equal, the one that grew
    const best = [...posterior.keys()].reduce((a, b) => (size(b) > size(a) ? b : a));
    return [best, change(best)];
  }

  information() {
    const { store, actions } = this;
    const key = `information ${store.target}`;
    const heading = make("h3", {}, "What would tell most next");
    const compute = () => {
      const start = performance.now();
      const found = store.once(key, () => store.engine.valueOfInformation(store.case, store.target));
      this.cost = performance.now() - start;
      return found;
    };
    if ((this.cost ?? 0) > SLOW && !store.remembered.has(key)) {
      return [heading, button("Compute it", null, () => (compute(), this.paint()), { "data-key": "compute" })];
    }
    const found = compute();
    if (!found || found.entropy < 1e-12) return [heading, make("p", { class: "hint" }, "The target is known: nothing can tell more.")];
    const best = found.values.filter(({ information }) => information > 1e-12).slice(0, 15);
    if (best.length === 0) return [heading, make("p", { class: "hint" }, "No other variable can tell anything about it.")];
    const items = best.map(({ variable, information, share }) => {
      const line = this.meter([make("button", { type: "button", class: "link", "data-key": `tells ${variable}`, onclick: () => actions.goTo(variable) }, word(store.name(variable)))], share, formats.percent.format(share));
      return make("li", { "data-variable": variable, "data-information": String(information), title: `mutual information ${number(information)} nats: this share of the uncertainty of the target (${number(found.entropy)} nats)` }, line);
    });
    return [heading, make("p", { class: "muted small" }, "The share of the target's uncertainty that an observation takes away, on average."), make("ol", { class: "list meters", "aria-label": "Value of information" }, items)];
  }

  // ---- the table of a variable ----------------------------------------------------------------------------------------

  table() {
    const { store } = this;
    const i = store.selected;
    if (i === null) return [make("p", { class: "hint" }, "Click the name of a variable: its conditional probability table is shown here.")];
    const { states } = store.model.variables[i];
    const parents = store.model.parents[i];
    const rows = this.configurations(parents);
    const values = store.engine.tree.tables[i];
    const head = make("tr", {}, parents.map((v) => make("th", { scope: "col" }, word(store.name(v)))), states.map((state) => make("th", { scope: "col", class: "number" }, word(state))));
    const body = rows.shown.map(({ index, codes }) => make("tr", { class: this.matches(parents, codes) ? "current" : null, "data-row": index },
      codes.map((s, k) => make("th", { scope: "row" }, word(store.state(parents[k], s)))),
      states.map((_, s) => this.cell(values[index * states.length + s]))));
    const given = parents.length ? [" given ", ...joined(parents.map((v) => word(store.name(v))))] : [];
    const note = rows.total > rows.shown.length ? `${formats.count.format(rows.shown.length)} of ${plural(rows.total, "row")}, those that agree with the findings first.` : null;
    const cut = store.case.intervened[i] !== undefined ? make("p", { class: "note" }, icon("does"), make("span", {}, "An intervention replaces this table.")) : null;
    return [make("h3", {}, "P(", word(store.name(i)), ...given, ")"), cut, note && make("p", { class: "muted small" }, note),
      make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${plainWord(store.name(i))}` }, make("table", {}, make("thead", {}, head), make("tbody", {}, body)))];
  }

  cell(value) {
    const text = Number.isNaN(value) ? "–" : value !== 0 && value < 5e-5 ? formats.scientific.format(value) : formats.probability.format(value);
    return make("td", { class: "number", "data-p": String(value), title: formats.all.format(value) }, text);
  }

  /** The configurations of parents in the order of the table; of very many, those that agree with the findings first. */
  configurations(parents) {
    const { store } = this;
    const cards = parents.map((v) => store.nStates(v));
    const total = cards.reduce((product, card) => product * card, 1);
    const codesOf = (index) => {
      const codes = [];
      for (let k = cards.length - 1, rest = index; k >= 0; k--) {
        codes.unshift(rest % cards[k]);
        rest = Math.floor(rest / cards[k]);
      }
      return codes;
    };
    const chosen = [];
    for (let index = 0; index < total && chosen.length < MOST_ROWS; index++) {
      const codes = codesOf(index);
      if (total <= MOST_ROWS || this.agrees(parents, codes)) chosen.push({ index, codes });
    }
    for (let index = 0; total > MOST_ROWS && index < total && chosen.length < MOST_ROWS; index++) {
      const codes = codesOf(index);
      if (!this.agrees(parents, codes)) chosen.push({ index, codes });
    }
    return { total, shown: chosen };
  }

  agrees(parents, codes) {
    return parents.every((v, k) => {
      const finding = findingOf(this.store.case, v);
      return finding === null || weightsOf(finding, this.store.nStates(v))[codes[k]] > 0;
    });
  }

  /** Whether all parents are known to be in these states. */
  matches(parents, codes) {
    return parents.length > 0 && parents.every((v, k) => this.store.case.observed[v] === codes[k] || this.store.case.intervened[v] === codes[k]);
  }

  // ---- cases ----------------------------------------------------------------------------------------------------------

  cases() {
    const { store, actions } = this;
    const tools = make("div", { class: "row" },
      button("Save this case", "plus", () => this.saveCase(), { "data-key": "save" }),
      button("Open CSV…", "save", () => this.file.click(), { "data-key": "file", description: "Rows of a CSV file become cases; you can also drop one on the page" }),
      store.saved.length ? button("Remove all", "clear", () => (store.forgetAll(), actions.announce("all cases removed")), { "data-key": "none" }) : null);
    const problems = this.problems.length
      ? make("div", { class: "note problem", role: "alert" }, icon("warning"), make("div", {}, this.problems.map((parts) => make("p", {}, parts))),
          button("", "close", () => ((this.problems = []), this.paint()), { class: "plain", description: "Close this message" }))
      : null;
    if (store.saved.length === 0) return [tools, problems, make("p", { class: "hint" }, "No case is saved. Save the present findings, or drop a CSV file on the page: each of its rows becomes a case, with empty cells as missing.")];
    this.page = Math.min(this.page, Math.floor((store.saved.length - 1) / PAGE));
    const from = this.page * PAGE;
    const shown = store.saved.slice(from, from + PAGE);
    return [tools, problems, this.pager(from), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Saved cases" }, this.caseTable(shown, from))];
  }

  pager(from) {
    const { length } = this.store.saved;
    if (length <= PAGE) return null;
    const turn = (step) => () => ((this.page += step), this.paint());
    return make("div", { class: "row pager" },
      button("Before", null, turn(-1), { disabled: this.page === 0, "data-key": "before" }),
      make("span", { class: "muted" }, `${formats.count.format(from + 1)}–${formats.count.format(Math.min(from + PAGE, length))} of ${formats.count.format(length)}`),
      button("After", null, turn(1), { disabled: from + PAGE >= length, "data-key": "after" }));
  }

  caseTable(shown, from) {
    const { store } = this;
    const target = store.target;
    const head = make("tr", {}, make("th", { scope: "col" }, "Case"), make("th", { scope: "col" }, "P(findings)"), target === null ? null : make("th", { scope: "col" }, word(store.name(target))), make("th", { scope: "col" }, make("span", { class: "unseen" }, "Actions")));
    return make("table", { class: "cases" }, make("thead", {}, head), make("tbody", {}, shown.map((entry, k) => this.caseRow(entry, from + k, target))));
  }

  /** A saved case with its answers, which are computed when it is first shown. */
  caseRow(entry, k, target) {
    const { store, actions } = this;
    entry.result ??= store.engine.run(entry.case);
    const { possible, logProbability, marginals } = entry.result;
    const found = variablesWithFindings(entry.case);
    const summary = found.length ? joined(found.slice(0, 6).map((i) => make("span", {}, findingWords(store, i, findingOf(entry.case, i)))), found.length > 6 ? "," : "and") : ["no findings"];
    if (found.length > 6) summary.push(`, and ${formats.count.format(found.length - 6)} more`);
    const open = () => (store.setCase(entry.case), actions.say([word(entry.name), " is shown."]));
    const beside = () => (store.compareWith({ name: entry.name, case: entry.case }), actions.say([word(entry.name), " is beside this case."]));
    const name = make("button", { type: "button", class: "link", "data-key": `open ${k}`, onclick: open }, word(entry.name));
    const cells = [make("th", { scope: "row" }, name), make("td", { class: "number", "data-log-probability": String(possible ? logProbability : -Infinity) }, possible ? probability(logProbability) : "impossible")];
    if (target !== null) {
      const marginal = possible ? [...marginals[target]] : [];
      const s = marginal.indexOf(Math.max(...marginal));
      cells.push(make("td", { "data-posterior": marginal.join(" ") }, possible ? [word(store.state(target, s)), ` ${percent(marginal[s])}`] : "–"));
    }
    cells.push(make("td", { class: "acts" },
      button("", "compare", beside, { class: "plain", "data-key": `beside ${k}`, description: `Put ${plainWord(entry.name)} beside this case` }),
      button("", "close", () => store.forget(entry), { class: "plain", "data-key": `forget ${k}`, description: `Remove ${plainWord(entry.name)}` })));
    const looks = sameCase(entry.case, store.case) ? "current" : null;
    const below = make("tr", { class: `summary ${looks ?? ""}` }, make("td", { colspan: cells.length, class: "muted small" }, summary));
    return [make("tr", { "data-case": k, class: looks }, cells), below];
  }

  saveCase() {
    const { store, actions } = this;
    this.number = (this.number ?? 0) + 1;
    const name = `Case ${formats.count.format(this.number)}`;
    store.save([{ name, case: store.case, result: store.result }]);
    actions.announce(`${name} saved`);
  }

  async readFiles(files) {
    this.problems = [];
    for (const file of files) {
      let found;
      try {
        found = casesFromCsv(this.store.engine, await file.text(), file.name.replace(/\.\w+$/, ""));
      } catch (error) {
        found = { cases: [], problems: [["The file ", word(file.name), ` cannot be read: ${error.message}`]] };
      }
      this.problems.push(...found.problems);
      this.store.save(found.cases);
      this.actions.announce(`${plural(found.cases.length, "case")} from ${plainWord(file.name)}`);
    }
    this.show?.("cases");
  }
}
