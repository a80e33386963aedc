"use strict";
/*
 * Exact inference in a Bayesian network, from the junction tree that Python compiled.
 *
 * The sources of the explorer are plain scripts that share one scope, in this order: engine.js, decisions.js, cases.js,
 * and the page. bntk/explore/html.py puts them into one file; under Node, tests put them into one function.
 *
 * createEngine(model) makes an engine. The model is what bntk/explore/model.py writes:
 *
 *   format      "bntk explorer 1"
 *   title       text above the page, or null
 *   variables   [{name, states: [text], literals?, cuts?}]; literals are Python's for states that are no strings; a
 *               variable with cuts also takes numbers: state k holds those above cuts[k - 1] and up to cuts[k]
 *   parents     [[number of a parent]] for each variable
 *   tables      different tables, each a list of numbers or, where that is shorter, their bytes: Float64, little endian,
 *               in base64; axes in the order of parents[i], the child last; the last axis runs fastest
 *   table       for each variable the number of its table
 *   tree        {cliques: [[variable]], parent: [clique or -1], home: [clique with the family of each variable]};
 *               each clique stands after its parent; variables in the order of its axes, the last one fastest
 *   layout      {positions: [[x, y]], sizes: [[width, height]], routes: [[parent, child, x, y, ...]], box}; positions
 *               are centres, y grows downwards, an arc with 3 k + 1 points is k cubic Bezier curves, from border to
 *               border; box: {head, row, pad, rows} says how much of the height is the name, one state, the space at
 *               the border, and how many states are shown at most
 *   target      number of a variable, or null
 *   case        the findings to begin with, by name (see cases.js), or null
 *
 * A case is a plain object of findings by number of variable; all of its parts may be left out:
 *
 *   {observed: {i: state}, excluded: {i: [state, ...]}, likelihood: {i: [number of each state]}, intervened: {i: state}}
 *
 * An intervention replaces the table of its variable, all other findings are evidence; those about one variable are
 * multiplied, as bn.do(intervened).marginals(given, soft) does in Python. The engine trusts its cases: what comes from
 * outside goes through engine.checkedCase, readCase or decodeCase of cases.js first.
 *
 *   engine.run(case)          {possible, logProbability, marginals: [Float64Array per variable]}; marginals is null
 *                             when the findings are impossible
 *   engine.posterior(case, v) the posterior of one variable, or null; cheaper than run
 *   engine.mpe(case)          {possible, states: [state per variable] or null, logProbability}: of these states given
 *                             the findings, as bn.mpe(...).log_probability
 *   engine.conflict(case)     {conflict, logProbability, single: [[variable, log P(its finding)]]}; the conflict is
 *                             sum of log P(e_i) - log P(e) (Jensen), above 0 where findings disagree; null if impossible
 *   engine.influence(case, t) [{variable, kind: "finding" | "intervention", posterior, without, divergence, change}],
 *                             the largest divergence first: what each finding does to the target, given all others
 *                             (bn.relevant_findings); without is null where the others alone are impossible
 *   engine.valueOfInformation(case, t)   {entropy, values: [{variable, information, share}]}, the largest first
 *                             (bn.value_of_information), or null if the findings are impossible
 *   engine.relevant(case, t)  [boolean per variable]: what is not d-separated from the target by what is known, and the
 *                             known variables that this depends on
 *   engine.contradiction(case) {findings: [variable], interventions: [variable]}: findings that cannot all hold after the
 *                             interventions, none of which can be left out, and the interventions without one of which
 *                             they could; null when the case is possible
 *   engine.runRows(cases, targets)  for each case {possible, logProbability, marginals: Map(variable -> Float64Array)}
 *   engine.checkedCase(x), readCase(x), writeCase(case), encodeCase(case), decodeCase(text), stateOf(v, text),
 *   engine.python(case, target)      see cases.js
 *
 * Messages are divided by their largest entry, and a bound on the smallest product is kept. Where a product may be too
 * small for a number, the same passes run with logarithms. Messages that have not changed since the last case are kept.
 *
 * Sources: S. L. Lauritzen and D. J. Spiegelhalter (1988), Local computations with probabilities on graphical
 * structures, Journal of the Royal Statistical Society B 50, 157-224; A. P. Dawid (1992), Applications of a general
 * propagation algorithm for probabilistic expert systems, Statistics and Computing 2, 25-36.
 */

/** A product below this is not trusted to have all its digits. */
const TINY = 1e-280;

