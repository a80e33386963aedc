"use strict";
/*
 * Unpacks the script of the page and runs it. The script is packed as "deflate" (P. Deutsch 1996, RFC 1951) and base64,
 * so that a file is a third as large; the policy of the page has the hash of the script itself, and allows no other.
 */

/* The bases of lengths and distances, and how many bits are added to each length (RFC 1951, section 3.2.5). */
const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10];
for (let bits = 1; bits < 6; bits++) for (let i = 4; i < 8; i++) LENGTHS.push((i << bits) + 3);
LENGTHS[28] = 258;
const LENGTH_BITS = LENGTHS.map((_, i) => (i < 4 || i === 28 ? 0 : (i >> 2) - 1));
const DISTANCES = [1, 2];
for (let bits = 0; bits < 14; bits++) DISTANCES.push((2 << bits) + 1, (3 << bits) + 1);
/* In which order the lengths of codes of lengths are written (section 3.2.7). */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** A canonical Huffman code: how many codes have each length, and the symbols in the order of their codes. */
function huffman(lengths) {
  const counts = new Uint16Array(16);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  const symbols = [...lengths.keys()].filter((symbol) => lengths[symbol] > 0);
  symbols.sort((a, b) => lengths[a] - lengths[b] || a - b);
  return { counts, symbols };
}

/** Reads bits, the lowest first, and symbols of Huffman codes. */
class Bits {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(count) {
    let value = 0;
    for (let i = 0; i < count; i++, this.at++) value |= ((this.bytes[this.at >> 3] >> (this.at & 7)) & 1) << i;
    return value;
  }

  toNextByte() {
    this.at = (this.at + 7) & ~7;
  }

  symbol({ counts, symbols }) {
    let [code, first, index] = [0, 0, 0];
    for (let length = 1; length < 16; length++) {
      code |= this.take(1);
      if (code - first < counts[length]) return symbols[index + code - first];
      index += counts[length];
      first = (first + counts[length]) << 1;
      code <<= 1;
    }
    throw new Error("the packed script is damaged");
  }
}

/** The codes of literals and distances that are fixed (section 3.2.6). */
function fixedCodes() {
  const literals = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
  return [huffman(literals), huffman(new Array(30).fill(5))];
}

/** The codes that a block begins with. */
function writtenCodes(bits) {
  const [nLiterals, nDistances, nCodes] = [bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4];
  const own = new Array(19).fill(0);
  for (let i = 0; i < nCodes; i++) own[ORDER[i]] = bits.take(3);
  const code = huffman(own);
  const lengths = [];
  while (lengths.length < nLiterals + nDistances) {
    const next = bits.symbol(code);
    const value = next < 16 ? next : next === 16 ? lengths[lengths.length - 1] : 0;
    const times = next < 16 ? 1 : next === 16 ? 3 + bits.take(2) : next === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    for (let i = 0; i < times; i++) lengths.push(value);
  }
  return [huffman(lengths.slice(0, nLiterals)), huffman(lengths.slice(nLiterals))];
}

/** The n bytes that were packed. */
function inflate(packed, n) {
  const bits = new Bits(packed);
  const out = new Uint8Array(n);
  let at = 0;
  for (let last = 0; !last; ) {
    last = bits.take(1);
    const kind = bits.take(2);
    if (kind === 0) {
      bits.toNextByte();
      const length = bits.take(16);
      bits.take(16);
      for (let i = 0; i < length; i++) out[at++] = bits.take(8);
      continue;
    }
    const [literals, distances] = kind === 1 ? fixedCodes() : writtenCodes(bits);
    for (let next = bits.symbol(literals); next !== 256; next = bits.symbol(literals)) {
      if (next < 256) {
        out[at++] = next;
        continue;
      }
      const length = LENGTHS[next - 257] + bits.take(LENGTH_BITS[next - 257]);
      const code = bits.symbol(distances);
      const distance = DISTANCES[code] + bits.take(Math.max(0, (code >> 1) - 1));
      for (let i = 0; i < length; i++, at++) out[at] = out[at - distance];
    }
  }
  return out;
}

function unpack(id) {
  const element = document.getElementById(id);
  const packed = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(inflate(packed, Number(element.dataset.size)));
  document.body.append(script);
}
