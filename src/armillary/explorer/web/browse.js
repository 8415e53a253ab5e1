// The run without its model: one layer, and the figures of a section with the layer marked in them.
import { change, link, state } from "./address.js";
import { busy, calmly, card, coded, colours, draw, el, problem, read, slider, within } from "./page.js";

const TITLES = { plane: "Position vectors", gram: "Gram matrix", spectrum: "Spectrum" };

/** Left and right step through the layers wherever the focus is, but for where it needs the keys itself. */
function stepping(box, step) {
  const listen = (event) => {
    if (!box.isConnected) return document.removeEventListener("keydown", listen);
    const taken = event.target.closest?.("input, textarea, select, [role=grid]");
    if (taken || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowRight") step(1);
    if (event.key === "ArrowLeft") step(-1);
  };
  document.addEventListener("keydown", listen);
}

/** A slider over the layers; over the blocks where a run holds no hidden states. */
function layerSlider(run, moved) {
  const [axis, last] = run.layers ? ["Layer", run.layers - 1] : ["Block", run.blocks - 1];
  const go = (layer) => {
    change({ layer }, "layer");
    moved(layer);
  };
  const box = slider(`${axis} (0 to ${last})`, last, within(state().layer, last), go);
  box.step = (by) => {
    const layer = within(Number(state().layer) + by, last);
    box.set(layer);
    go(layer);
  };
  return box;
}

export async function layers(main, run, signal) {
  const cards = el("div", { class: "cards" });
  const plots = {};
  for (const name of run.pictures) {
    plots[name] = { plot: el("div", { class: "plot" }), text: el("p"), said: el("div") };
    cards.append(el("section", { class: "card" }, el("h3", {}, TITLES[name] ?? name), plots[name].said, plots[name].plot, plots[name].text));
  }
  let asked = 0;
  const show = async (layer) => {
    const mine = ++asked;
    for (const [name, parts] of Object.entries(plots)) {
      try {
        const found = await read(`layers/${layer}/${name}`, signal);
        if (mine !== asked || signal.aborted) return;
        parts.said.replaceChildren();
        parts.text.textContent = found.text;
        await draw(parts.plot, found.figure, `${TITLES[name] ?? name}, layer ${layer}`);
      } catch (error) {
        if (error.name !== "AbortError") parts.said.replaceChildren(problem(error.message));
      }
    }
    cards.dataset.layer = layer;
  };
  if (!run.pictures.length) return main.replaceChildren(problem(run.empty.layers));
  const control = layerSlider(run, calmly(show, 60));
  main.replaceChildren(
    el("div", { class: "controls sticky" }, control),
    el("p", { class: "hint" }, "Arrow keys step through the layers. Layer 0 is what the first block receives; the last layer is the last block's output."),
    cards,
  );
  stepping(cards, control.step);
  await show(within(state().layer, run.layers - 1));
}

/** Mark a layer: a line in curves over layers, the nearest step of a figure's own slider. */
function mark(plot, layer) {
  const { data, layout } = plot.figure;
  const steps = layout.sliders?.[0]?.steps;
  if (steps?.some((step) => Number.isNaN(Number(step.label)))) return null; // not through layers
  if (steps) {
    const far = steps.map((step) => Math.abs(Number(step.label) - layer));
    const nearest = far.indexOf(Math.min(...far));
    const shown = steps[nearest].args[1];
    const sliders = [{ ...layout.sliders[0], active: nearest }];
    return draw(plot, { data: data.map((trace, place) => ({ ...trace, visible: shown[place] })), layout: { ...layout, sliders } });
  }
  const across = Object.keys(layout).filter((name) => /^xaxis\d*$/.test(name) && ["layer", "block"].includes(layout[name].title?.text));
  if (!across.length) return null;
  const lines = across.map((name) => {
    const axis = name.replace("axis", "");
    const line = { width: 1, dash: "dot", color: colours().meanings.null };
    return { type: "line", xref: axis, yref: `${axis.replace("x", "y")} domain`, x0: layer, x1: layer, y0: 0, y1: 1, name: "chosen", line };
  });
  const others = (layout.shapes ?? []).filter((shape) => shape.name !== "chosen");
  return draw(plot, { data, layout: { ...layout, shapes: [...others, ...lines] } });
}

export async function figures(main, run, signal) {
  const sections = [...new Set(run.figures.map((figure) => figure.section))];
  if (!sections.length) return main.replaceChildren(problem(run.empty.figures));
  const section = sections.includes(state().section) ? state().section : sections[0];
  const links = sections.map((name) =>
    el("a", { href: link({ view: "figures", section: name }), "aria-current": name === section ? "true" : null }, name),
  );
  const list = el("div", { class: "cards large" });
  const control = layerSlider(run, calmly((layer) => {
    for (const plot of list.querySelectorAll(".plot")) if (plot.figure) mark(plot, layer);
  }, 60));
  main.replaceChildren(
    el("nav", { class: "sections", "aria-label": "Sections" }, links),
    run.layers || run.blocks ? el("div", { class: "controls sticky" }, control) : "",
    el("p", { class: "hint" }, run.errors),
    list,
    ...run.missing.map((sentence) => el("p", { class: "hint missing" }, coded(sentence))),
  );
  if (run.layers || run.blocks) stepping(list, control.step);
  for (const { name } of run.figures.filter((figure) => figure.section === section)) {
    const waiting = el("section", { class: "card" }, busy("Drawing …"));
    list.append(waiting);
    try {
      const found = await read(`figures/${encodeURIComponent(name)}`, signal);
      const details = el("details", {}, el("summary", {}, "How it is measured"), el("p", {}, found.formula), el("p", {}, found.source));
      const drawn = card(found.finding, found.figure, found.text, details);
      waiting.replaceWith(drawn);
      await drawn.drawn();
      await mark(drawn.querySelector(".plot"), within(state().layer, Math.max(run.layers - 1, run.blocks - 1)));
    } catch (error) {
      if (error.name === "AbortError") return;
      waiting.replaceChildren(problem(error.message));
    }
  }
}
