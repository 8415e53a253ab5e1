// The grid of heads, coloured by a measure, and all that is known of one head.
import { askedOfModel } from "./model.js";
import { busy, card, change, colour, el, link, number, place, problem, ramp, read, state, within } from "./page.js";

export async function heads(main, run, signal) {
  if (!run.measures.length) return main.replaceChildren(problem("This run has no heads. Survey again with --heads to see them here."));
  const known = run.measures.find((measure) => measure.name === state().measure) ?? run.measures[0];
  const choice = el("select", { id: "measure" }, run.measures.map((measure) => el("option", { value: measure.name, selected: measure === known }, measure.label)));
  const [text, readout, box, detail] = [el("p", { class: "hint" }), el("p", { "aria-live": "polite" }), el("div"), el("div", { id: "head" })];
  main.replaceChildren(
    el("div", { class: "controls" }, el("label", {}, "Colour heads by", choice)),
    text,
    el("div", { class: "split" }, el("div", {}, box, readout), detail),
  );
  let open = new AbortController();
  signal.addEventListener("abort", () => open.abort());
  const choose = (block, head, step = false) => {
    change({ block, head }, step);
    open.abort();
    open = new AbortController();
    for (const cell of box.querySelectorAll("[aria-selected]")) cell.setAttribute("aria-selected", String(cell.dataset.at === `${block},${head}`));
    return oneHead(detail, block, head, open.signal);
  };
  const show = async (name) => {
    try {
      const found = await read(`measures/${name}`, signal);
      text.textContent = found.unit === "1" ? found.text : `${found.text} (unit: ${found.unit})`;
      const focused = box.contains(document.activeElement) ? document.activeElement.dataset.at : null;
      box.replaceChildren(grid(found, run, readout, choose));
      if (focused) focusOn(box, focused); // whoever was already in the old grid stays where they were
    } catch (error) {
      if (error.name !== "AbortError") box.replaceChildren(problem(error.message));
    }
  };
  choice.addEventListener("change", () => {
    change({ measure: choice.value });
    show(choice.value);
  });
  await show(known.name);
  if (state().block === "") detail.replaceChildren(el("p", { class: "hint" }, "Choose a head: click it, or move with the arrow keys and press Enter."));
  else await choose(Number(state().block), Number(state().head));
}

/** Blocks downwards, heads across; one cell has the focus and the arrows move it. */
function grid(found, run, readout, choose) {
  const values = found.values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const box = el("div", { class: "grid", role: "grid", "aria-label": `${found.label} by block and head` });
  box.style.gridTemplateColumns = `auto repeat(${run.heads}, auto)`;
  box.append(el("span"), ...Array.from({ length: run.heads }, (_, head) => el("span", { "aria-hidden": "true" }, String(head))));
  const focus = [within(state().block, run.blocks - 1), within(state().head, run.heads - 1)];
  const words = (block, head) => {
    const error = found.se?.[block]?.[head];
    const kind = found.kinds?.[block]?.[head];
    return `L${block}H${head}: ${found.label} ${number(found.values[block][head])}${Number.isFinite(error) && error !== null ? ` ± ${number(error)}` : ""}${kind ? `, ${kind}` : ""}`;
  };
  found.values.forEach((row, block) => {
    box.append(el("span", { "aria-hidden": "true" }, String(block)));
    row.forEach((value, head) => {
      const cell = el("button", {
        type: "button", role: "gridcell", "data-at": `${block},${head}`, title: words(block, head), "aria-label": words(block, head),
        "aria-selected": String(state().block !== "" && Number(state().block) === block && Number(state().head) === head),
        tabindex: block === focus[0] && head === focus[1] ? "0" : "-1", class: value === null ? "none" : null,
        onclick: () => choose(block, head), onfocus: () => (readout.textContent = words(block, head)), onmouseenter: () => (readout.textContent = words(block, head)),
      });
      if (value !== null) cell.style.background = colour(high > low ? (value - low) / (high - low) : 0.5);
      box.append(cell);
    });
  });
  box.addEventListener("keydown", (event) => move(event, box, run));
  return el("div", {}, el("div", { class: "grid-box" }, box), ramp(low, high, found.unit === "1" ? found.label : `${found.label}, ${found.unit}`));
}

