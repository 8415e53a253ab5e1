"use strict";

// Figures are drawn when they come near the window. Every text in the data is escaped for plotly.

const SETTINGS = { responsive: true, displayModeBar: false };
const PICTURE_WIDTH = 1000;
const LETTERS = 115; // a line of a title at 15 px in a picture of that width
const BYTES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, i2: Int16Array, u2: Uint16Array,
                i1: Int8Array, u1: Uint8Array };

const stored = (id) => JSON.parse(document.getElementById(id).textContent);
const box = (name) => document.querySelector(`.plot[data-figure="${name}"]`);
const preferred = matchMedia("(prefers-color-scheme: dark)");
const theme = () => document.documentElement.dataset.theme || (preferred.matches ? "dark" : "light");
const look = () => stored("themes")[theme()];
const drawing = new Map();

function fitting(layout, width) { // on a narrow page a square matrix or a sphere is no higher than it is wide
  if (!layout.scene && (!(layout.yaxis || {}).scaleanchor || layout.xaxis2)) return layout.height;
  const { t = 24, b = 48, l = 52, r = 14 } = layout.margin || {};
  return Math.min(layout.height, width - l - r + t + b);
}

function draw(name) {
  if (!drawing.has(name)) {
    const { data, layout } = stored(`data-${name}`);
    const place = box(name);
    layout.template = look();
    layout.autosize = true;
    layout.height = fitting(layout, place.clientWidth);
    place.style.height = `${layout.height || place.clientHeight}px`;
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // a finger on a plot scrolls the page
    drawing.set(name, Plotly.newPlot(place, data, layout, SETTINGS).then(() => {
      place.dataset.drawn = theme();
      return place;
    }));
  }
  return drawing.get(name);
}

async function recolour() {
  for (const [name, drawn] of drawing) {
    const place = await drawn;
    await Plotly.react(place, place.data, { ...place.layout, template: look() }, SETTINGS);
    place.dataset.drawn = theme();
    drawing.set(name, Promise.resolve(place));
  }
}

// Downloads

function numbers(values) {
  if (!values || !values.bdata) return values;
  const bytes = Uint8Array.from(atob(values.bdata), (letter) => letter.charCodeAt(0));
  const flat = Array.from(new BYTES[values.dtype](bytes.buffer));
  const sizes = String(values.shape || "").split(",").map(Number);
  if (sizes.length < 2) return flat;
  return Array.from({ length: sizes[0] }, (_, row) => flat.slice(row * sizes[1], (row + 1) * sizes[1]));
}

function plain(text) { // what plotly is given escaped, as it was
  return String(text).replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&#36;/g, "$")
    .replace(/&amp;/g, "&");
}

