"use strict";

// Figures are drawn when they come near the window. Every text in the data is escaped for plotly.

const SETTINGS = { responsive: true, displayModeBar: false };
const PICTURE_WIDTH = 1000;
const NARROW = 500; // pixels
const SHEET = 660; // pixels between the margins of a sheet, A4 or letter
const LETTERS = 115; // a line of a title at 15 px in a picture of that width

const stored = (id) => JSON.parse(document.getElementById(id).textContent);
const box = (name) => document.querySelector(`.plot[data-figure="${name}"]`);
const preferred = matchMedia("(prefers-color-scheme: dark)");
const paper = matchMedia("print");
const narrow = matchMedia(`(max-width: ${NARROW}px)`);
let printing = false;
const chosen = () => document.documentElement.dataset.theme || (preferred.matches ? "dark" : "light");
const theme = () => (printing || paper.matches ? "light" : chosen()); // paper is white
const look = () => stored("themes")[theme()];
const drawing = new Map();
const room = (place) => (printing ? SHEET : place.clientWidth);

const darker = stored("dark-colours");
const coloured = (value) => (theme() === "dark" ? shaded(value, darker) : value);

function prepared(name, place) { // data and layout as they are drawn; the page has a slider of its own
  const { data, layout } = stored(`data-${name}`);
  const slider = (layout.sliders || [])[0];
  if (slider) {
    delete layout.sliders;
    layout.height -= SLIDER;
    layout.margin = { ...layout.margin, b: 54 };
  }
  layout.template = look();
  if (printing) layout.width = SHEET; // the window may be wider than a sheet
  layout.autosize = !printing;
  layout.uirevision = "kept"; // what the reader turned, enlarged or hid stays so in other colours
  layout.height = fitting(layout, room(place), layout.height);
  if (room(place) < NARROW) narrowed(layout, room(place));
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // a finger on a plot scrolls the page
  return { data: coloured(data), layout: coloured(layout), slider };
}

function shown(data, slider, step) { // the traces of one step of a slider
  const visible = slider.steps[step].args[1];
  data.forEach((trace, i) => { trace.visible = visible[i]; });
}

function draw(name) {
  if (!drawing.has(name)) {
    const place = box(name);
    const { data, layout, slider } = prepared(name, place);
    place.style.height = `${layout.height || place.clientHeight}px`;
    if (slider) ruled(place, slider, (layout.meta || {}).titles);
    const colours = theme();
    drawing.set(name, Plotly.newPlot(place, data, layout, SETTINGS).then(() => {
      place.on("plotly_click", ({ points }) => openHead(headOf(points[0])));
      place.dataset.drawn = colours;
      return place;
    }));
  }
  return drawing.get(name);
}

function ruled(place, slider, titles) { // a slider that the keyboard moves; the title follows it
  const name = place.dataset.figure;
  const label = Object.assign(document.createElement("label"), { className: "slider" });
  const output = document.createElement("output");
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: slider.steps.length - 1, step: 1 });
  input.value = slider.active || 0;
  const prefix = (slider.currentvalue || {}).prefix ?? "";
  const say = () => { output.textContent = `${prefix}${plain(slider.steps[input.value].label)}`; };
  input.setAttribute("aria-label", prefix.trim() || "choose");
  input.addEventListener("input", async () => {
    say();
    input.setAttribute("aria-valuetext", output.textContent);
    place.dataset.step = input.value;
    if (titles) document.querySelector(`#${CSS.escape(name)} h3`).textContent = titles[input.value];
    await drawing.get(name);
    Plotly.restyle(place, { visible: slider.steps[input.value].args[1] });
  });
  say();
  place.dataset.step = input.value;
  label.append(output, input);
  place.after(label);
}

async function redraw(place) { // in the colours and at the width of now; what is folded away has no width
  const { data, layout, slider } = prepared(place.dataset.figure, place);
  if (slider) shown(data, slider, place.dataset.step);
  if (!room(place)) layout.height = place.layout.height;
  place.style.height = `${layout.height || place.clientHeight}px`;
  const colours = theme();
  await Plotly.react(place, data, layout, SETTINGS);
  place.dataset.drawn = colours;
}

