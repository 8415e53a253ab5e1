// The map of all heads, coloured by kind or by a number, and filtered by both; beside it a list, or one head.
import { change, leftOut, link, state } from "./address.js";
import { oneHead } from "./head.js";
import { aligned, calmly, choice, count, el, hint, notice, number, plainly, problem, ramp, read, shade, slider, within } from "./page.js";

const KIND = "taxonomy/kind";
const STEPS = 40;
const LISTED = 60;
const EACH = 10;
const HOW = "Each square is a head, coloured by its first kind; hollow: no kind. Click one. Buttons count and keep every head that has their kind, first or not.";
const CHOOSE = "Choose a head here or in the map to see its attention, distances, QK terms, weights and readings.";

export async function heads(main, run, signal) {
  if (!run.measures.length) return main.replaceChildren(problem(run.empty.heads));
  const known = run.measures.find((measure) => measure.name === state().measure) ?? run.measures[0];
  const [text, readout, map, bar, least, detail] = [el("p", { class: "hint" }), el("p", { class: "readout", "aria-live": "polite" }), el("div"), el("div"), el("div"), el("div", { id: "head", tabindex: "-1" })];
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
    if (at) return oneHead(detail, ...at, leave, open.signal);
    return detail.replaceChildren(list(found, run, listed));
  };
  const choose = (block, head) => {
    change({ block, head });
    if (innerWidth < 900) detail.scrollIntoView(); // on a phone it stands below the map
    return detailed();
  };
  const listed = (block, head) => {
    choose(block, head);
    detail.focus({ preventScroll: true }); // the link is gone
  };
  const leave = () => {
    const left = chosen();
    change({ block: "", head: "" });
    detailed();
    atOnly(map, left.join());
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
    if (!chosen()) detail.replaceChildren(list(found, run, listed));
  };
  const show = async (name) => {
    try {
      found = await read(`measures/${name}`, signal);
      mendLeast(found);
      text.textContent = name === KIND ? HOW : found.unit === "1" ? found.text : `${found.text} (unit: ${found.unit})`;
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

/** All kinds of a head, first the one that colours it; a head of no kind has the kind "none". */
const kindsOf = (found, block, head) => (found.kinds?.[block][head].length ? found.kinds[block][head] : ["none"]);

/** The kind that colours a head; undefined where it has none. */
const firstKind = (found, block, head) => found.kinds?.[block][head][0];

/** Whether a head passes: one of its kinds is chosen, and its number reaches the least. */
function filter(found) {
  const { kinds: words, least } = state();
  const wanted = new Set(words.split(",").filter(Boolean));
  return (block, head) => {
    const value = found.values[block][head];
    return (!wanted.size || kindsOf(found, block, head).some((kind) => wanted.has(kind))) && (least === "" || (value !== null && value >= Number(least)));
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

/** Take a least number that no head, or every head, has out of the address, and say so. */
function mendLeast(found) {
  const [low, high] = extent(found).map(digits);
  const { least } = state();
  if (least !== "" && (Number(least) < low || Number(least) > high)) notice(leftOut("least", `a number from ${number(low)} to ${number(high)}`));
}

/** A number as an address has it; rounded down, so that the highest head reaches the highest number. */
const digits = (value) => {
  const rounded = Number(value.toPrecision(4));
  return rounded <= value ? rounded : Number((rounded - 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3)).toPrecision(4));
};

/** The least number that a head must have to be shown. */
function leastOf(found, moved) {
  const [low, high] = extent(found);
  const at = (step) => (step === 0 ? low : low + ((high - low) * step) / STEPS);
  const words = found.name === KIND ? "a score of their first kind of" : found.label;
  const { least } = state();
  const start = least === "" || high <= low ? 0 : Math.round((STEPS * (Number(least) - low)) / (high - low));
  const box = slider(`Only heads with ${words} at least`, STEPS, within(start, STEPS), (step) => {
    change({ least: step === 0 ? "" : digits(at(step)) }, "least");
    moved();
  }, (step) => (step === 0 ? "any" : number(at(step))));
  if (least !== "") box.set(within(start, STEPS), number(Number(least)));
  return box;
}

/** The kinds with their colours and how many heads are of each, first or not; pressing one shows these alone. */
function kinds(found, run, moved) {
  if (!found.kinds) return "";
  const held = found.kinds.flatMap((row, block) => row.flatMap((_, head) => kindsOf(found, block, head)));
  const rows = [...Object.entries(run.kinds), ["none", "no kind"]].map(([kind, word]) => [kind, word, held.filter((one) => one === kind).length]);
  const chosen = () => state().kinds.split(",").filter(Boolean);
  const buttons = rows.filter(([, , many]) => many).map(([kind, word, many]) => {
    const mark = el("span", { "aria-hidden": "true", class: kind === "none" ? "hollow" : null });
    if (kind !== "none") mark.style.background = `var(--head-${kind})`;
    return el("button", { type: "button", "data-kind": kind, "aria-pressed": String(chosen().includes(kind)), onclick: (event) => {
      const now = chosen();
      const next = now.includes(kind) ? now.filter((one) => one !== kind) : [...now, kind];
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
  const [first, ...others] = found.kinds?.[block][head].map((kind) => run.kinds[kind]) ?? [];
  const what = found.name === KIND ? [first ? `${first}${value === null ? "" : ` ${number(value)}`}` : "no kind", ...others] : [`${found.label} ${number(value)}${Number.isFinite(error ?? NaN) ? ` (SE ${number(error)})` : ""}`, first, ...others];
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
  const kind = firstKind(found, block, head);
  if (found.name === KIND) {
    if (kind) cell.style.background = `var(--head-${kind})`;
    else cell.classList.add("hollow");
    return;
  }
  if (found.values[block][head] === null) cell.classList.add("none");
  else cell.style.background = shade(share);
  if (kind in run.kinds) cell.style.borderBottom = `4px solid var(--head-${kind})`;
}

const NOBODY = "No head passes the filter: choose another kind, or a lower least number.";

/** A link to a head's page; `listed` opens it here. */
const linkTo = (block, head, listed, words = `L${block}H${head}`) =>
  el("a", { href: link({ view: "heads", block, head }), onclick: plainly(() => listed(block, head)) }, words);

/** The heads that pass the filter, by their first kind and the best first, each a link; those of no kind where asked for. */
function namedList(found, run, listed) {
  const fits = filter(found);
  const all = state().kinds !== "";
  const none = found.values.flatMap((row, block) => row.map((_, head) => ({ block, head }))).filter(({ block, head }) => !firstKind(found, block, head));
  const groups = Object.entries(run.kinds).map(([kind, word]) => [word, run.named.filter((one) => one.kind === kind)]);
  if (all) groups.push(["no kind", none]);
  const rows = groups.map(([word, of]) => {
    const heads = of.filter(({ block, head }) => fits(block, head));
    const some = all ? heads : heads.slice(0, EACH);
    const links = some.map(({ block, head, score }) => linkTo(block, head, listed, `L${block}H${head}${score === undefined ? "" : ` ${score.toFixed(2)}`}`));
    return heads.length ? el("li", {}, el("h3", {}, word), links, some.length < heads.length ? el("span", { class: "hint" }, `and ${heads.length - some.length} more`) : null) : null;
  }).filter(Boolean);
  return el("div", {}, el("h2", {}, "Heads by first kind, with its score"), hint(rows.length ? CHOOSE : NOBODY), el("ul", { class: "listed" }, rows));
}

/** The heads that pass the filter, the highest first, each a link. */
function list(found, run, listed) {
  if (found.name === KIND) return namedList(found, run, listed);
  const fits = filter(found);
  const all = found.values.flatMap((row, block) => row.map((value, head) => ({ block, head, value, kind: firstKind(found, block, head) })));
  const passing = all.filter(({ block, head }) => fits(block, head));
  if (!passing.length) return el("div", {}, el("h2", {}, "Highest first"), hint(NOBODY));
  const shown = passing.sort((one, other) => (other.value ?? -Infinity) - (one.value ?? -Infinity)).slice(0, LISTED);
  const rows = shown.map(({ block, head, value, kind }) => el("tr", {},
    el("th", { scope: "row" }, linkTo(block, head, listed)),
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
  atOnly(box, `${within(block + step[0], run.blocks - 1)},${within(head + step[1], run.heads - 1)}`);
}

/** One cell has the focus, and alone is reached by Tab. */
function atOnly(box, at) {
  for (const cell of box.querySelectorAll("[role=gridcell][tabindex='0']")) cell.tabIndex = -1;
  const cell = box.querySelector(`[data-at="${at}"]`);
  cell.tabIndex = 0;
  cell.focus();
}
