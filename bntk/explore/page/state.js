// What the page knows: the case, what was before it, the target, the cases that were saved. Nothing here draws.

const EMPTY_CASE = Object.freeze({ observed: {}, excluded: {}, likelihood: {}, intervened: {} });
const KINDS = ["intervened", "observed", "excluded", "likelihood"];

/** What is known of variable `i` in a case: `{kind, value}`, or null. A variable has one finding at most. */
function findingOf(situation, i) {
  for (const kind of KINDS) if (situation[kind][i] !== undefined) return { kind, value: situation[kind][i] };
  return null;
}

/** The variables with a finding, in the order of the network. */
function variablesWithFindings(situation) {
  const found = new Set(KINDS.flatMap((kind) => Object.keys(situation[kind]).map(Number)));
  return [...found].sort((a, b) => a - b);
}

/** A case that differs in one variable: `finding` is `{kind, value}`, or null to free it. */
function withFinding(situation, i, finding) {
  const next = {};
  for (const kind of KINDS) {
    next[kind] = { ...situation[kind] };
    delete next[kind][i];
  }
  if (finding !== null) next[finding.kind][i] = finding.value;
  return next;
}

const sameCase = (a, b) =>
  KINDS.every((kind) => {
    const keys = Object.keys(a[kind]);
    return (
      keys.length === Object.keys(b[kind]).length && keys.every((i) => String(a[kind][i]) === String(b[kind][i]))
    );
  });

/** A case from outside with one finding for each variable: several pieces of evidence are multiplied. */
function withOneFindingEach(given, model) {
  let tidy = EMPTY_CASE;
  for (const i of variablesWithFindings({ ...EMPTY_CASE, ...given })) {
    const nStates = model.variables[i].states.length;
    const parts = KINDS.filter((kind) => given[kind]?.[i] !== undefined).map((kind) => ({ kind, value: given[kind][i] }));
    const product = () => parts.reduce((ws, part) => weightsOf(part, nStates).map((w, s) => w * ws[s]), weightsOf(null, nStates));
    const one = parts.length === 1 || parts[0].kind === "intervened" ? parts[0] : findingFromWeights(product());
    tidy = withFinding(tidy, i, one && Array.isArray(one.value) ? { kind: one.kind, value: [...one.value] } : one);
  }
  return tidy;
}

/** Weights as a finding: equal ones say nothing, and where they are zero or equal, states are excluded. */
function findingFromWeights(weights) {
  const most = Math.max(...weights);
  if (weights.every((w) => w === most && w > 0)) return null;
  if (weights.every((w) => w === 0 || w === most)) {
    return { kind: "excluded", value: weights.flatMap((w, s) => (w === 0 ? [s] : [])) };
  }
  return { kind: "likelihood", value: weights };
}

/** The likelihood of each state that a finding amounts to. */
function weightsOf(finding, nStates) {
  const weights = new Array(nStates).fill(1);
  if (finding === null) return weights;
  if (finding.kind === "likelihood") return [...finding.value];
  if (finding.kind === "excluded") return weights.map((_, s) => (finding.value.includes(s) ? 0 : 1));
  return weights.map((_, s) => (s === finding.value ? 1 : 0));
}