function move(event, box, run) {
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const step = steps[event.key];
  if (!step || !event.target.dataset.at) return;
  event.preventDefault();
  const [block, head] = event.target.dataset.at.split(",").map(Number);
  focusOn(box, `${within(block + step[0], run.blocks - 1)},${within(head + step[1], run.heads - 1)}`);
}

/** Give one cell the focus, and make it the one that Tab comes back to. */
function focusOn(box, at) {
  for (const cell of box.querySelectorAll("[tabindex='0']")) cell.tabIndex = -1;
  const cell = box.querySelector(`[data-at="${at}"]`);
  cell.tabIndex = 0;
  cell.focus();
}

async function oneHead(detail, block, head, signal) {
  detail.replaceChildren(busy(`Reading L${block}H${head} …`));
  try {
    const found = await read(`heads/${block}/${head}`, signal);
    const rows = found.rows.flatMap((row) => [el("tr", { class: "named" },
      el("th", { scope: "row" }, row.label),
      el("td", { class: "number" }, `${number(row.value)}${row.se === null ? "" : ` ± ${number(row.se)}`} ${row.unit === "1" ? "" : row.unit}`),
      el("td", { class: "number" }, row.place === null ? "–" : `${row.place} of ${row.of}`)),
      el("tr", { class: "meaning" }, el("td", { colspan: 3 }, row.text))]);
    const cards = el("div", { class: "cards" });
    const more = el("div", { class: "cards" });
    const ask = el("a", { href: link({ view: "ask", block, head }) }, `Ask about ${found.name} with a prompt of your own`);
    const button = el("button", { type: "button" }, "Parts of its scores, and examples");
    detail.replaceChildren(
      el("h2", {}, `${found.name}${found.kind ? `: ${found.kind}` : ""}`),
      el("div", { class: "table-box" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "measure"), el("th", { class: "number" }, "value ± error"), el("th", { class: "number" }, "place"))), el("tbody", {}, rows))),
      el("h2", {}, "Over the corpus"), cards, el("h2", {}, "With the model"), el("p", { class: "row" }, button, ask), more,
    );
    button.addEventListener("click", () => {
      button.disabled = true;
      withModel(more, block, head, signal).finally(() => (button.disabled = false));
    });
    await place(cards, card("Attention by distance", found.figures.distances, found.texts.distances), card("Mean map", found.figures.map, found.texts.map));
  } catch (error) {
    if (error.name !== "AbortError") detail.replaceChildren(problem(error.message));
  }
}

/** What only the model can tell of a head: the parts of its scores, and pairs of tokens that it links. */
async function withModel(box, block, head, signal) {
  const [parts, pairs] = [el("section", { class: "card" }), el("section", { class: "card" })];
  box.replaceChildren(parts, pairs);
  try {
    const found = await askedOfModel(parts, "head-parts", { block, head }, "Reading some windows of the run; the first head takes longest …", signal);
    const title = "Which parts make its scores differ between keys";
    const text = `Query part → key part; mean over ${found.windows} windows of the run, bars are one standard error over documents. The nine shares add up to 100 %; a negative one works against the others.`;
    const drawn = card(title, found.figure, text);
    parts.replaceWith(drawn);
    await drawn.drawn();
    const shown = await askedOfModel(pairs, "examples", { block, head }, "Looking for examples …", signal);
    pairs.replaceChildren(el("h3", {}, "Where it looks most, in windows of the run"), el("p", {}, "Orange: the token that attends; blue: what it attends to. Position 0 and the token itself are left out."), ...shown.windows.flatMap(exampleLines));
  } catch (error) {
    if (error.name !== "AbortError") box.append(problem(error.message));
  }
}

function exampleLines({ window, tokens, pairs }) {
  return pairs.map(({ query, key, mass }) => {
    const near = [...tokens.keys()].filter((at) => Math.abs(at - query) <= 4 || Math.abs(at - key) <= 2);
    const items = near.flatMap((at, place) => [
      place && near[place - 1] !== at - 1 ? el("li", { class: "odd" }, "…") : null,
      el("li", { class: at === query ? "query" : at === key ? "key" : null }, tokens[at]),
    ]);
    return el("div", {}, el("p", {}, `window ${window}, positions ${query} → ${key}: ${(100 * mass).toFixed(0)} % of its attention`), el("ul", { class: "tokens" }, items));
  });
}
