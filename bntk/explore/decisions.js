"use strict";
/*
 * What findings mean for a target: their effect, their conflict, what contradicts, what to observe next.
 *
 * Sources: F. V. Jensen and T. D. Nielsen (2007), Bayesian Networks and Decision Graphs, chapters 5 and 11 (conflict,
 * value of information); D. Koller and N. Friedman (2009), Probabilistic Graphical Models, algorithm 3.1 (d-separation).
 */

/** The parts of a case that are evidence, each with a finding about a variable. */
const EVIDENCE = ["observed", "excluded", "likelihood"];

/** The variables that a case has evidence about, in order. */
function foundVariables(given) {
  const found = new Set();
  for (const part of EVIDENCE) for (const v of Object.keys(given?.[part] ?? {})) found.add(Number(v));
  return [...found].sort((a, b) => a - b);
}

/** The variables that a case sets from outside, in order. */
function setVariables(given) {
  return Object.keys(given?.intervened ?? {}).map(Number).sort((a, b) => a - b);
}

/** The state of the only positive number, or -1. */
function onlyState(vector) {
  let found = -1;
  for (let i = 0; i < vector.length; i++) {
    if (vector[i] > 0) {
      if (found >= 0) return -1;
      found = i;
    }
  }
  return found;
}

/** The Kullback-Leibler divergence of p from q, in nats, where q is known to be at least share * p. */
function divergence(p, q, share = 0) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) {
    if (p[i] > 0) sum += p[i] * (Math.log(p[i]) - Math.max(Math.log(q[i]), Math.log(share) + Math.log(p[i])));
  }
  return Math.max(0, sum);
}

function entropyOf(p) {
  return -p.reduce((sum, x) => (x > 0 ? sum + x * Math.log(x) : sum), 0);
}

/** These findings without those about one variable. */
function withoutEvidence({ vectors, forced }, v) {
  const fewer = vectors.slice();
  fewer[v] = null;
  return { vectors: fewer, forced };
}

/** These findings without an intervention. */
function withoutIntervention({ vectors, forced }, v) {
  const fewer = forced.slice();
  fewer[v] = -1;
  return { vectors, forced: fewer };
}