class Store {
  constructor(model, engine) {
    this.model = model;
    this.engine = engine;
    this.case = EMPTY_CASE;
    this.past = [];
    this.future = [];
    this.result = engine.run(EMPTY_CASE);
    this.shown = this.result; // what the bars show: the last case that was possible
    this.contradiction = null; // the variables whose findings exclude each other
    this.target = Number.isInteger(model.target) ? model.target : null;
    this.selected = null; // the variable whose table is shown
    this.explaining = false; // the most probable explanation
    this.explanation = null;
    this.hiding = false;
    this.other = null; // {name, case, result}: a second case beside this one
    this.saved = []; // {name, case, origin}
    this.listeners = [];
    this.remembered = new Map(); // answers about this case that cost something
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  tell(what) {
    for (const listener of this.listeners) listener(what);
  }

  name(i) {
    return this.model.variables[i].name;
  }

  state(i, s) {
    return this.model.variables[i].states[s];
  }

  nStates(i) {
    return this.model.variables[i].states.length;
  }

  /** Take another case; `step` says whether undo shall come back to the one before. */
  setCase(next, step = true) {
    if (sameCase(next, this.case)) return;
    if (step) {
      this.past.push(this.beforeDrag ?? this.case);
      this.future = [];
      this.beforeDrag = null;
    } else this.beforeDrag ??= this.case;
    this.solve(next);
    this.tell(step ? "case" : "drag");
  }

  /** After steps of a drag that undo shall take back at once. */
  endDrag() {
    if (!this.beforeDrag) return;
    if (!sameCase(this.beforeDrag, this.case)) {
      this.past.push(this.beforeDrag);
      this.future = [];
    }
    this.beforeDrag = null;
    this.tell("case");
  }

  solve(next) {
    this.case = next;
    this.remembered.clear();
    this.result = this.engine.run(next);
    const clash = this.result.possible ? null : this.engine.contradiction(next);
    this.contradiction = clash && [...clash.interventions, ...clash.findings];
    if (this.result.possible) this.shown = this.result;
    this.explain();
  }

  explain() {
    this.explanation = this.explaining && this.result.possible ? this.engine.mpe(this.case) : null;
  }

  /** An answer that is computed once for each case. */
  once(key, compute) {
    if (!this.remembered.has(key)) this.remembered.set(key, compute());
    return this.remembered.get(key);
  }

  set(i, finding) {
    this.setCase(withFinding(this.case, i, finding));
  }

  observe(i, s) {
    const now = findingOf(this.case, i);
    this.set(i, now?.kind === "observed" && now.value === s ? null : { kind: "observed", value: s });
  }

  intervene(i, s) {
    const now = findingOf(this.case, i);
    this.set(i, now?.kind === "intervened" && now.value === s ? null : { kind: "intervened", value: s });
  }

  exclude(i, s) {
    const now = findingOf(this.case, i);
    const weights = weightsOf(now?.kind === "excluded" || now?.kind === "likelihood" ? now : null, this.nStates(i));
    weights[s] = weights[s] === 0 ? 1 : 0;
    this.set(i, findingFromWeights(weights));
  }

  /** The finding that gives state `s` the probability `p`, where the others keep their ratios. */
  towards(i, s, p, from = { weights: weightsOf(this.softFinding(i), this.nStates(i)), now: this.shown.marginals[i][s] }) {
    if (from.now <= 0 || from.now >= 1) return null;
    const wanted = Math.min(Math.max(p, 0.005), 0.995);
    const weights = [...from.weights];
    weights[s] *= (wanted * (1 - from.now)) / (from.now * (1 - wanted));
    const most = Math.max(...weights);
    return findingFromWeights(weights.map((w) => Number((w / most).toPrecision(4))));
  }

  softFinding(i) {
    const now = findingOf(this.case, i);
    return now?.kind === "likelihood" || now?.kind === "excluded" ? now : null;
  }

  undo() {
    this.step(this.past, this.future);
  }

  redo() {
    this.step(this.future, this.past);
  }

  step(from, to) {
    if (from.length === 0) return;
    to.push(this.case);
    this.solve(from.pop());
    this.tell("case");
  }

  clear() {
    this.setCase(EMPTY_CASE);
  }

  setTarget(i) {
    this.target = i;
    if (i === null) this.hiding = false;
    this.tell("target");
  }

  select(i) {
    this.selected = i;
    this.tell("selected");
  }

  setExplaining(on) {
    this.explaining = on;
    this.explain();
    this.tell("explaining");
  }

  setHiding(on) {
    this.hiding = on && this.target !== null;
    this.tell("hiding");
  }

  /** Put a case beside this one; null ends it. */
  compareWith(other) {
    this.other = other && { ...other, result: this.engine.run(other.case) };
    this.tell("compared");
  }

  /** This case beside the other takes its place, and the other way round. */
  swap() {
    if (!this.other) return;
    const mine = { name: "the case before the swap", case: this.case };
    const next = this.other.case;
    this.other = { ...mine, result: this.engine.run(mine.case) };
    if (sameCase(next, this.case)) this.tell("compared");
    else this.setCase(next);
  }

  save(entries) {
    this.saved.push(...entries);
    this.tell("saved");
  }

  forget(entry) {
    this.saved = this.saved.filter((kept) => kept !== entry);
    this.tell("saved");
  }

  forgetAll() {
    this.saved = [];
    this.tell("saved");
  }

  /** The variables that can still tell about the target, and those with findings; null if nothing is hidden. */
  relevant() {
    if (!this.hiding || this.target === null) return null;
    return this.once(`relevant ${this.target}`, () => {
      const relevant = this.engine.relevant(this.case, this.target);
      return new Set(relevant.flatMap((kept, i) => (kept || i === this.target ? [i] : [])));
    });
  }
}

/** A finding in words: a list of strings and elements. */
function findingWords(store, i, finding, say = word) {
  const states = (list) => joined(list.map((s) => say(store.state(i, s))), "or");
  const name = say(store.name(i));
  if (finding.kind === "observed") return [name, " = ", say(store.state(i, finding.value))];
  if (finding.kind === "intervened") return ["do(", name, " = ", say(store.state(i, finding.value)), ")"];
  if (finding.kind === "excluded") return [name, " is not ", ...states(finding.value)];
  const weights = finding.value.map((w, s) => [say(store.state(i, s)), ` ${number(w)}`]);
  return ["likelihood of ", name, ": ", ...weights.flatMap((pair, k) => (k ? [", ", ...pair] : pair))];
}

const findingText = (store, i, finding) => findingWords(store, i, finding, plainWord).join("");
