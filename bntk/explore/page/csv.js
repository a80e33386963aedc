// Rows of a CSV file as cases: quoted fields, any usual separator, cells that are missing, numbers in intervals.

const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "?", "-", "*"]);

/** The fields of each row (RFC 4180; line ends of any system, a byte order mark, an unclosed quote ends with the file). */
function readCsv(text, separator = likelySeparator(text)) {
  const rows = [];
  let row = [];
  let field = "";
  let quoted = false;
  let wasQuoted = false;
  const endField = () => {
    row.push({ text: wasQuoted ? field : field.trim(), quoted: wasQuoted });
    [field, wasQuoted] = ["", false];
  };
  const endRow = () => {
    endField();
    if (row.length > 1 || row[0].text !== "" || row[0].quoted) rows.push(row);
    row = [];
  };
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  for (let k = start; k < text.length; k++) {
    const letter = text[k];
    if (quoted) {
      if (letter !== '"') field += letter;
      else if (text[k + 1] === '"') field += text[k++];
      else quoted = false;
    } else if (letter === '"' && field.trim() === "" && !wasQuoted) [quoted, wasQuoted, field] = [true, true, ""];
    else if (letter === separator) endField();
    else if (letter === "\n") endRow();
    else if (letter === "\r") {
      if (text[k + 1] !== "\n") endRow();
    } else if (!wasQuoted || letter.trim() !== "") field += letter;
  }
  if (field !== "" || wasQuoted || row.length > 0) endRow();
  return rows;
}

/** The separator that occurs most often in the first line, outside quotes. */
function likelySeparator(text) {
  const counts = new Map([",", ";", "\t", "|"].map((separator) => [separator, 0]));
  let quoted = false;
  for (const letter of text.slice(0, 100000)) {
    if (letter === '"') quoted = !quoted;
    else if (!quoted && (letter === "\n" || letter === "\r")) break;
    else if (!quoted && counts.has(letter)) counts.set(letter, counts.get(letter) + 1);
  }
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}

/** The state that a cell stands for, -1 if it is none; numbers may have a decimal comma. */
function stateOfCell(engine, i, text) {
  const state = engine.stateOf(i, text);
  if (state >= 0 || !/^[+-]?\d+,\d+([eE][+-]?\d+)?$/.test(text)) return state;
  return engine.stateOf(i, text.replace(",", "."));
}

/** What a file holds: its cases, and what in it the network does not know. */
function casesFromCsv(engine, text, origin) {
  const { model } = engine;
  const rows = readCsv(text);
  if (rows.length === 0) return { cases: [], problems: [["The file ", word(origin), " is empty."]] };
  const header = rows[0].map((cell) => cell.text);
  const byName = new Map(model.variables.map((variable, i) => [variable.name, i]));
  const columns = header.map((name, c) => (header.indexOf(name) === c ? byName.get(name) ?? null : null));
  const problems = columnProblems(header, columns);
  if (!columns.some((i) => i !== null)) {
    problems.push(["No column has the name of a variable; the first line has to hold the names."]);
    return { cases: [], problems };
  }
  const unknown = new Map();
  let ragged = 0;
  const cases = rows.slice(1).map((cells, k) => {
    if (cells.length !== header.length) ragged += 1;
    const observed = {};
    columns.forEach((i, c) => {
      const cell = cells[c];
      if (i === null || cell === undefined || cell.text === "") return;
      const s = stateOfCell(engine, i, cell.text);
      if (s >= 0) observed[i] = s;
      else if (cell.quoted || !MISSING.has(cell.text.toLowerCase())) {
        const key = JSON.stringify([i, cell.text]);
        if (!unknown.has(key)) unknown.set(key, { i, text: cell.text, first: k + 2, count: 0 });
        unknown.get(key).count += 1;
      }
    });
    return { name: `${origin} ${k + 1}`, case: { ...EMPTY_CASE, observed } };
  });
  if (cases.length === 0) problems.push(["The file ", word(origin), " has names, but no rows."]);
  if (ragged) problems.push([`${plural(ragged, "row")} had more or fewer cells than the first line.`]);
  return { cases, problems: [...problems, ...stateProblems(model, unknown)] };
}

function columnProblems(header, columns) {
  const unknown = header.filter((name, c) => columns[c] === null && header.indexOf(name) === c);
  const twice = [...new Set(header.filter((name, c) => header.indexOf(name) !== c))];
  const list = (names) => joined([...names.slice(0, 12).map((name) => word(name)), ...(names.length > 12 ? [`${names.length - 12} more`] : [])]);
  const problems = [];
  if (unknown.length) problems.push([`${unknown.length === 1 ? "This column is" : "These columns are"} not in the network and left out: `, ...list(unknown), "."]);
  if (twice.length) problems.push(["More than one column is called ", ...list(twice), "; the first is taken."]);
  return problems;
}

function stateProblems(model, unknown) {
  const all = [...unknown.values()];
  const problems = all.slice(0, 12).map(({ i, text, first, count }) => [
    word(model.variables[i].name), " has no state ", word(text),
    ` (line ${formats.count.format(first)}${count > 1 ? `, and ${plural(count - 1, "more line")}` : ""}): taken as missing.`,
  ]);
  if (all.length > 12) problems.push([`${plural(all.length - 12, "other unknown state")} taken as missing.`]);
  return problems;
}