async function recolour() {
  for (const drawn of drawing.values()) await redraw(await drawn);
}

// Downloads

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

const heading = (one) => plain((one.title || {}).text || "");
const ofTitle = (list) => { // what all panels call an axis, be it written below one of them alone
  const known = [...new Set(list.map(heading).filter(Boolean))];
  return known.length === 1 ? known[0] : "";
};

function along(one, title) { // what the axis says of a place on it; a head among many beside its block is its block's
  const places = Array.from(numbers(one.tickvals) || []), ticks = one.ticktext || [];
  const every = places.length > 1 && places.every((place, i) => place === i); // else ticks name some places alone
  const names = numbers(one.categoryarray) || (one.type !== "log" && every && ticks.length ? ticks : null);
  const twice = names && new Set(names).size < names.length;
  return (place, text) => {
    const head = title === "block" && NAME.exec(String(text ?? ""));
    if (head) return Number(head[1]);
    const name = names && typeof place === "number" ? names[Math.round(place)] : undefined;
    return name === undefined ? place : twice ? `${Math.round(place)} ${name}` : name;
  };
}

function curve(trace, start, [across, up]) {
  const x = numbers(trace.x) || [], y = numbers(trace.y) || [], text = numbers(trace.text);
  const more = numbers(trace.customdata) || [];
  const interval = String(trace.hovertemplate).includes("} to %{"); // else other facts about each point
  return Array.from(y, (value, i) => {
    const beside = [more[i] ?? []].flat();
    const words = Array.isArray(text) ? text[i] : interval ? "" : beside.join(" ");
    const place = across(x[i] ?? i, words);
    return [...start, place, up(value), "", ...(interval ? [beside[0], beside[1]] : ["", ""]), words === place ? "" : words];
  }).filter((row) => cell(row[4]) !== "");
}

function matrix(trace, start, [across, up]) {
  const z = numbers(trace.z), x = numbers(trace.x), y = numbers(trace.y), text = trace.text || [];
  return z.flatMap((line, i) => Array.from(line, (value, j) =>
    [...start, across(x ? x[j] : j), up(y ? y[i] : i), value, "", "", (text[i] || [])[j] ?? ""]));
}

function space(trace, start) { // the third coordinate stands among the values
  const [x, y, z] = [trace.x, trace.y, trace.z].map(numbers), text = trace.text, more = trace.customdata || [];
  return Array.from(z, (value, i) => [...start, x[i], y[i], value, "", "", text ? text[i] : (more[i] || []).join(" ")])
    .filter((row) => cell(row[5]) !== "");
}

function panelNames(layout, traces) { // by the title above each, else by that of its column and by what stands beside its row
  const panels = new Map(traces.map((trace) => [trace.xaxis || "x", [axis(layout, trace, "x"), axis(layout, trace, "y")]]));
  if (panels.size < 2) return new Map([...panels.keys()].map((key) => [key, "1"]));
  const near = (one, other) => Math.abs(one - other) < 1e-6;
  const titles = (layout.annotations || []).filter((one) => one.xref === "paper" && one.yref === "paper");
  const over = ([x, y], own) => titles
    .filter((one) => near(one.x, (x.domain[0] + x.domain[1]) / 2) && (own ? near(one.y, y.domain[1]) : one.y > y.domain[1] - 1e-6))
    .sort((one, other) => one.y - other.y).map((one) => plain(one.text))[0];
  const beside = ([, y]) => heading(y) || [...panels.values()].filter(([, other]) => near(other.domain[1], y.domain[1]))
    .map(([, other]) => heading(other)).find(Boolean);
  const all = [...panels.values()].every((panel) => over(panel, true));
  const name = (panel) => (all ? over(panel, true) : [over(panel, false), beside(panel)].filter(Boolean).join(", "));
  const names = [...panels].map(([key, panel]) => [key, name(panel)]);
  const number = (key) => key.slice(1) || "1";
  return new Map(names.map(([key, words]) =>
    [key, !words || names.filter(([, other]) => other === words).length > 1 ? `${words} ${number(key)}`.trim() : words]));
}

