// Elements, requests, plots, controls: what every view needs.

/** An element. Strings become text, never markup; on* are listeners. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const busy = (words) => el("p", { class: "busy", role: "status" }, words);
export const problem = (words) => el("p", { class: "error", role: "alert" }, coded(words));
export const hint = (words) => el("p", { class: "hint" }, coded(words));

/** Sentences above every view, of a link that was mended; they stay until the next step. */
export const notice = (...sentences) => document.getElementById("notice").append(...sentences.map(hint));
export const noNotice = () => document.getElementById("notice").replaceChildren();

/** A sentence whose words between backticks are set as code. */
export const coded = (words) => words.split(/`([^`]+)`/).map((part, at) => (at % 2 ? el("code", {}, part) : part));

/** JSON of the server; an error is thrown with the server's own line. */
async function answered(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The explorer does not answer. Is `armillary explore` still running?");
  }
  const content = await response.json();
  if (!response.ok) throw new Error(content.error || `The explorer answered ${response.status} without a word.`);
  return content;
}

export const read = (path, signal) => answered(`api/${path}`, { signal });
export const post = (path, body = {}, signal) =>
  answered(`api/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });

const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 500px)");
let themes = null;

/** Every colour by meaning, scale and theme; read once, before anything is drawn. */
export const colours = () => themes;
export const readColours = async () => (themes = await read("themes"));
export const theme = () => themes[dark.matches ? "dark" : "light"];

/** Data and layout of a figure as the page shows them; what fits them to it is the report's own (fitted.js). */
function prepared(figure, width) {
  const layout = { ...structuredClone(figure.layout), template: themes.templates[dark.matches ? "dark" : "light"], autosize: true };
  if (layout.height) layout.height = fitting(layout, Math.max(width, 120), layout.height);
  if (narrow.matches) narrowed(layout, width);
  return dark.matches ? [shaded(figure.data, themes.darker), shaded(layout, themes.darker)] : [figure.data, layout];
}

/** Draw a figure of the server in the colours of the page. */
export async function draw(box, figure, words = "") {
  box.figure = figure;
  box.setAttribute("role", "img");
  if (words) box.setAttribute("aria-label", words);
  await Plotly.react(box, ...prepared(figure, box.clientWidth), { responsive: true, displaylogo: false, displayModeBar: false });
}

const redrawn = () => {
  for (const box of document.querySelectorAll(".plot")) if (box.figure) draw(box, box.figure);
};
narrow.addEventListener("change", redrawn);
dark.addEventListener("change", () => {
  redrawn();
  for (const box of document.querySelectorAll(".map")) box.redraw?.();
});

/** A card with a heading, a plot and a line of text. */
export function card(title, figure, text, ...more) {
  const plot = el("div", { class: "plot" });
  const box = el("section", { class: "card" }, title ? el("h3", {}, title) : null, plot, text ? el("p", {}, text) : null, ...more);
  box.drawn = () => draw(plot, figure, title);
  return box;
}

const stops = (scale) => themes.scales[scale === "rooted" ? "sequential" : scale];

/** The colour of a share from 0 to 1. */
export function shade(share) {
  const scale = stops("sequential");
  const at = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(at), scale.length - 2);
  return `color-mix(in srgb, ${scale[low + 1]} ${100 * (at - low)}%, ${scale[low]})`;
}

/** What the colours mean: a bar from low to high; rooted: by square root, as the maps of attention. */
export function ramp(low, high, words, scale = "sequential") {
  const bar = el("div", { class: "ramp" });
  const power = scale === "rooted" ? 2 : 1;
  const placed = stops(scale).map((colour, at, all) => `${colour} ${100 * (at / (all.length - 1)) ** power}%`);
  bar.style.background = `linear-gradient(to right, ${placed.join(",")})`;
  return el("div", { class: "scale" }, bar, el("div", { class: "ends" }, el("span", {}, number(low)), el("span", {}, words), el("span", {}, number(high))));
}

/** A plain click on a link does this instead; with a key held down it opens a tab, as links do. */
export const plainly = (action) => (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  action();
};

/** Put cards into a place and draw them once they have a width. */
export async function place(box, ...cards) {
  box.replaceChildren(...cards);
  for (const one of cards) await one.drawn?.();
}

/** Put new content into a place; where one of its buttons had the focus, the one in its stead has it. */
export function renewed(box, ...children) {
  const at = [...box.querySelectorAll("button")].indexOf(document.activeElement);
  box.replaceChildren(...children);
  if (at >= 0) box.querySelectorAll("button")[at]?.focus({ preventScroll: true });
}

/** A labelled slider over whole numbers, or over `shown` values of them. */
export function slider(label, most, value, moved, shown = (number) => number, least = 0) {
  const readout = el("b", {}, String(shown(value)));
  const input = el("input", { type: "range", min: least, max: most, step: 1, value });
  const say = () => {
    readout.textContent = shown(Number(input.value));
    input.setAttribute("aria-valuetext", readout.textContent);
  };
  input.addEventListener("input", () => {
    say();
    moved(Number(input.value));
  });
  const box = el("label", { class: "wide" }, el("span", {}, label + " ", readout), input);
  box.set = (number, words = shown(Number(number))) => { // a value between two steps says itself
    input.value = number;
    readout.textContent = words;
    input.setAttribute("aria-valuetext", words);
  };
  say();
  return box;
}

/** A labelled list to choose from: [value, words] or [heading, [[value, words], …]]. */
export function choice(label, options, value, chosen, attributes = {}) {
  const option = ([name, words]) => Array.isArray(words)
    ? el("optgroup", { label: name }, words.map(option))
    : el("option", { value: name, selected: String(name) === String(value) }, words);
  const list = el("select", { ...attributes, onchange: (event) => chosen(event.target.value) }, options.map(option));
  const box = el("label", {}, label, list);
  box.set = (value) => (list.value = value);
  return box;
}

/** Wait until nothing was called for a moment. */
export function calmly(action, pause = 120) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), pause);
  };
}

export const within = (text, most) => Math.min(Math.max(Number.parseInt(text, 10) || 0, 0), Math.max(most, 0));
export const number = (value) => (value === null || value === undefined || !Number.isFinite(value) ? "–" : (Number(value.toPrecision(3)) + 0).toString().replace("-", "−"));

/** A number in a column of others: three digits, the zeros at its end too. */
export const aligned = (value) => {
  const digits = Number.isFinite(value ?? NaN) ? (value + 0).toPrecision(3) : "e";
  return digits.includes("e") ? number(value) : digits.replace("-", "−");
};
export const count = (many, noun) => `${many} ${noun}${many === 1 ? "" : "s"}`;

/** A share in per cent; what rounds to nothing is 0 and has no sign. */
export function percent(share, digits = 0) {
  if (share === null || !Number.isFinite(share)) return "–";
  const rounded = Number((100 * share).toFixed(digits)) || 0;
  return `${rounded.toFixed(digits).replace("-", "−")}\u00a0%`;
}

/** A token in a sentence: from right to left or not, it leaves what stands around it in its place. */
export const quoted = (text) => `‘\u2068${text}\u2069’`;

/** A token as it is seen: one of spaces alone would be nothing. */
export const visible = (text) => (text.trim() === "" ? "␣".repeat(Math.max(text.length, 1)) : text);

/** An array as the server packs it: its numbers in a row, and its sizes. */
export function unpacked({ dtype, bdata, shape }) {
  const bytes = Uint8Array.from(atob(bdata), (letter) => letter.charCodeAt(0));
  return { values: dtype === "u1" ? bytes : new Float32Array(bytes.buffer), sizes: shape.split(", ").map(Number) };
}
