// Maps between tokens on a canvas: cells by colour, what is masked hatched, every cell in words by mouse and keys.
import { colours, el, number, percent, quoted, theme } from "./page.js";

const SHADES = 256;
const LABELLED = 11; // pixels that a label needs
const tables = {};

const channels = (colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Red, green and blue of 256 shades of a scale. */
function table(scale) {
  if (tables[scale]) return tables[scale];
  const stops = colours().scales[scale].map(channels);
  tables[scale] = Array.from({ length: SHADES }, (_, at) => {
    const place = (at / (SHADES - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((channel, which) => channel + (place - low) * (stops[low + 1][which] - channel));
  });
  return tables[scale];
}

/** The cells as an image, a pixel for each; masked ones are transparent. */
function image({ values, seen, size, low, high, signed }) {
  const made = el("canvas", { width: size, height: size });
  const pixels = new ImageData(size, size);
  const shades = table(signed ? "diverging" : "sequential");
  for (let at = 0; at < size * size; at++) {
    if (!seen[at] || Number.isNaN(values[at])) continue;
    const share = Math.min(Math.max((values[at] - low) / (high - low || 1), 0), 1);
    const shade = shades[Math.round((SHADES - 1) * (signed ? share : Math.sqrt(share)))];
    pixels.data.set([...shade, 255], 4 * at);
  }
  made.getContext("2d").putImageData(pixels, 0, 0);
  return made;
}

/** A small map without words. */
export function thumbnail(given) {
  const canvas = image(given);
  canvas.className = "map small";
  canvas.redraw = () => canvas.getContext("2d").drawImage(image(given), 0, 0);
  return canvas;
}

function hatch(context, left, top, side) {
  context.save();
  context.beginPath();
  context.rect(left, top, side, side);
  context.clip();
  context.strokeStyle = theme().line;
  for (let at = -side; at < side; at += 6) {
    context.beginPath();
    context.moveTo(left + at, top + side);
    context.lineTo(left + at + side, top);
    context.stroke();
  }
  context.restore();
}

const LETTERS = 11;
const LETTER = 6.8; // pixels of a letter at 11 px
const cut = (text) => (text.trim().length > LETTERS ? `${text.trim().slice(0, LETTERS - 1)}…` : text.trim()) || "␣";

/** Names of some tokens along both sides, as many as there is room for. */
function labels(context, texts, left, side) {
  const cell = side / texts.length;
  const every = Math.max(1, Math.ceil(LABELLED / cell));
  context.fillStyle = theme().ink;
  context.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
  context.textBaseline = "middle";
  for (let at = 0; at < texts.length; at += every) {
    const name = cut(texts[at]);
    context.textAlign = "right";
    context.fillText(name, left - 5, Math.max((at + 0.5) * cell, LABELLED / 2)); // the first one is not cut at the edge
    context.save();
    context.translate(left + Math.min((at + 0.5) * cell, side - LABELLED / 2), side + 5);
    context.rotate(-Math.PI / 2);
    context.fillText(name, 0, 0);
    context.restore();
  }
}

/** A map with names along its sides; pointing at a cell, or the arrow keys, say it in words. */
export function tokenMap(given) {
  const { title, texts, values, seen, size, signed } = given;
  const said = el("p", { class: "readout", "aria-live": "polite" });
  const canvas = el("canvas", { class: "map", tabindex: "0", role: "img", "aria-label": `${title}: ${size} by ${size}, queries down, keys across. Arrow keys read the cells.` });
  let at = null;
  const geometry = () => {
    const width = canvas.clientWidth;
    const margin = Math.min(12 + LETTER * Math.max(...texts.map((text) => cut(text).length)), width / 3.5);
    return { width, margin, side: width - margin };
  };
  const paint = () => {
    const { width, margin, side } = geometry();
    if (!width) return;
    const sharp = devicePixelRatio || 1;
    canvas.width = width * sharp;
    canvas.height = width * sharp;
    const context = canvas.getContext("2d");
    context.scale(sharp, sharp);
    hatch(context, margin, 0, side);
    context.imageSmoothingEnabled = false;
    context.drawImage(image(given), margin, 0, side, side);
    context.strokeStyle = theme().line;
    context.strokeRect(margin + 0.5, 0.5, side - 1, side - 1);
    labels(context, texts, margin, side);
    if (!at) return;
    const cell = side / size;
    context.strokeStyle = theme().ink;
    context.lineWidth = 2;
    context.strokeRect(margin + at[1] * cell, at[0] * cell, cell, cell);
  };
  const go = (query, key) => {
    if (query < 0 || key < 0 || query >= size || key >= size) return;
    at = [query, key];
    const value = values[query * size + key];
    const words = !seen[query * size + key] ? "masked" : signed ? number(value) : percent(value, 1);
    said.textContent = `${quoted(texts[query])} (${query}) → ${quoted(texts[key])} (${key}): ${words}`;
    paint();
    given.over?.(query);
  };
  canvas.addEventListener("pointermove", (event) => {
    const { margin, side } = geometry();
    const cell = side / size;
    go(Math.floor(event.offsetY / cell), Math.floor((event.offsetX - margin) / cell));
  });
  for (const gone of ["pointerleave", "blur"]) canvas.addEventListener(gone, () => given.left?.());
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const [query, key] = at ?? [0, 0];
    go(at ? query + step[0] : 0, at ? key + step[1] : 0);
  });
  canvas.redraw = paint;
  new ResizeObserver(paint).observe(canvas);
  return el("figure", {}, title ? el("figcaption", {}, title) : null, canvas, said);
}

/** A pattern without its first key, each row made to sum to 1 again; a row with nothing left is masked. */
export function withoutFirst(values, seen, size) {
  const [kept, visible] = [new Float32Array(values), new Uint8Array(seen)];
  for (let query = 0; query < size; query++) {
    const row = query * size;
    let total = 0;
    for (let key = 1; key < size; key++) total += values[row + key];
    visible[row] = 0;
    for (let key = 0; key < size; key++) {
      if (key === 0 || total <= 0) visible[row + key] = 0;
      kept[row + key] = key === 0 || total <= 0 ? 0 : values[row + key] / total;
    }
  }
  return { values: kept, seen: visible };
}
