"use strict";
/*
 * Cases by name: reading what comes from outside (a URL, a file, a kernel), writing it, and Python for it.
 *
 * A case by name has the parts of a case by number (engine.js), with names and states as text:
 *
 *   {observed: {name: state}, excluded: {name: [state]}, likelihood: {name: [numbers]}, intervened: {name: state}}
 *
 * Nothing that is read is trusted: readers return {case, problems}, with what could be read and a sentence for each
 * thing that could not. They never throw. A case encoded as text is parts joined by "&", each name=value in percent
 * encoding behind a letter: o.xray=yes (observed), x.asia=no (excluded, one for each state), l.dysp=0.2,0.8
 * (likelihood), d.smoke=yes (intervened).
 *
 *   engine.stateOf(v, text)    the number of a state by its text, as Python finds it; -1 if there is none
 *   engine.checkedCase(x)      {case, problems} from a case by number
 *   engine.readCase(x)         {case, problems} from a case by name
 *   engine.writeCase(case)     the case by name
 *   engine.encodeCase(case)    text for the fragment of a URL
 *   engine.decodeCase(text)    {case, problems}
 *   engine.python(case, target)  Python that asks the same: bn.query(...), or bn.marginals(...) without a target
 */

const PARTS = ["observed", "excluded", "likelihood", "intervened"];
const LETTERS = { o: "observed", x: "excluded", l: "likelihood", d: "intervened" };
const MOST_PROBLEMS = 20;
const NUMERAL = /^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$/;

/** What was read so far, and what is wrong with the rest. */
class CaseReader {
  constructor(engine) {
    this.engine = engine;
    this.case = emptyCase();
    this.problems = [];
  }

  complain(sentence) {
    if (this.problems.length < MOST_PROBLEMS) this.problems.push(sentence);
  }

  add(part, v, finding) {
    const own = this.case[part];
    if (part === "observed" || part === "intervened") this.addState(own, v, finding);
    else if (part === "excluded") this.addExcluded(own, v, finding);
    else this.addLikelihood(own, v, finding);
  }

  addState(own, v, state) {
    const code = this.state(v, state);
    if (code >= 0) own[v] = code;
  }

  addExcluded(own, v, states) {
    const codes = (Array.isArray(states) ? states : [states]).slice(0, 1e5).map((state) => this.state(v, state));
    const all = new Set([...(own[v] ?? []), ...codes.filter((code) => code >= 0)]);
    if (all.size) own[v] = [...all].sort((a, b) => a - b);
  }

  addLikelihood(own, v, numbers) {
    const { name, states } = this.engine.model.variables[v];
    const list = Array.isArray(numbers) || ArrayBuffer.isView(numbers) ? Array.from(numbers) : [];
    const right = list.length === states.length && list.every((x) => typeof x === "number" && x >= 0 && x < Infinity);
    if (right && list.some((x) => x > 0)) own[v] = list;
    else this.complain(`The likelihood of ${quoted(name)} must be ${states.length} numbers from 0, not all zero.`);
  }

  /** A state by number or by text, as the subclass reads it; -1 if there is none. */
  state(v, given) {
    const { name } = this.engine.model.variables[v];
    const code = this.code(v, given);
    if (code < 0) this.complain(`${quoted(name)} has no state ${quoted(given)}.`);
    return code;
  }
}

class NumberReader extends CaseReader {
  code(v, given) {
    return Number.isInteger(given) && given >= 0 && given < this.engine.cards[v] ? given : -1;
  }

  variable(key) {
    return /^[0-9]{1,9}$/.test(key) && Number(key) < this.engine.n ? Number(key) : -1;
  }
}

class NameReader extends CaseReader {
  code(v, given) {
    const plain = typeof given === "string" || typeof given === "number" || typeof given === "boolean";
    return plain ? this.engine.stateOf(v, String(given)) : -1;
  }

  variable(key) {
    return this.engine.variableOf(key);
  }
}

function emptyCase() {
  return { observed: {}, excluded: {}, likelihood: {}, intervened: {} };
}

/** Something for a sentence: short, in quotes, without line breaks. */
function quoted(value) {
  const text = (typeof value === "string" ? value : shownValue(value)).replace(/\s+/g, " ");
  return `“${text.length > 60 ? `${text.slice(0, 59)}…` : text}”`;
}

