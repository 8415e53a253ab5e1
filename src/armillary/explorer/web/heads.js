// The map of all heads, coloured by kind or by a number, and filtered by both; beside it a list, or one head.
import { change, link, settle, state } from "./address.js";
import { oneHead } from "./head.js";
import { aligned, calmly, choice, count, el, number, problem, ramp, read, shade, slider, within } from "./page.js";

const KIND = "taxonomy/kind";
const STEPS = 40;
const LISTED = 60;
const EACH = 10;
const CHOOSE = "Choose a head here or in the map to see its attention, distances, QK terms, weights and readings.";

export async function heads(main, run, signal) {
  if (!run.measures.length) return main.replaceChildren(problem(run.empty.heads));
  const known = run.measures.find((measure) => measure.name === state().measure) ?? run.measures[0];
  const [text, readout, map, bar, least, detail] = [el("p", { class: "hint" }), el("p", { class: "readout", "aria-live": "polite" }), el("div"), el("div"), el("div"), el("div", { id: "head" })];
  const said = el("p", { class: "hint", role: "status", id: "shown" });
  let found = null;
  let open = new AbortController();
  signal.addEventListener("abort", () => open.abort());

  const chosen = () => (state().block === "" ? null : [Number(state().block), Number(state().head || 0)]);
  const detailed = () => {
    open.abort();
    open = new AbortController();
    const at = chosen();
    for (const cell of map.querySelectorAll("[role=gridcell]")) cell.setAttribute("aria-selected", String(at !== null && cell.dataset.at === at.join()));
    if (at) return oneHead(detail, run, ...at, open.signal);
    return detail.replaceChildren(list(found, run));
  };
  const choose = (block, head) => {
    settle();
    change({ block, head });
    if (innerWidth < 900) detail.scrollIntoView(); // on a phone it stands below the map
    return detailed();
  };
  const filtered = () => {
    const fits = filter(found);
    let left = 0;
    for (const cell of map.querySelectorAll("[role=gridcell]")) {
      const fit = fits(...cell.dataset.at.split(",").map(Number));
      cell.classList.toggle("out", !fit);
      left += fit ? 1 : 0;
    }
    said.textContent = left === run.blocks * run.heads ? `${count(left, "head")}.` : `${left} of ${count(run.blocks * run.heads, "head")} pass the filter; the others are faint.`;
    if (!chosen()) detail.replaceChildren(list(found, run));
  };
  const show = async (name) => {
    try {
      found = await read(`measures/${name}`, signal);
      text.textContent = name === KIND ? "Each square is a head, coloured by what it does; hollow: no kind. Click one." : found.unit === "1" ? found.text : `${found.text} (unit: ${found.unit})`;
      map.replaceChildren(el("div", { class: "grid-box" }, grid(found, run, readout, choose)));
      bar.replaceChildren(scaleOf(found) ?? "", kinds(found, run, filtered));
      least.replaceChildren(leastOf(found, calmly(filtered, 30)));
      filtered();
    } catch (error) {
      if (error.name !== "AbortError") map.replaceChildren(problem(error.message));
    }
  };
  const colour = choice("Colour heads by", run.measures.map(({ name, label }) => [name, label]), known.name, (name) => {
    change({ measure: name, least: "" });
    show(name);
  }, { id: "measure" });
  main.replaceChildren(
    el("div", { class: "controls" }, colour, least),
    text, bar, el("div", { class: "split" }, el("div", { class: "overview" }, map, readout, said), detail),
  );
  await show(known.name);
  if (found) await detailed();
}

/** Whether a head passes: its kind is chosen, and its number reaches the least. */
function filter(found) {
  const { kinds: words, least } = state();
  const wanted = new Set(words.split(",").filter(Boolean));
  return (block, head) => {
    const kind = found.kinds?.[block][head] || "none";
    const value = found.values[block][head];
    return (!wanted.size || wanted.has(kind)) && (least === "" || (value !== null && value >= Number(least)));
  };
}

const extent = (found) => {
  const values = found.values.flat().filter((value) => value !== null);
  return values.length ? [Math.min(...values), Math.max(...values)] : [0, 0];
};

function scaleOf(found) {
  if (found.name === KIND) return null;
  const [low, high] = extent(found);
  return ramp(low, high, found.unit === "1" ? found.label : `${found.label}, ${found.unit}`);
}

/** The least number that a head must have to be shown. */
function leastOf(found, moved) {
  const [low, high] = extent(found);
  const at = (step) => (step === 0 ? low : low + ((high - low) * step) / STEPS);
  const words = found.name === KIND ? "a score of their kind of" : found.label;
  const start = state().least === "" || high <= low ? 0 : Math.round((STEPS * (Number(state().least) - low)) / (high - low));
  return slider(`Only heads with ${words} at least`, STEPS, within(start, STEPS), (step) => {
    change({ least: step === 0 ? "" : Number(at(step).toPrecision(4)) });
    moved();
  }, (step) => (step === 0 ? "any" : number(at(step))));
}

/** The kinds with their colours and counts; pressing one shows its heads alone. */
function kinds(found, run, moved) {
  if (!found.kinds) return "";
  const held = found.kinds.flat();
  const rows = [...Object.entries(run.kinds), ["none", "no kind"]].map(([kind, word]) => [kind, word, held.filter((one) => (one || "none") === kind).length]);
  const chosen = () => state().kinds.split(",").filter(Boolean);
  const buttons = rows.filter(([, , many]) => many).map(([kind, word, many]) => {
    const mark = el("span", { "aria-hidden": "true", class: kind === "none" ? "hollow" : null });
    if (kind !== "none") mark.style.background = `var(--head-${kind})`;
    return el("button", { type: "button", "data-kind": kind, "aria-pressed": String(chosen().includes(kind)), onclick: (event) => {
      const now = chosen();
      const next = now.includes(kind) ? now.filter((one) => one !== kind) : [...now, kind];
      settle();
      change({ kinds: next.join() });
      event.currentTarget.setAttribute("aria-pressed", String(next.includes(kind)));
      moved();
    } }, mark, `${word} ${many}`);
  });
  return el("div", { class: "kinds", role: "group", "aria-label": "Show heads of a kind alone" }, buttons);
}

