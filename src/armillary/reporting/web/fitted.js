"use strict";

// How figures fit a page: what a narrow one has no room for, the shades of a dark one, and how plotly writes numbers and texts.
// The report, the explorer and the site of the documentation share it.

const SLIDER = 84; // pixels that plotly's own slider takes; pages have one that a keyboard moves
const MOST_NAMES = 16; // along an axis of a panel on a narrow page
const [MOST_LETTERS, NAME_LETTERS] = [20, 14]; // of names beside an axis there: those of an axis with longer ones are cut
const LETTER = 7.5; // pixels, of a name below an axis there
const SMALL = 10; // pixels, the titles of panels side by side there
const BYTES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, i2: Int16Array, u2: Uint16Array,
                i1: Int8Array, u1: Uint8Array };

function fitting(layout, width, most) { // on a narrow page a square matrix or a sphere is no higher than it is wide
  if (!layout.scene && (!(layout.yaxis || {}).scaleanchor || layout.xaxis2)) return most;
  const { t = 24, b = 48, l = 52, r = 14 } = layout.margin || {};
  return Math.min(most, width - l - r + t + b);
}

function shaded(value, shades) { // the same hues in other shades
  if (typeof value === "string") return shades[value] || value;
  if (Array.isArray(value)) return value.map((one) => shaded(one, shades));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shaded(one, shades)]));
  return value;
}

function narrowed(layout, width) { // what would lie on itself on a narrow page
  for (const [name, axis] of Object.entries(layout)) {
    thinned(axis);
    if (/^yaxis/.test(name)) shortened(axis);
    if (/^xaxis/.test(name)) staggered(axis, width);
  }
  if (!layout.xaxis2) return;
  layout.annotations = (layout.annotations || []).map((one) => ({ ...one, font: { ...one.font, size: SMALL } }));
}

function shortened(axis) { // long names beside an axis, which would leave no room for what it stands at
  if (!axis || !Array.isArray(axis.ticktext)) return;
  if (!axis.ticktext.some((text) => [...plain(text)].length > MOST_LETTERS)) return;
  const cut = (letters) => (letters.length > NAME_LETTERS ? [...letters.slice(0, NAME_LETTERS - 1), "…"] : letters);
  axis.ticktext = axis.ticktext.map((text) => escaped(cut([...plain(text)]).join("")));
}

function staggered(axis, width) { // every other name below an axis stands lower where they would run into each other
  if (!axis || !Array.isArray(axis.ticktext) || axis.tickangle !== 0) return;
  const names = axis.ticktext.map((text) => String(text).split("<br>"));
  const letters = names.reduce((sum, lines) => sum + Math.max(...lines.map((line) => line.length)) + 1, 0);
  const [from, to] = axis.domain || [0, 1];
  if (letters * LETTER <= (width - 66) * (to - from)) return;
  const lines = Math.max(...names.map((one) => one.length));
  axis.ticktext = axis.ticktext.map((text, i) => (i % 2 ? "<br>".repeat(lines) : "") + text);
}

function thinned(axis) { // names along an axis that would lie on each other on a narrow page
  if (!axis || !Array.isArray(axis.ticktext) || axis.ticktext.length <= MOST_NAMES) return;
  const every = Math.ceil(axis.ticktext.length / (MOST_NAMES / 2));
  const some = (list) => Array.from(list).filter((_, i) => i % every === 0);
  [axis.tickvals, axis.ticktext] = [some(numbers(axis.tickvals)), some(axis.ticktext)];
}

function numbers(values) { // what plotly packs as bytes, as lists
  if (!values || !values.bdata) return values;
  const bytes = Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0));
  const flat = Array.from(new BYTES[values.dtype](bytes.buffer));
  const sizes = String(values.shape || "").split(",").map(Number);
  if (sizes.length < 2) return flat;
  return Array.from({ length: sizes[0] }, (_, row) => flat.slice(row * sizes[1], (row + 1) * sizes[1]));
}

function plain(text) { // what plotly is given escaped, as it was
  return String(text).replace(/-<br>/g, "-").replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&#36;/g, "$")
    .replace(/&amp;/g, "&");
}

function escaped(text) { // for plotly, which reads tags, entities and, where MathJax is near, dollars
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");
}