function stepName(slider) { // what a slider chooses, as it says itself: layer, block, head
  return ((slider.currentvalue || {}).prefix || "").trim() || slider.name || "shown";
}

function csv({ data, layout }) {
  const slider = (layout.sliders || [])[0], steps = (slider || {}).steps;
  // Error bands stand in the columns low and high; lines in space guide the eye, labels repeat what they stand at.
  const shown = data.filter((trace) => trace.fill !== "toself" && !(trace.type === "scatter3d" && trace.mode === "lines")
    && !(trace.mode === "text" && trace.hoverinfo === "skip"));
  const titles = ["x", "y"].map((letter) => ofTitle(shown.map((trace) => axis(layout, trace, letter))));
  const panels = panelNames(layout, shown);
  const rows = shown.flatMap((trace) => {
    const step = steps ? (steps.find((one) => one.args[1][data.indexOf(trace)]) || {}).label : "";
    const start = [panels.get(trace.xaxis || "x"), step, trace.name || ""];
    const places = ["x", "y"].map((letter) => axis(layout, trace, letter)).map((one, i) => along(one, heading(one) || titles[i]));
    const rows = trace.type === "scatter3d" ? space : trace.z ? matrix : curve;
    return rows(trace, start, places);
  });
  const [x, y] = titles[0] === titles[1] ? titles.map((title, i) => `${title && `${title}, `}${"xy"[i]}`) : titles;
  const names = ["panel", steps ? stepName(slider) : "", "series", x || "x", y || "y", "value", "low", "high", "text"];
  const kept = names.map((_, column) => column).filter((column) => rows.some((row) => cell(row[column]) !== ""));
  return [names, ...rows].map((row) => kept.map((column) => cell(row[column])).join(",")).join("\n") + "\n";
}

