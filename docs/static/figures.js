"use strict";

// Figures are drawn when they come near the window, in the colours of the page, as the report draws them.

const SETTINGS = { responsive: true, displayModeBar: false };
const narrow = matchMedia("(max-width: 500px)");
const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
const coloured = (value) => (theme() === "dark" ? shaded(value, DARKER) : value);
const drawn = new Map();

function prepared(place) { // data and layout as they are drawn, and the slider that stands below them
  const { data, layout } = JSON.parse(place.parentElement.querySelector(":scope > script").textContent);
  const slider = (layout.sliders || [])[0];
  let most = Number(place.dataset.height);
  if (slider) {
    delete layout.sliders;
    layout.margin = { ...layout.margin, b: 54 };
    most -= SLIDER;
  }
  const look = { ...layout, template: THEMES[theme()], autosize: true, height: fitting(layout, place.clientWidth, most) };
  if (narrow.matches) narrowed(look, place.clientWidth);
  if (matchMedia("(pointer: coarse)").matches) look.dragmode = false; // a finger on a plot scrolls the page
  return { data: coloured(data), layout: coloured(look), slider };
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
