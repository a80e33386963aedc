// Words, numbers and elements. Whatever a network holds is put into text nodes: nothing here reads markup.

const SVG_SPACE = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick: f`) and children: elements, or strings, which become text. */
function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS(SVG_SPACE, tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an attribute only where it changes: what stays the same costs the browser nothing. */
function setAttribute(element, key, value) {
  if (value === null) {
    if (element.hasAttribute(key)) element.removeAttribute(key);
  } else if (element.getAttribute(key) !== value) element.setAttribute(key, value);
}

function setText(element, text) {
  if (element.firstChild === null || element.firstChild !== element.lastChild) element.textContent = text;
  else if (element.firstChild.data !== text) element.firstChild.data = text;
}

/** A name as it is shown: one without any visible letter is quoted, with its letters spelled out. */
function visible(name) {
  if (/[^\s\p{C}\p{Z}\p{M}\u115f\u1160\u2800\u3164\uffa0]/u.test(name)) return name;
  const spelled = [...name].map((letter) => (letter === " " ? " " : `\\u{${letter.codePointAt(0).toString(16)}}`));
  return `“${spelled.join("")}”`;
}

/** A name in a sentence: its direction and its letters stay its own. */
function word(name, className = "word") {
  return make("bdi", { class: className }, visible(name));
}

/** The same where only plain text is possible, as in labels for screen readers. */
const plainWord = (name) => `\u2068${visible(name)}\u2069`;

// ---- numbers, as the browser's locale writes them ---------------------------------------------------------------------

const formats = (() => {
  let locales;
  try {
    locales = Intl.getCanonicalLocales([...navigator.languages]);
  } catch {
    locales = undefined;
  }
  const format = (options) => new Intl.NumberFormat(locales, options);
  return {
    percent: format({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }),
    whole: format({ style: "percent", maximumFractionDigits: 0 }),
    significant: format({ maximumSignificantDigits: 4 }),
    scientific: format({ notation: "scientific", maximumSignificantDigits: 4 }),
    probability: format({ minimumFractionDigits: 4, maximumFractionDigits: 4 }),
    signed: format({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" }),
    bits: format({ minimumFractionDigits: 3, maximumFractionDigits: 3 }),
    count: format({}),
    all: format({ maximumSignificantDigits: 17 }),
  };
})();

/** A probability for a narrow column; what is neither impossible nor certain is not written as if it were. */
function percent(p) {
  if (p > 0 && p < 0.0005) return `<${formats.percent.format(0.001)}`;
  if (p < 1 && p >= 0.9995) return `>${formats.percent.format(0.999)}`;
  if (p === 0 || p === 1) return formats.whole.format(p);
  return formats.percent.format(p);
}

/** A probability of any size, with four digits; one that underflows is written by its logarithm. */
function probability(logProbability) {
  if (logProbability === -Infinity) return formats.count.format(0);
  const p = Math.exp(logProbability);
  if (p >= 1e-4) return formats.significant.format(p);
  if (p > 1e-290) return formats.scientific.format(p);
  const tens = logProbability / Math.LN10;
  const exponent = Math.floor(tens);
  return `${formats.significant.format(10 ** (tens - exponent))}E${formats.count.format(exponent)}`;
}

/** A number that is neither a percentage nor a probability. */
function number(x) {
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-4 || size >= 1e7) ? formats.scientific.format(x) : formats.significant.format(x);
}

const plural = (n, one, many = `${one}s`) => `${formats.count.format(n)} ${n === 1 ? one : many}`;

/** Parts joined as a sentence does: a, b and c. */
function joined(parts, last = "and") {
  return parts.flatMap((part, k) => (k === 0 ? [part] : k === parts.length - 1 ? [` ${last} `, part] : [", ", part]));
}

// ---- signs ------------------------------------------------------------------------------------------------------------

const ICONS = {
  undo: "M7 4 3 8l4 4M3 8h7a4 4 0 0 1 0 8H8",
  redo: "m11 4 4 4-4 4m4-4H8a4 4 0 0 0 0 8h2",
  clear: "M4 5h10M7 5V3h4v2M6 5l.6 10h4.8L12 5",
  search: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3m3.6 8.6L15 15",
  star: "m9 2.5 2 4.3 4.7.6-3.4 3.2.9 4.6L9 12.9l-4.2 2.3.9-4.6L2.3 7.4l4.7-.6z",
  eye: "M1.5 9S4.2 4.5 9 4.5 16.5 9 16.5 9 13.8 13.5 9 13.5 1.5 9 1.5 9M9 7a2 2 0 1 1 0 4 2 2 0 0 1 0-4",
  compare: "M3 3.5h5v11H3zM10 3.5h5v11h-5zM10 8h5M10 11h5",
  fit: "M3 7V3h4M11 3h4v4M15 11v4h-4M7 15H3v-4",
  plus: "M9 4v10M4 9h10",
  minus: "M4 9h10",
  save: "M9 3v8m-3-3 3 3 3-3M3 12v3h12v-3",
  theme: "M9 3a6 6 0 1 0 0 12zM9 3a6 6 0 0 1 0 12",
  help: "M6.5 6.5a2.5 2.5 0 1 1 3.7 2.2C9.3 9.2 9 9.7 9 10.6M9 13.4v.1",
  close: "m4.5 4.5 9 9m0-9-9 9",
  check: "m3.5 9.5 3.5 3.5 7.5-8",
  cross: "m5 5 8 8m0-8-8 8",
  does: "M4 3v12M8 9h6m-3-3 3 3-3 3",
  scale: "M9 3v11M5 15h8M3 6h12M3 6l-1.5 4h3zM15 6l-1.5 4h3z",
  target: "M9 2.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13m0 4a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5",
  warning: "M9 3 16 15H2zM9 7.5v3.5m0 2v.1",
  more: "M4 9h.1M9 9h.1M14 9h.1",
  panel: "M3 4h12v10H3zM11 4v10",
};

/** A small drawing that goes with words; it says nothing to a screen reader by itself. */
function icon(name) {
  const path = make("svg:path", { d: ICONS[name] });
  return make("svg:svg", { class: `icon icon-${name}`, viewBox: "0 0 18 18", "aria-hidden": "true" }, path);
}

/** A button with an icon and, where there is room, its words. */
function button(words, iconName, onclick, attributes = {}) {
  const { description = words, ...others } = attributes;
  return make(
    "button",
    { type: "button", title: description, "aria-label": description, onclick, ...others },
    iconName ? icon(iconName) : null,
    words ? make("span", { class: "words" }, words) : null,
  );
}