Object.assign(Engine.prototype, {
  conflict(given) {
    const findings = this.findings(given);
    const found = foundVariables(given);
    const logProbability = this.logProbability(findings);
    if (logProbability === -Infinity) return { conflict: null, logProbability, single: [] };
    const prior = this.prior(findings.forced);
    const single = found.map((v) => {
      const top = findings.vectors[v].reduce((a, b) => Math.max(a, b), 0);
      const sum = findings.vectors[v].reduce((total, x, state) => total + (x / top) * prior[v][state], 0);
      return [v, Math.log(sum) + Math.log(top)];
    });
    const conflict = single.reduce((total, [, logP]) => total + logP, 0) - logProbability;
    return { conflict, logProbability, single };
  },

  /** The probabilities of all variables without evidence, in the network after interventions. */
  prior(forced) {
    const key = forced.join();
    if (this.priorKey !== key) {
      const nothing = { vectors: new Array(this.n).fill(null), forced };
      this.lastPrior = this.entered(nothing, (passes) => this.cards.map((_, v) => passes.marginal(v)));
      this.priorKey = key;
    }
    return this.lastPrior;
  },

  influence(given, target) {
    const findings = this.findings(given);
    const posterior = this.marginalOf(findings, target);
    if (!posterior) return [];
    const effect = (variable, kind, fewer) => {
      const without = this.marginalOf(fewer, target);
      if (!without) return { variable, kind, posterior, without, divergence: Infinity, change: null };
      const change = posterior.reduce((most, p, i) => Math.max(most, Math.abs(p - without[i])), 0);
      return { variable, kind, posterior, without, divergence: divergence(posterior, without), change };
    };
    const effects = [
      ...foundVariables(given).map((v) => effect(v, "finding", withoutEvidence(findings, v))),
      ...setVariables(given).map((v) => effect(v, "intervention", withoutIntervention(findings, v))),
    ];
    return effects.sort((a, b) => (a.divergence === b.divergence ? 0 : b.divergence - a.divergence));
  },

  valueOfInformation(given, target) {
    const findings = this.findings(given);
    const all = this.entered(findings, (passes) =>
      passes.logZ === -Infinity ? null : this.cards.map((_, v) => passes.marginal(v)),
    );
    if (!all) return null;
    const known = this.known(findings);
    const candidates = [...this.cards.keys()].filter((v) => v !== target && !known.has(v));
    const gains = new Float64Array(this.n);
    all[target].forEach((share, state) => {
      if (!(share > 0)) return;
      const vectors = findings.vectors.slice();
      vectors[target] = point(this.cards[target], state);
      this.entered({ vectors, forced: findings.forced }, (passes) => {
        const added = candidates.map((v) => share * divergence(passes.marginal(v), all[v], share));
        candidates.forEach((v, i) => (gains[v] += added[i]));
      });
    });
    const entropy = entropyOf(all[target]);
    const share = (v) => (entropy > 1e-12 ? gains[v] / entropy : 0);
    const values = candidates.map((v) => ({ variable: v, information: gains[v], share: share(v) }));
    return { entropy, values: values.sort((a, b) => b.information - a.information) };
  },

  /** The variables of which only one state is left, or that are set from outside. */
  known({ vectors, forced }) {
    const known = new Set();
    vectors.forEach((vector, v) => {
      if (forced[v] >= 0 || (vector && onlyState(vector) >= 0)) known.add(v);
    });
    return known;
  },

  relevant(given, target) {
    const findings = this.findings(given);
    const known = this.known(findings);
    const parents = this.model.parents.map((own, v) => (findings.forced[v] >= 0 ? [] : own));
    const children = parents.map(() => []);
    parents.forEach((own, v) => own.forEach((parent) => children[parent].push(v)));
    const opened = ancestorsOf(this.evidenceIn(findings), parents);
    const fromBelow = new Uint8Array(this.n);
    const fromAbove = new Uint8Array(this.n);
    const todo = [[target, true]];
    while (todo.length) {
      const [v, below] = todo.pop();
      const seen = below ? fromBelow : fromAbove;
      if (seen[v]) continue;
      seen[v] = 1;
      if (!known.has(v)) for (const child of children[v]) todo.push([child, false]);
      if (below ? !known.has(v) : opened[v]) for (const parent of parents[v]) todo.push([parent, true]);
    }
    return parents.map((_, v) => fromBelow[v] === 1 || fromAbove[v] === 1);
  },

  evidenceIn({ vectors }) {
    return [...vectors.keys()].filter((v) => vectors[v]);
  },

  contradiction(given) {
    const findings = this.findings(given);
    const impossible = (some) => this.logProbability(some) === -Infinity;
    if (!impossible(findings)) return null;
    const kept = minimalConflict(foundVariables(given), (some) => impossible(onlyEvidence(findings, some)));
    const least = onlyEvidence(findings, kept);
    return {
      findings: kept,
      interventions: setVariables(given).filter((v) => !impossible(withoutIntervention(least, v))),
    };
  },
});

/** Marks some variables and all of their ancestors. */
function ancestorsOf(variables, parents) {
  const marked = new Uint8Array(parents.length);
  const todo = [...variables];
  while (todo.length) {
    const v = todo.pop();
    if (!marked[v]) {
      marked[v] = 1;
      todo.push(...parents[v]);
    }
  }
  return marked;
}

/** These findings with the evidence about some variables only. */
function onlyEvidence({ vectors, forced }, variables) {
  const fewer = new Array(vectors.length).fill(null);
  for (const v of variables) fewer[v] = vectors[v];
  return { vectors: fewer, forced };
}

/*
 * What is left when items are dropped one by one, from the first, as long as the rest stays impossible. The next item
 * that must stay is the last one without which it would be possible, which halving finds.
 */
function minimalConflict(items, impossible) {
  const kept = [];
  let begin = 0;
  while (!impossible(kept) && begin < items.length) {
    let [low, high] = [begin, items.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (impossible([...kept, ...items.slice(middle)])) low = middle;
      else high = middle - 1;
    }
    kept.push(items[low]);
    begin = low + 1;
  }
  return kept;
}