function shownValue(value) {
  return value !== null && typeof value === "object" ? (Array.isArray(value) ? "a list" : "an object") : String(value);
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

/** All parts of a case in the form that a reader has. */
function readParts(reader, given) {
  if (!isObject(given)) {
    if (given !== null && given !== undefined) reader.complain("This is not a case.");
    return reader;
  }
  for (const part of Object.keys(given)) {
    if (!PARTS.includes(part)) reader.complain(`A case has no part ${quoted(part)}.`);
    else if (isObject(given[part])) readPart(reader, part, given[part]);
    else if (given[part] !== null && given[part] !== undefined) reader.complain(`${quoted(part)} must be an object.`);
  }
  return reader;
}

function readPart(reader, part, entries) {
  for (const [key, finding] of Object.entries(entries)) {
    const v = reader.variable(key);
    if (v < 0) reader.complain(`There is no variable ${quoted(key)}.`);
    else if (finding !== null && finding !== undefined) reader.add(part, v, finding);
  }
}

Object.assign(Engine.prototype, {
  /** The number of a variable by its name, or -1. */
  variableOf(name) {
    this.numbers ??= new Map(this.model.variables.map((variable, v) => [variable.name, v]));
    return this.numbers.get(name) ?? -1;
  },

  stateOf(v, text) {
    const { states, cuts } = this.model.variables[v];
    const exact = states.indexOf(text);
    if (exact >= 0) return exact;
    const alike = [...states.keys()].filter((code) => alikeTexts(states[code], text));
    if (alike.length === 1) return alike[0];
    if (!cuts || !NUMERAL.test(text)) return -1;
    const number = Number(text);
    const above = cuts.findIndex((cut) => number <= cut);
    return above < 0 ? cuts.length : above;
  },

  checkedCase(given) {
    const { case: found, problems } = readParts(new NumberReader(this), given);
    return { case: found, problems };
  },

  readCase(given) {
    const { case: found, problems } = readParts(new NameReader(this), given);
    return { case: found, problems };
  },

  writeCase(given) {
    const { variables } = this.model;
    const named = (part, write) =>
      Object.fromEntries(Object.entries(given?.[part] ?? {}).map(([v, x]) => [variables[v].name, write(variables[v], x)]));
    const state = (variable, code) => variable.states[code];
    return {
      observed: named("observed", state),
      excluded: named("excluded", (variable, codes) => codes.map((code) => state(variable, code))),
      likelihood: named("likelihood", (_, numbers) => Array.from(numbers)),
      intervened: named("intervened", state),
    };
  },

  encodeCase(given) {
    const named = this.writeCase(given);
    const parts = [];
    for (const [letter, part] of Object.entries(LETTERS)) {
      for (const [name, finding] of Object.entries(named[part])) {
        const values = part === "excluded" ? finding : [part === "likelihood" ? finding.join(",") : finding];
        for (const value of values) parts.push(`${letter}.${escaped(name)}=${escaped(value)}`);
      }
    }
    return parts.join("&");
  },

  decodeCase(text) {
    const reader = new NameReader(this);
    const words = String(text ?? "").replace(/^#/, "").slice(0, 1e6).split("&").filter(Boolean);
    for (const word of words) decodeWord(reader, word);
    return { case: reader.case, problems: reader.problems };
  },

  python(given, target = null) {
    const code = new PythonWriter(this.model);
    const network = code.network(given);
    const evidence = code.evidence(given);
    if (target === null) return `${network}.marginals(${evidence.join(", ")})`;
    return `${network}.query(${[code.text(this.model.variables[target].name), ...evidence].join(", ")})`;
  },
});

/** Whether a text means a state: truth values in any writing, numbers of the same value. */
function alikeTexts(state, text) {
  if (/^(true|false)$/i.test(state)) return state.toLowerCase() === text.trim().toLowerCase();
  return NUMERAL.test(state) && NUMERAL.test(text) && Number(state) === Number(text);
}

/** Percent encoding; half of a surrogate pair cannot be encoded, and becomes a replacement character. */
function escaped(text) {
  return encodeURIComponent(text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd"))
    .replace(/'/g, "%27");
}

function decodeWord(reader, word) {
  const match = /^([oxld])\.([^=]*)=(.*)$/s.exec(word);
  let name, value;
  try {
    [name, value] = [decodeURIComponent(match[2]), decodeURIComponent(match[3])];
  } catch {
    reader.complain(`${quoted(word)} is no finding.`);
    return;
  }
  const v = reader.variable(name);
  if (v < 0) {
    reader.complain(`There is no variable ${quoted(name)}.`);
    return;
  }
  const part = LETTERS[match[1]];
  const numbers = () => value.split(",").map((x) => (NUMERAL.test(x) ? Number(x) : NaN));
  reader.add(part, v, part === "likelihood" ? numbers() : value);
}

/** Writes findings as Python. */
class PythonWriter {
  constructor(model) {
    this.model = model;
  }

  /** A string literal; JSON's escapes are Python's, but for halves of surrogate pairs, which are written alike. */
  text(text) {
    return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  state(v, code) {
    const { states, literals } = this.model.variables[v];
    return literals ? literals[code] : this.text(states[code]);
  }

  dict(entries) {
    return `{${entries.map(([v, code]) => `${this.text(this.model.variables[v].name)}: ${code}`).join(", ")}}`;
  }

  network(given) {
    const set = Object.entries(given?.intervened ?? {}).map(([v, state]) => [v, this.state(v, state)]);
    return set.length ? `bn.do(${this.dict(set)})` : "bn";
  }

  /** The arguments that hold the evidence. */
  evidence(given) {
    const { observed = {}, excluded = {}, likelihood = {} } = given ?? {};
    const hard = foundVariables({ observed, excluded }).map((v) => [v, this.hard(v, observed[v], excluded[v])]);
    const soft = Object.entries(likelihood).map(([v, numbers]) => [v, `[${Array.from(numbers).join(", ")}]`]);
    return [...(hard.length ? [this.dict(hard)] : []), ...(soft.length ? [`soft=${this.dict(soft)}`] : [])];
  }

  /** A state, or the list of those that are left. */
  hard(v, observed, excluded = []) {
    const codes = observed === undefined ? [...this.model.variables[v].states.keys()] : [observed];
    const left = codes.filter((code) => !excluded.includes(code)).map((code) => this.state(v, code));
    return left.length === 1 && observed !== undefined ? left[0] : `[${left.join(", ")}]`;
  }
}
