"use strict";

// Figures are drawn when they come near the window, in the colours of the page, as the report draws them.

const SETTINGS = { responsive: true, displayModeBar: false };
const SLIDER = 84; // pixels that plotly's own slider takes; the page has one that a keyboard moves
const MOST_NAMES = 16; // along an axis of a panel on a narrow page
const NAME_LETTERS = 14; // of a name beside an axis there
const LETTER = 7.5; // pixels, of a name below an axis there
const SMALL = 10; // pixels, the titles of panels side by side there
const narrow = matchMedia("(max-width: 500px)");
const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
const drawn = new Map();

function height(layout, width, most) { // on a narrow page a square matrix or a sphere is no higher than it is wide
  if (!layout.scene && (!(layout.yaxis || {}).scaleanchor || layout.xaxis2)) return most;
  const { t = 24, b = 48, l = 52, r = 14 } = layout.margin || {};
  return Math.min(most, width - l - r + t + b);
}

function coloured(value) { // the same hues in shades that a dark page shows
  if (theme() !== "dark") return value;
  if (typeof value === "string") return DARKER[value] || value;
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, coloured(one)]));
  return value;
}

function prepared(place) { // data and layout as they are drawn, and the slider that stands below them
  const { data, layout } = JSON.parse(place.parentElement.querySelector(":scope > script").textContent);
  const slider = (layout.sliders || [])[0];
  let most = Number(place.dataset.height);
  if (slider) {
    delete layout.sliders;
    layout.margin = { ...layout.margin, b: 54 };
    most -= SLIDER;
  }
  const look = { ...layout, template: THEMES[theme()], autosize: true, height: height(layout, place.clientWidth, most) };
  if (narrow.matches) narrowed(look, place.clientWidth);
  if (matchMedia("(pointer: coarse)").matches) look.dragmode = false; // a finger on a plot scrolls the page
  return { data: coloured(data), layout: coloured(look), slider };
}

function narrowed(layout, width) { // what would lie on itself on a narrow page
  for (const [name, axis] of Object.entries(layout)) {
    if (!axis || !Array.isArray(axis.ticktext)) continue;
    if (axis.ticktext.length > MOST_NAMES && Array.isArray(axis.tickvals)) thinned(axis);
    if (/^yaxis/.test(name)) axis.ticktext = axis.ticktext.map(shortened);
    if (/^xaxis/.test(name) && axis.tickangle === 0) staggered(axis, width);
  }
  if (!layout.xaxis2) return;
  layout.annotations = (layout.annotations || []).map((one) => ({ ...one, font: { ...one.font, size: SMALL } }));
}

function thinned(axis) { // every n-th name of many
  const every = Math.ceil(axis.ticktext.length / (MOST_NAMES / 2));
  for (const list of ["tickvals", "ticktext"]) axis[list] = axis[list].filter((_, i) => i % every === 0);
}

function shortened(name) { // a long name beside an axis would leave no room for what it stands at; entities stay whole
  const letters = name.match(/&(?:amp|lt|gt|#36);|[^]/gu) || [];
  return letters.length > NAME_LETTERS ? `${letters.slice(0, NAME_LETTERS - 1).join("")}…` : name;
}

function staggered(axis, width) { // every other name below an axis stands lower where they would run into each other
  const names = axis.ticktext.map((text) => String(text).split("<br>"));
  const letters = names.reduce((sum, lines) => sum + Math.max(...lines.map((line) => line.length)) + 1, 0);
  const [from, to] = axis.domain || [0, 1];
  if (letters * LETTER <= (width - 66) * (to - from)) return;
  const lines = Math.max(...names.map((one) => one.length));
  axis.ticktext = axis.ticktext.map((text, i) => (i % 2 ? "<br>".repeat(lines) : "") + text);
}

function draw(place) {
  if (drawn.has(place)) return;
  const { data, layout, slider } = prepared(place);
  place.style.height = `${layout.height}px`;
  if (slider) ruled(place, slider, (layout.meta || {}).titles);
  const colours = theme();
  drawn.set(place, Plotly.newPlot(place, data, layout, SETTINGS).then(() => { place.dataset.drawn = colours; }));
}

function unbroken(text) { // no line ends between a number and its error or its per cent
  return text.replace(/ %/g, "\u00a0%").replace(/ ± /g, "\u00a0±\u00a0");
}

function ruled(place, slider, titles) { // a slider that the keyboard moves; the title follows it
  const label = Object.assign(document.createElement("label"), { className: "armillary-slider" });
  const output = document.createElement("output");
  const input = Object.assign(document.createElement("input"), { type: "range", min: 0, max: slider.steps.length - 1, step: 1 });
  input.value = slider.active || 0;
  const prefix = (slider.currentvalue || {}).prefix ?? "";
  const plain = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&#36;/g, "$").replace(/&amp;/g, "&");
  const say = () => {
    output.textContent = `${prefix}${plain(slider.steps[input.value].label)}`;
    place.dataset.step = input.value;
  };
  input.setAttribute("aria-label", prefix.trim() || slider.name || "choose");
  input.addEventListener("input", async () => {
    say();
    input.setAttribute("aria-valuetext", output.textContent);
    if (titles) place.closest("figure").querySelector(".finding").textContent = unbroken(titles[input.value]);
    await drawn.get(place);
    Plotly.restyle(place, { visible: slider.steps[input.value].args[1] });
  });
  say();
  label.append(output, input);
  place.after(label);
}

async function redraw() {
  for (const [place, ready] of drawn) {
    await ready;
    const { data, layout, slider } = prepared(place);
    if (slider) slider.steps[place.dataset.step].args[1].forEach((visible, i) => { data[i].visible = visible; });
    place.style.height = `${layout.height}px`;
    const colours = theme();
    await Plotly.react(place, data, layout, SETTINGS);
    place.dataset.drawn = colours;
  }
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "600px" });

document.querySelectorAll(".armillary-plot").forEach((place) => near.observe(place));
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
narrow.addEventListener("change", redraw);
addEventListener("beforeprint", () => document.querySelectorAll(".armillary-plot").forEach(draw));