// ---- maps between tables ---------------------------------------------------------------------------------------------

/*
 * A map says where each entry of a clique lies in a smaller table. Since the place is a sum over the axes, it is kept as
 * two short lists: one for the outer axes of the clique, one for the inner ones.
 */
function tableMap(clique, cards, scope) {
  const stride = new Map();
  let step = 1;
  for (let i = scope.length - 1; i >= 0; i--) {
    stride.set(scope[i], step);
    step *= cards[scope[i]];
  }
  const size = clique.reduce((product, v) => product * cards[v], 1);
  let split = clique.length;
  for (let inner = 1; split > 0 && inner * inner < size; ) inner *= cards[clique[--split]];
  return {
    outer: places(clique.slice(0, split), cards, stride),
    inner: places(clique.slice(split), cards, stride),
    size: step,
  };
}

/** Where each joint state of some axes lies in a table with these strides. */
function places(axes, cards, stride) {
  let found = Int32Array.of(0);
  for (const v of axes) {
    const step = stride.get(v) ?? 0;
    const longer = new Int32Array(found.length * cards[v]);
    for (let i = 0, p = 0; i < found.length; i++) {
      for (let state = 0; state < cards[v]; state++) longer[p++] = found[i] + state * step;
    }
    found = longer;
  }
  return found;
}

// ---- three kinds of arithmetic ---------------------------------------------------------------------------------------

/** Sums of products of numbers. */
const SUMS = {
  one: 1,
  zero: 0,
  logs: false,
  multiply(into, map, table) {
    const { outer, inner } = map;
    for (let i = 0, p = 0; i < outer.length; i++) {
      const base = outer[i];
      for (let j = 0; j < inner.length; j++) into[p++] *= table[base + inner[j]];
    }
  },
  /** As multiply; false when a product of positive numbers is too small. */
  multiplyChecked(into, map, table) {
    const { outer, inner } = map;
    let least = 1;
    for (let i = 0, p = 0; i < outer.length; i++) {
      const base = outer[i];
      for (let j = 0; j < inner.length; j++, p++) {
        const a = into[p];
        const b = table[base + inner[j]];
        if (a > 0 && b > 0) {
          into[p] = a * b;
          if (into[p] < least) least = into[p];
        } else {
          into[p] = 0;
        }
      }
    }
    return least >= TINY;
  },
  project(from, map, into) {
    const { outer, inner } = map;
    into.fill(0);
    for (let i = 0, p = 0; i < outer.length; i++) {
      const base = outer[i];
      for (let j = 0; j < inner.length; j++) into[base + inner[j]] += from[p++];
    }
  },
  divide(into, by) {
    for (let i = 0; i < into.length; i++) into[i] = by[i] > 0 ? into[i] / by[i] : 0;
  },
  /** Divides by the largest entry, and returns its logarithm. */
  scale(table) {
    let top = 0;
    for (let i = 0; i < table.length; i++) if (table[i] > top) top = table[i];
    if (top === 0) return -Infinity;
    if (top !== 1) for (let i = 0; i < table.length; i++) table[i] /= top;
    return Math.log(top);
  },
  /** The smallest positive entry. */
  least(table) {
    let least = Infinity;
    for (let i = 0; i < table.length; i++) if (table[i] > 0 && table[i] < least) least = table[i];
    return least === Infinity ? 1 : least;
  },
};

const addLogs = {
  one: 0,
  zero: -Infinity,
  logs: true,
  multiply(into, map, table) {
    const { outer, inner } = map;
    for (let i = 0, p = 0; i < outer.length; i++) {
      const base = outer[i];
      for (let j = 0; j < inner.length; j++) into[p++] += table[base + inner[j]];
    }
  },
  divide(into, by) {
    for (let i = 0; i < into.length; i++) into[i] = by[i] > -Infinity ? into[i] - by[i] : -Infinity;
  },
  scale(table) {
    let top = -Infinity;
    for (let i = 0; i < table.length; i++) if (table[i] > top) top = table[i];
    if (top > -Infinity) for (let i = 0; i < table.length; i++) table[i] -= top;
    return top;
  },
};

function projectMaxima(from, map, into) {
  const { outer, inner } = map;
  into.fill(-Infinity);
  for (let i = 0, p = 0; i < outer.length; i++) {
    const base = outer[i];
    for (let j = 0; j < inner.length; j++, p++) {
      if (from[p] > into[base + inner[j]]) into[base + inner[j]] = from[p];
    }
  }
}

