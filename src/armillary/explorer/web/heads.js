// The grid of heads, coloured by a measure, and all that is known of one head.
import { askedOfModel } from "./model.js";
import { busy, card, change, el, link, number, place, problem, ramp, read, shade, state, within } from "./page.js";

export async function heads(main, run, signal) {
  if (!run.measures.length) return main.replaceChildren(problem(run.empty.heads));
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
    return `L${block}H${head}: ${found.label} ${number(found.values[block][head])}${Number.isFinite(error) && error !== null ? ` (SE ${number(error)})` : ""}${kind ? `, ${run.kinds[kind] ?? kind}` : ""}`;
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
      if (value !== null) cell.style.background = shade(high > low ? (value - low) / (high - low) : 0.5);
      const kind = found.kinds?.[block]?.[head];
      if (kind in run.kinds) cell.style.borderBottom = `4px solid var(--head-${kind})`;
      box.append(cell);
    });
  });
  box.addEventListener("keydown", (event) => move(event, box, run));
  const bar = ramp(low, high, found.unit === "1" ? found.label : `${found.label}, ${found.unit}`);
  return el("div", {}, el("div", { class: "grid-box" }, box), bar, kindsShown(found, run));
}

/** The kinds of the heads in the grid, each with the colour of its mark. */
function kindsShown(found, run) {
  const held = new Set(found.kinds?.flat());
  const kinds = Object.entries(run.kinds).filter(([kind]) => held.has(kind));
  return kinds.length ? el("ul", { class: "kinds" }, kinds.map(([kind, word]) => {
    const mark = el("span", { "aria-hidden": "true" });
    mark.style.background = `var(--head-${kind})`;
    return el("li", {}, mark, word);
  })) : null;
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
      el("td", { class: "number" }, `${number(row.value)}${row.unit === "1" ? "" : ` ${row.unit}`}${row.se === null ? "" : ` (${number(row.se)})`}`),
      el("td", { class: "number" }, row.place === null ? "–" : `${row.place} of ${row.of}`)),
      el("tr", { class: "meaning" }, el("td", { colspan: 3 }, row.text))]);
    const cards = el("div", { class: "cards" });
    const more = el("div", { class: "cards" });
    const ask = el("a", { href: link({ view: "ask", block, head }) }, `Try ${found.name} on your own prompt`);
    const button = el("button", { type: "button" }, "QK terms and examples");
    detail.replaceChildren(
      el("h2", {}, `${found.name}${found.kind ? `: ${found.kind}` : ""}`),
      el("div", { class: "table-box" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "measure"), el("th", { class: "number" }, "value (SE)"), el("th", { class: "number" }, "rank"))), el("tbody", {}, rows))),
      el("h2", {}, "On the corpus"), cards, el("h2", {}, "With the model"), el("p", { class: "row" }, button, ask), more,
    );
    button.addEventListener("click", () => {
      button.disabled = true;
      withModel(more, block, head, signal).finally(() => (button.disabled = false));
    });
    await place(cards, ...found.figures.map(({ title, figure, text }) => card(title, figure, text)));
  } catch (error) {
    if (error.name !== "AbortError") detail.replaceChildren(problem(error.message));
  }
}

/** What needs the model: the QK terms of a head's logits, and the pairs of tokens with most attention. */
async function withModel(box, block, head, signal) {
  const [parts, pairs] = [el("section", { class: "card" }), el("section", { class: "card" })];
  box.replaceChildren(parts, pairs);
  try {
    const found = await askedOfModel(parts, "head-parts", { block, head }, "Reading windows of the run; the first head takes longest …", signal);
    const title = "QK terms: share of the logits' variance over keys";
    const text = `Query part → key part, over ${found.windows} windows of the run; bars are one SE over documents. The nine shares sum to 100 %; a negative term opposes the others.`;
    const drawn = card(title, found.figure, text);
    parts.replaceWith(drawn);
    await drawn.drawn();
    const shown = await askedOfModel(pairs, "examples", { block, head }, "Finding examples …", signal);
    pairs.replaceChildren(el("h3", {}, "Highest attention in the run's windows"), el("p", {}, "Bold: the query. Coloured border: the key it attends to. Position 0 and the token itself are left out."), ...shown.windows.flatMap(exampleLines));
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
    return el("div", {}, el("p", {}, `Window ${window}, position ${query} → ${key}: ${(100 * mass).toFixed(0)} % of the attention`), el("ul", { class: "tokens" }, items));
  });
}