function cell(value) { // quoted where needed; a text that a spreadsheet would take for a formula gets an apostrophe
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(value);
  const text = plain(value).replace(/^[=+@\t\r-](?=.)/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function axis(layout, trace, letter) {
  const name = (trace[`${letter}axis`] || letter).replace(letter, `${letter}axis`);
  return layout[name] || {};
}

function curve(trace, start) {
  const x = numbers(trace.x) || [], y = numbers(trace.y) || [], text = numbers(trace.text);
  const more = numbers(trace.customdata) || [];
  const interval = String(trace.hovertemplate).includes("} to %{"); // else other facts about each point
  return Array.from(y, (value, i) => {
    const beside = Array.from(more[i] || []);
    const words = Array.isArray(text) ? text[i] : interval ? "" : beside.join(" ");
    return [...start, x[i] ?? i, value, "", ...(interval ? [beside[0], beside[1]] : ["", ""]), words];
  }).filter((row) => cell(row[3]) !== "");
}

function matrix(trace, start) {
  const z = numbers(trace.z), x = numbers(trace.x), y = numbers(trace.y), text = trace.text || [];
  return z.flatMap((line, i) =>
    Array.from(line, (value, j) => [...start, x ? x[j] : j, y ? y[i] : i, value, "", "", (text[i] || [])[j] ?? ""]));
}

function space(trace, start) { // the third coordinate stands among the values
  const [x, y, z] = [trace.x, trace.y, trace.z].map(numbers), text = trace.text, more = trace.customdata || [];
  return Array.from(z, (value, i) => [...start, x[i], y[i], value, "", "", text ? text[i] : (more[i] || []).join(" ")])
    .filter((row) => cell(row[4]) !== "");
}

function csv({ data, layout }) {
  const steps = ((layout.sliders || [])[0] || {}).steps;
  // Error bands stand in the columns low and high; lines in space are there to guide the eye.
  const shown = data.filter((trace) => trace.fill !== "toself" && !(trace.type === "scatter3d" && trace.mode === "lines"));
  const rows = shown.flatMap((trace) => {
    const panel = (trace.xaxis || "x").slice(1) || "1";
    const step = steps ? (steps.find((one) => one.args[1][data.indexOf(trace)]) || {}).label : "";
    const start = [panel, step || trace.name || ""];
    const rows = trace.type === "scatter3d" ? space : trace.z ? matrix : curve;
    return rows(trace, start);
  });
  const title = (letter) => plain(((axis(layout, shown[0] || {}, letter)).title || {}).text || letter);
  const one = new Set(shown.map((trace) => trace.xaxis || "x")).size === 1;
  const names = ["panel", steps ? "layer" : "series", one ? title("x") : "x", one ? title("y") : "y", "value", "low",
                 "high", "text"];
  const kept = names.map((_, column) => column).filter((column) => rows.some((row) => cell(row[column]) !== ""));
  return [names, ...rows].map((row) => kept.map((column) => cell(row[column])).join(",")).join("\n") + "\n";
}

function titled(layout, words) {
  const lines = [];
  for (const word of words.split(" ")) {
    if (lines.length && lines[lines.length - 1].length + word.length < LETTERS) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const escaped = lines.map((line) => line.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/\$/g, "&#36;"));
  const room = 21 * lines.length + 10;
  const margin = { ...layout.margin, t: ((layout.margin || {}).t || 24) + room };
  return { ...layout, title: { text: escaped.join("<br>") }, margin, height: (layout.height || 400) + room,
           width: PICTURE_WIDTH, autosize: false };
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function download(name, format) {
  if (format === "csv") return save(`${name}.csv`, csv(stored(`data-${name}`)));
  const place = await draw(name);
  const layout = titled(place.layout, document.querySelector(`#${CSS.escape(name)} h3`).textContent);
  const size = { format, filename: name, width: layout.width, height: layout.height, scale: format === "png" ? 2 : 1 };
  return Plotly.downloadImage({ data: place.data, layout }, size);
}

// What the reader does

document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  recolour();
});
preferred.addEventListener("change", recolour);
document.addEventListener("click", ({ target }) => {
  if (target.dataset.save) download(target.dataset.figure, target.dataset.save);
  if (target.hash === "#glossary") document.getElementById("glossary").open = true;
});
addEventListener("DOMContentLoaded", () => {
  if (location.hash === "#glossary") document.getElementById("glossary").open = true;
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target.dataset.figure);
  }, { rootMargin: "700px" });
  document.querySelectorAll(".plot").forEach((place) => near.observe(place));
});
addEventListener("beforeprint", () => document.querySelectorAll(".plot").forEach((place) => draw(place.dataset.figure)));

// Claims: rows that hold every word that is typed, or whose verdict is chosen

const words = document.getElementById("claims-words");

if (words) {
  const rows = Array.from(document.querySelectorAll("#claims-table tbody tr"), (row) => [row, row.textContent.toLowerCase()]);
  const count = document.getElementById("claims-count");
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} claims`;
  };
  words.addEventListener("input", filter);
  filter();
}