function projectLogSums(from, map, into) {
  projectMaxima(from, map, into);
  const { outer, inner } = map;
  const sums = new Float64Array(into.length);
  for (let i = 0, p = 0; i < outer.length; i++) {
    const base = outer[i];
    for (let j = 0; j < inner.length; j++, p++) {
      const at = base + inner[j];
      if (from[p] > -Infinity) sums[at] += Math.exp(from[p] - into[at]);
    }
  }
  for (let i = 0; i < into.length; i++) if (into[i] > -Infinity) into[i] += Math.log(sums[i]);
}

/** Sums of products, and the largest product, all as logarithms. */
const LOG_SUMS = { ...addLogs, project: projectLogSums };
const MAXIMA = { ...addLogs, project: projectMaxima };

// ---- the tree --------------------------------------------------------------------------------------------------------

/** The junction tree with its maps, which all passes share. */
class Tree {
  constructor(model) {
    const { cliques, parent, home } = model.tree;
    this.cards = model.variables.map((variable) => variable.states.length);
    this.families = model.parents.map((parents, v) => [...parents, v]);
    this.tables = decodedTables(model, this.families, this.cards);
    this.cliques = cliques;
    this.parent = parent;
    this.home = home;
    this.children = cliques.map(() => []);
    for (let k = 1; k < cliques.length; k++) this.children[parent[k]].push(k);
    this.sizes = cliques.map((clique) => this.entries(clique));
    this.familiesAt = cliques.map(() => []);
    home.forEach((k, v) => this.familiesAt[k].push(v));
    this.separators = cliques.map((clique, k) => this.separator(clique, k));
    this.toParent = this.separators.map((separator, k) => (k > 0 ? this.map(parent[k], separator) : null));
    this.fromChild = this.separators.map((separator, k) => this.map(k, k > 0 ? separator : []));
    this.ofFamily = this.families.map((family, v) => this.map(home[v], family));
    this.evidenceAt = this.smallestCliques();
    this.ofVariable = this.evidenceAt.map((k, v) => this.map(k, [v]));
    this.variablesAt = cliques.map(() => []);
    this.evidenceAt.forEach((k, v) => this.variablesAt[k].push(v));
  }

  entries(scope) {
    return scope.reduce((product, v) => product * this.cards[v], 1);
  }

  map(clique, scope) {
    return tableMap(this.cliques[clique], this.cards, scope);
  }

  /** What a clique shares with its parent, in the order that the larger of the two has. */
  separator(clique, k) {
    if (k === 0) return [];
    const above = this.cliques[this.parent[k]];
    const [larger, smaller] = this.sizes[k] > this.sizes[this.parent[k]] ? [clique, above] : [above, clique];
    const shared = new Set(smaller);
    return larger.filter((v) => shared.has(v));
  }

  /** For each variable the smallest clique that has it: evidence enters there, and its posterior is read there. */
  smallestCliques() {
    const best = this.cards.map(() => -1);
    this.cliques.forEach((clique, k) => {
      for (const v of clique) if (best[v] < 0 || this.sizes[k] < this.sizes[best[v]]) best[v] = k;
    });
    return best;
  }
}

function decodedTables(model, families, cards) {
  const decoded = model.tables.map((table) => (typeof table === "string" ? floats(table) : Float64Array.from(table)));
  return families.map((family, v) => {
    const table = decoded[model.table[v]];
    const size = family.reduce((product, u) => product * cards[u], 1);
    if (table.length !== size) throw new Error(`the table of ${model.variables[v].name} has ${table.length} numbers`);
    return table;
  });
}

