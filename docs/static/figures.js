"use strict";

// Figures are drawn when they come near the window, in the colours of the page.

const SETTINGS = { responsive: true, displayModeBar: false };
const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
const drawn = new Map();

function height(layout, width, most) { // on a narrow page a square matrix or a sphere is no higher than it is wide
  if (!layout.scene && (!(layout.yaxis || {}).scaleanchor || layout.xaxis2)) return most;
  const { t = 24, b = 48, l = 52, r = 14 } = layout.margin || {};
  return Math.min(most, width - l - r + t + b);
}

function draw(place) {
  if (drawn.has(place)) return;
  const { data, layout } = JSON.parse(place.nextElementSibling.textContent);
  const high = height(layout, place.clientWidth, Number(place.dataset.height));
  place.style.height = `${high}px`;
  const look = { ...layout, template: THEMES[theme()], autosize: true, height: high };
  if (matchMedia("(pointer: coarse)").matches) look.dragmode = false; // a finger on a plot scrolls the page
  drawn.set(place, Plotly.newPlot(place, data, look, SETTINGS).then(() => { place.dataset.drawn = theme(); }));
}

async function recolour() {
  for (const [place, ready] of drawn) {
    await ready;
    if (place.dataset.drawn === theme()) continue;
    await Plotly.react(place, place.data, { ...place.layout, template: THEMES[theme()] }, SETTINGS);
    place.dataset.drawn = theme();
  }
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
}, { rootMargin: "600px" });

document.querySelectorAll(".armillary-plot").forEach((place) => near.observe(place));
new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
addEventListener("beforeprint", () => document.querySelectorAll(".armillary-plot").forEach(draw));
