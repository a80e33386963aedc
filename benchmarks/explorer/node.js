"use strict";
/* Answers requests, one JSON text per line, with the interpreter that the first line holds as {script}. */

const readline = require("node:readline");

let createEngine = null;
let engine = null;

/** JSON without a number for it: infinities as text. */
function plain(key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
}

function everything(given, target) {
  return {
    run: engine.run(given),
    posterior: engine.posterior(given, target),
    mpe: engine.mpe(given),
    conflict: engine.conflict(given),
    influence: engine.influence(given, target),
    value: engine.valueOfInformation(given, target),
    relevant: engine.relevant(given, target),
    contradiction: engine.contradiction(given),
    python: engine.python(given),
    coded: engine.decodeCase(engine.encodeCase(given)),
    named: engine.readCase(JSON.parse(JSON.stringify(engine.writeCase(given)))),
    checked: engine.checkedCase(given),
  };
}

/** Milliseconds of each run, one case after another. */
function timed(cases, ask) {
  return cases.map((given) => {
    const begin = performance.now();
    engine[ask](given);
    return performance.now() - begin;
  });
}

const REQUESTS = {
  script: (source) => {
    createEngine = new Function(`return ${source}`)();
  },
  model: (model) => {
    const begin = performance.now();
    engine = createEngine(model);
    engine.run({});
    return performance.now() - begin;
  },
  cases: ({ cases, target }) => cases.map((given) => everything(given, target)),
  runs: (cases) => cases.map((given) => engine.run(given)),
  rows: ({ cases, targets }) => engine.runRows(cases, targets).map((row) => ({ ...row, marginals: [...row.marginals] })),
  timed: ({ cases, ask }) => timed(cases, ask),
  evaluate: ({ source, given }) => new Function("given", source)(given),
  call: ({ method, args }) => engine[method](...args),
};

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try {
    const [what, argument] = JSON.parse(line);
    answer = { answer: REQUESTS[what](argument) ?? null };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer, plain)}\n`);
});