/** Numbers from base64 of their bytes, little endian whatever the machine is. */
function floats(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

// ---- passes ----------------------------------------------------------------------------------------------------------

/** Thrown when numbers are too small for products; logarithms are for these. */
class TooSmall extends Error {}

/**
 * The tables and messages of one kind of arithmetic, and the findings that they are for.
 *
 * potential[k] is the product of the tables at clique k, work[k] that times evidence and messages from below, belief[k]
 * that times the message from above; up[k] and down[k] are the messages between k and its parent.
 */
class Passes {
  constructor(tree, arithmetic) {
    const n = tree.cliques.length;
    this.tree = tree;
    this.arithmetic = arithmetic;
    this.evidence = new Array(tree.cards.length).fill(null);
    this.forced = new Int32Array(tree.cards.length).fill(-1);
    this.potential = new Array(n).fill(null);
    this.work = tree.sizes.map((size) => new Float64Array(size));
    this.belief = new Array(n).fill(null);
    this.up = tree.separators.map((separator) => new Float64Array(tree.entries(separator)));
    this.down = this.up.map((message) => new Float64Array(message.length));
    this.upScale = new Float64Array(n);
    this.scaledEvidence = new Array(tree.cards.length).fill(null);
    this.evidenceScale = new Float64Array(tree.cards.length);
    // Bounds on the smallest positive entries, for numbers that are no logarithms.
    this.floors = { potential: new Float64Array(n).fill(1), work: new Float64Array(n).fill(1) };
    this.leastUp = new Float64Array(n).fill(1);
    this.leastEvidence = new Float64Array(tree.cards.length).fill(1);
    this.workStale = new Uint8Array(n).fill(1);
    this.beliefStale = new Uint8Array(n).fill(1);
    // How often the belief of a clique was computed, and of which one messages down and marginals are.
    this.beliefCount = new Int32Array(n);
    this.downSeen = new Int32Array(n).fill(-1);
    this.marginals = new Array(tree.cards.length).fill(null);
    this.marginalSeen = new Int32Array(tree.cards.length).fill(-1);
    this.logZ = 0;
  }

  /** Enter findings, and collect: logZ is the logarithm of their probability. */
  enter(findings) {
    this.compare(findings);
    this.collect();
    return this.logZ;
  }

  /** Mark the cliques whose evidence or tables differ from those of the last findings. */
  compare({ vectors, forced }) {
    const tree = this.tree;
    for (let v = 0; v < tree.cards.length; v++) {
      if (!sameNumbers(this.evidence[v], vectors[v])) {
        this.setEvidence(v, vectors[v]);
        this.workStale[tree.evidenceAt[v]] = 1;
      }
      if (this.forced[v] !== forced[v]) {
        this.forced[v] = forced[v];
        this.potential[tree.home[v]] = null;
        this.workStale[tree.home[v]] = 1;
      }
    }
  }

  setEvidence(v, vector) {
    const own = vector && (this.arithmetic.logs ? vector.map(Math.log) : vector.slice());
    this.evidence[v] = vector;
    this.scaledEvidence[v] = own;
    this.evidenceScale[v] = own ? this.arithmetic.scale(own) : 0;
    this.leastEvidence[v] = own && !this.arithmetic.logs ? SUMS.least(own) : 1;
  }

  collect() {
    const { tree, arithmetic } = this;
    try {
      for (let k = tree.cliques.length - 1; k > 0; k--) if (this.workStale[k]) this.sendUp(k);
      if (this.workStale[0]) this.multiplyWork(0);
    } catch (error) {
      this.workStale.fill(1);
      throw error;
    }
    arithmetic.project(this.work[0], tree.fromChild[0], this.up[0]);
    let logZ = arithmetic.logs ? this.up[0][0] : Math.log(this.up[0][0]);
    for (let k = 1; k < tree.cliques.length; k++) logZ += this.upScale[k];
    for (let v = 0; v < tree.cards.length; v++) logZ += this.evidenceScale[v];
    this.logZ = Number.isNaN(logZ) ? -Infinity : logZ;
  }

  /** The message of a clique to its parent, which is stale only if the message has changed. */
  sendUp(k) {
    const { tree, arithmetic } = this;
    this.multiplyWork(k);
    const message = new Float64Array(this.up[k].length);
    arithmetic.project(this.work[k], tree.fromChild[k], message);
    const scale = arithmetic.scale(message);
    if (scale === this.upScale[k] && sameNumbers(message, this.up[k])) return;
    this.leastUp[k] = arithmetic.logs ? 1 : this.trusted(SUMS.least(message));
    this.up[k] = message;
    this.upScale[k] = scale;
    this.workStale[tree.parent[k]] = 1;
  }

  trusted(least) {
    if (least < TINY) throw new TooSmall();
    return least;
  }

  multiplyWork(k) {
    const { tree, work } = this;
    if (!this.potential[k]) this.makePotential(k);
    work[k].set(this.potential[k]);
    this.floors.work[k] = this.floors.potential[k];
    for (const v of tree.variablesAt[k]) {
      if (this.evidence[v]) {
        this.multiply(k, work[k], this.floors.work, tree.ofVariable[v], this.scaledEvidence[v], this.leastEvidence[v]);
      }
    }
    for (const child of tree.children[k]) {
      this.multiply(k, work[k], this.floors.work, tree.toParent[child], this.up[child], this.leastUp[child]);
    }
    this.workStale[k] = 0;
    this.beliefStale[k] = 1;
  }

  /** The product of the tables whose home a clique is; those of intervened variables are points. */
  makePotential(k) {
    const { tree, arithmetic } = this;
    const potential = new Float64Array(tree.sizes[k]).fill(arithmetic.one);
    this.floors.potential[k] = 1;
    for (const v of tree.familiesAt[k]) {
      const plain = this.forced[v] < 0 ? tree.tables[v] : point(tree.cards[v], this.forced[v]);
      const table = arithmetic.logs ? plain.map(Math.log) : plain;
      const map = this.forced[v] < 0 ? tree.ofFamily[v] : tree.map(k, [v]);
      this.multiply(k, potential, this.floors.potential, map, table, SUMS.least(plain));
    }
    this.potential[k] = potential;
  }

  /** Multiply a table into one of clique k; with a check of each product where the bounds do not exclude tiny ones. */
  multiply(k, into, floors, map, table, least) {
    const { arithmetic } = this;
    if (arithmetic.logs) {
      arithmetic.multiply(into, map, table);
      return;
    }
    floors[k] *= least;
    if (floors[k] >= TINY) {
      arithmetic.multiply(into, map, table);
      return;
    }
    if (!arithmetic.multiplyChecked(into, map, table)) throw new TooSmall();
    floors[k] = SUMS.least(into);
  }

  /** The belief of a clique, up to a factor; the messages on the way to it are computed where they are stale. */
  beliefOf(k) {
    const path = [];
    for (let at = k; at > 0; at = this.tree.parent[at]) path.push(at);
    if (this.beliefStale[0]) {
      this.belief[0] = this.work[0];
      this.beliefStale[0] = 0;
      this.beliefCount[0]++;
    }
    while (path.length) this.sendDown(path.pop());
    return this.belief[k];
  }

  sendDown(k) {
    const { tree, arithmetic } = this;
    const above = tree.parent[k];
    if (this.downSeen[k] !== this.beliefCount[above]) {
      const message = new Float64Array(this.up[k].length);
      arithmetic.project(this.belief[above], tree.toParent[k], message);
      arithmetic.divide(message, this.up[k]);
      arithmetic.scale(message);
      this.downSeen[k] = this.beliefCount[above];
      if (!sameNumbers(message, this.down[k])) {
        this.down[k] = message;
        this.beliefStale[k] = 1;
      }
    }
    if (!this.beliefStale[k]) return;
    this.belief[k] ??= new Float64Array(tree.sizes[k]);
    this.belief[k].set(this.work[k]);
    const floors = Float64Array.of(this.floors.work[k]);
    const least = arithmetic.logs ? 1 : this.trusted(SUMS.least(this.down[k]));
    const { belief } = this;
    this.multiply(0, belief[k], floors, tree.fromChild[k], this.down[k], least);
    this.beliefStale[k] = 0;
    this.beliefCount[k]++;
  }

  /** The posterior of a variable. */
  marginal(v) {
    const { tree, arithmetic } = this;
    const clique = tree.evidenceAt[v];
    const belief = this.beliefOf(clique);
    if (this.marginalSeen[v] === this.beliefCount[clique]) return this.marginals[v].slice();
    const found = new Float64Array(tree.cards[v]);
    arithmetic.project(belief, tree.ofVariable[v], found);
    arithmetic.scale(found);
    if (arithmetic.logs) for (let i = 0; i < found.length; i++) found[i] = Math.exp(found[i]);
    const total = found.reduce((sum, x) => sum + x, 0);
    for (let i = 0; i < found.length; i++) found[i] /= total;
    this.marginals[v] = found;
    this.marginalSeen[v] = this.beliefCount[clique];
    return found.slice();
  }

  /** The states of a largest entry, clique by clique from the root; ties go to the lowest states. */
  largest() {
    const { tree } = this;
    const states = new Int32Array(tree.cards.length).fill(-1);
    tree.cliques.forEach((clique, k) => {
      const at = largestWithin(this.work[k], clique, tree.cards, states);
      let rest = at;
      for (let i = clique.length - 1; i >= 0; i--) {
        states[clique[i]] = rest % tree.cards[clique[i]];
        rest = Math.floor(rest / tree.cards[clique[i]]);
      }
    });
    return states;
  }
}

/** The first of the largest entries of a clique that agree with the states that are known (not -1). */
function largestWithin(table, clique, cards, states) {
  let first = 0;
  let step = 1;
  const free = []; // the axes to run through, innermost first: their lengths, and how far apart their states are
  for (let i = clique.length - 1; i >= 0; i--) {
    const v = clique[i];
    if (states[v] < 0) free.push({ length: cards[v], step });
    else first += states[v] * step;
    step *= cards[v];
  }
  const at = new Array(free.length).fill(0);
  let best = first;
  for (let place = first, axis = 0; axis < free.length; ) {
    if (++at[axis] < free[axis].length) {
      place += free[axis].step;
      if (table[place] > table[best]) best = place;
      axis = 0;
    } else {
      place -= (free[axis].length - 1) * free[axis].step;
      at[axis++] = 0;
    }
  }
  return best;
}

function point(n, state) {
  const vector = new Float64Array(n);
  vector[state] = 1;
  return vector;
}

function sameNumbers(a, b) {
  if (a === b) return true;
  if (!a || !b || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

// ---- the engine ------------------------------------------------------------------------------------------------------

class Engine {
  constructor(model) {
    this.model = model;
    this.tree = new Tree(model);
    this.cards = this.tree.cards;
    this.n = this.cards.length;
    this.passes = {};
    this.singles = new Map();
  }

  /** The likelihood of each variable's states, and the states that are set from outside. */
  findings(given) {
    const vectors = new Array(this.n).fill(null);
    const forced = new Int32Array(this.n).fill(-1);
    const { observed = {}, excluded = {}, likelihood = {}, intervened = {} } = given ?? {};
    const vector = (v) => (vectors[v] ??= new Float64Array(this.cards[v]).fill(1));
    for (const [v, state] of Object.entries(observed)) vectors[v] = point(this.cards[v], state);
    for (const [v, states] of Object.entries(excluded)) for (const state of states) vector(v)[state] = 0;
    for (const [v, numbers] of Object.entries(likelihood)) {
      const own = vector(v);
      for (let i = 0; i < own.length; i++) own[i] *= numbers[i];
    }
    for (const [v, state] of Object.entries(intervened)) forced[v] = state;
    return { vectors, forced };
  }

  /** Passes with these findings entered: with numbers or, where these are too small, with logarithms. */
  entered(findings, then = (passes) => passes) {
    try {
      this.passes.sums ??= new Passes(this.tree, SUMS);
      this.passes.sums.enter(findings);
      return then(this.passes.sums);
    } catch (error) {
      if (!(error instanceof TooSmall)) throw error;
    }
    this.passes.logs ??= new Passes(this.tree, LOG_SUMS);
    this.passes.logs.enter(findings);
    return then(this.passes.logs);
  }

  logProbability(findings) {
    return this.entered(findings).logZ;
  }

  run(given) {
    return this.entered(this.findings(given), (passes) => {
      const logProbability = passes.logZ;
      if (logProbability === -Infinity) return { possible: false, logProbability, marginals: null };
      return { possible: true, logProbability, marginals: this.cards.map((_, v) => passes.marginal(v)) };
    });
  }

  posterior(given, v) {
    return this.marginalOf(this.findings(given), v);
  }

  marginalOf(findings, v) {
    return this.entered(findings, (passes) => (passes.logZ === -Infinity ? null : passes.marginal(v)));
  }

  mpe(given) {
    const findings = this.findings(given);
    const logProbability = this.logProbability(findings);
    if (logProbability === -Infinity) return { possible: false, states: null, logProbability: -Infinity };
    this.passes.maxima ??= new Passes(this.tree, MAXIMA);
    const logTop = this.passes.maxima.enter(findings);
    const states = Array.from(this.passes.maxima.largest());
    return { possible: true, states, logProbability: Math.min(0, logTop - logProbability) };
  }

  runRows(cases, targets = null) {
    return cases.map((given) =>
      this.entered(this.findings(given), (passes) => {
        const logProbability = passes.logZ;
        const possible = logProbability > -Infinity;
        const wanted = possible ? targets ?? this.cards.keys() : [];
        return { possible, logProbability, marginals: new Map([...wanted].map((v) => [v, passes.marginal(v)])) };
      }),
    );
  }
}

function createEngine(model) {
  return new Engine(model);
}