function titled(layout, words) {
  const lines = [];
  for (const word of words.split(" ")) {
    if (lines.length && lines[lines.length - 1].length + word.length < LETTERS) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const room = 21 * lines.length + 10;
  const margin = { ...layout.margin, t: ((layout.margin || {}).t || 24) + room };
  return { ...layout, title: { text: lines.map(escaped).join("<br>") }, margin, height: (layout.height || 400) + room,
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

// Heads: a click on one, wherever it stands, opens its card

const NAME = /^L(\d+)H\d+$/;
const heads = document.getElementById("heads") ? stored("heads") : null;
const dialog = document.getElementById("head-card");

function headOf(point) { // the head that a point of a figure stands for, if any
  const { data, x, y, text } = point || {};
  const named = [text, data && data.name].map((one) => String(one ?? "")).find((one) => NAME.test(one));
  if (named) return named;
  return data && String(data.hovertemplate).startsWith("L%{y}H%{x}") ? `L${y}H${x}` : null;
}

function element(tag, text, more = {}) {
  return Object.assign(document.createElement(tag), { textContent: text }, more);
}

function mapOf(place) { // the mean attention map, queries from top to bottom
  const { bins } = heads;
  const bytes = Uint8Array.from(atob(heads.maps), (letter) => letter.charCodeAt(0)).subarray(place * bins * bins, (place + 1) * bins * bins);
  const canvas = Object.assign(document.createElement("canvas"), { width: bins, height: bins });
  const context = canvas.getContext("2d");
  const image = context.createImageData(bins, bins);
  const [ink, paper] = theme() === "dark" ? [[86, 180, 233], [20, 23, 28]] : [[0, 80, 126], [255, 255, 255]];
  bytes.forEach((value, i) => {
    for (let channel = 0; channel < 3; channel++) image.data[4 * i + channel] = paper[channel] + (value / 255) * (ink[channel] - paper[channel]);
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

function fillCard(name) {
  const place = heads.names.indexOf(name);
  const inside = Object.assign(document.createElement("div"), { className: "inside" });
  const top = Object.assign(document.createElement("div"), { className: "top" });
  top.append(element("h2", name), element("span", heads.kinds[place]), element("button", "Close", { type: "button", onclick: () => dialog.close() }));
  inside.append(top);
  if (heads.bins) {
    const figure = document.createElement("figure");
    figure.append(mapOf(place), element("figcaption", "mean attention: queries downward, keys to the right, by square root"));
    inside.append(figure);
  }
  let section = null, table = null;
  heads.rows.forEach(([part, label], row) => {
    if (part !== section) {
      section = part;
      table = document.createElement("table");
      inside.append(element("h3", part), table);
    }
    const line = document.createElement("tr");
    line.append(element("th", label), element("td", heads.values[place][row]));
    table.append(line);
  });
  dialog.replaceChildren(inside);
}

function showHead() { // the card that the address names, or none
  const name = location.hash.slice(1);
  const known = heads && NAME.test(name) && heads.names.includes(name);
  if (known) fillCard(name);
  if (known && !dialog.open) dialog.showModal();
  if (!known && dialog.open) dialog.close();
}

function openHead(name) {
  if (!name || !heads || !heads.names.includes(name)) return;
  history.pushState({ card: true }, "", `#${name}`);
  showHead();
}

dialog.addEventListener("close", () => {
  if (!NAME.test(location.hash.slice(1))) return;
  if ((history.state || {}).card) history.back();
  else history.replaceState(null, "", location.pathname + location.search);
});
dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });

// What the reader does

function unfold() { // whatever the address names is not hidden
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target || NAME.test(target.id)) return;
  let opened = false;
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS" && !one.open) opened = one.open = true;
  if (opened) target.scrollIntoView();
}

document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  recolour();
});
preferred.addEventListener("change", recolour);
narrow.addEventListener("change", recolour);
document.addEventListener("click", (event) => {
  const { target } = event;
  if (target.dataset.save) download(target.dataset.figure, target.dataset.save);
  const name = target.hash ? target.hash.slice(1) : "";
  if (heads && NAME.test(name)) {
    event.preventDefault();
    openHead(name);
  } else if (target.hash && target.hash === location.hash) unfold();
});
addEventListener("hashchange", () => { showHead(); unfold(); });
addEventListener("popstate", showHead);
addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("list"); // a page of claims alone has none
  if (list) list.open = matchMedia("(min-width: 1100px)").matches;
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target.dataset.figure);
  }, { rootMargin: "700px" });
  document.querySelectorAll(".plot").forEach((place) => near.observe(place));
  showHead();
  unfold();
});

// On paper: light, unfolded, no wider than a sheet; afterwards as it was

let unfolded = [];

function toPaper() { // nothing here may wait: the sheets are laid out when it returns
  printing = true;
  unfolded = Array.from(document.querySelectorAll("main details:not([open])"));
  unfolded.forEach((one) => { one.open = true; });
  for (const place of document.querySelectorAll(".plot")) {
    if (place.dataset.drawn) redraw(place);
    else draw(place.dataset.figure);
  }
}

async function fromPaper() {
  printing = false;
  await recolour();
  unfolded.splice(0).forEach((one) => { one.open = false; });
}

paper.addEventListener("change", recolour);
addEventListener("beforeprint", toPaper);
addEventListener("afterprint", fromPaper);

// Figures and claims: those that hold every word that is typed

const wanted = (field) => field.value.toLowerCase().split(/\s+/).filter(Boolean);
const figureWords = document.getElementById("figures-words");

figureWords?.addEventListener("input", () => {
  document.querySelectorAll("#list li").forEach((item) => {
    const text = `${item.textContent} ${item.firstChild.title}`.toLowerCase();
    item.hidden = !wanted(figureWords).every((word) => text.includes(word));
  });
});

const words = document.getElementById("claims-words");

if (words) {
  const rows = Array.from(document.querySelectorAll("#claims-table tbody tr"), (row) => [row, row.textContent.toLowerCase()]);
  const count = document.getElementById("claims-count");
  const filter = () => {
    let found = 0;
    for (const [row, text] of rows) {
      row.hidden = !wanted(words).every((word) => text.includes(word));
      found += !row.hidden;
    }
    count.textContent = `${found} of ${rows.length} claims`;
  };
  words.addEventListener("input", filter);
  filter();
}