/** A head in words. */
function words(found, run, block, head) {
  const value = found.values[block][head];
  const error = found.se?.[block]?.[head];
  const kind = found.kinds?.[block]?.[head];
  const what = found.name === KIND ? [kind ? `${run.kinds[kind]}${value === null ? "" : ` ${number(value)}`}` : "no kind"] : [`${found.label} ${number(value)}${Number.isFinite(error ?? NaN) ? ` (SE ${number(error)})` : ""}`, kind ? run.kinds[kind] : null];
  return `L${block}H${head}: ${what.filter(Boolean).join(", ")}`;
}

/** Blocks downwards, heads across; one cell has the focus and the arrows move it. */
function grid(found, run, readout, choose) {
  const [low, high] = extent(found);
  const box = el("div", { class: "grid", role: "grid", "aria-label": `${found.label} by block and head` });
  box.style.gridTemplateColumns = `max-content repeat(${run.heads}, minmax(14px, 36px))`;
  box.append(el("span"), ...Array.from({ length: run.heads }, (_, head) => el("span", { "aria-hidden": "true" }, `H${head}`)));
  const focus = [within(state().block, run.blocks - 1), within(state().head, run.heads - 1)];
  found.values.forEach((row, block) => {
    const cells = row.map((value, head) => {
      const say = () => (readout.textContent = words(found, run, block, head));
      const cell = el("button", {
        type: "button", role: "gridcell", "data-at": `${block},${head}`, title: words(found, run, block, head), "aria-label": words(found, run, block, head),
        "aria-selected": "false", tabindex: block === focus[0] && head === focus[1] ? "0" : "-1", onclick: () => choose(block, head), onfocus: say, onmouseenter: say,
      });
      paint(cell, found, run, block, head, high > low ? (value - low) / (high - low) : 0.5);
      return cell;
    });
    box.append(el("div", { role: "row", class: "cells" }, el("span", { "aria-hidden": "true" }, `L${block}`), cells));
  });
  box.addEventListener("keydown", (event) => move(event, box, run));
  return box;
}

/** A cell in its colour: that of its kind, or the shade of its number with its kind below. */
function paint(cell, found, run, block, head, share) {
  const kind = found.kinds?.[block]?.[head];
  if (found.name === KIND) {
    if (kind) cell.style.background = `var(--head-${kind})`;
    else cell.classList.add("hollow");
    return;
  }
  if (found.values[block][head] === null) cell.classList.add("none");
  else cell.style.background = shade(share);
  if (kind in run.kinds) cell.style.borderBottom = `4px solid var(--head-${kind})`;
}

/** The heads that have a kind and pass the filter, by kind and the best first, each a link. */
function namedList(found, run) {
  const fits = filter(found);
  const all = state().kinds !== "";
  const rows = Object.entries(run.kinds).map(([kind, word]) => {
    const heads = run.named.filter((one) => one.kind === kind && fits(one.block, one.head));
    const some = all ? heads : heads.slice(0, EACH);
    const links = some.map(({ block, head, score }) => el("a", { href: link({ view: "heads", block, head }) }, `L${block}H${head} ${score.toFixed(2)}`));
    return heads.length ? el("li", {}, el("h3", {}, word), links, some.length < heads.length ? el("span", { class: "hint" }, `and ${heads.length - some.length} more`) : null) : null;
  });
  return el("div", {}, el("h2", {}, "Heads by kind, with their score"), el("p", { class: "hint" }, CHOOSE), el("ul", { class: "listed" }, rows));
}

/** The heads that pass the filter, the highest first, each a link. */
function list(found, run) {
  if (found.name === KIND) return namedList(found, run);
  const fits = filter(found);
  const all = found.values.flatMap((row, block) => row.map((value, head) => ({ block, head, value, kind: found.kinds?.[block][head] })));
  const passing = all.filter(({ block, head }) => fits(block, head));
  const shown = passing.sort((one, other) => (other.value ?? -Infinity) - (one.value ?? -Infinity)).slice(0, LISTED);
  const rows = shown.map(({ block, head, value, kind }) => el("tr", {},
    el("th", { scope: "row" }, el("a", { href: link({ view: "heads", block, head }) }, `L${block}H${head}`)),
    found.kinds ? el("td", {}, run.kinds[kind] ?? "–") : null, el("td", { class: "number" }, aligned(value))));
  return el("div", {}, el("h2", {}, "Highest first"), el("p", { class: "hint" }, CHOOSE),
    el("table", { class: "ranked" }, el("thead", {}, el("tr", {}, el("th", {}, "head"), found.kinds ? el("th", {}, "kind") : null, el("th", { class: "number" }, found.label))), el("tbody", {}, rows)),
    passing.length > LISTED ? el("p", { class: "hint" }, `The first ${LISTED} of ${passing.length}.`) : null);
}

function move(event, box, run) {
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const step = steps[event.key];
  if (!step || !event.target.dataset.at) return;
  event.preventDefault();
  const [block, head] = event.target.dataset.at.split(",").map(Number);
  for (const cell of box.querySelectorAll("[tabindex='0']")) cell.tabIndex = -1;
  const cell = box.querySelector(`[data-at="${within(block + step[0], run.blocks - 1)},${within(head + step[1], run.heads - 1)}"]`);
  cell.tabIndex = 0;
  cell.focus();
}
