// All that is known of one head: pictures, readings and numbers of the run at once; examples when the model is asked.
import { link } from "./address.js";
import { askedOfModel, cancelled } from "./model.js";
import { busy, card, el, hint, number, percent, place, plainly, problem, read, visible } from "./page.js";

/** `leave` goes back to all heads. */
export async function oneHead(detail, block, head, leave, signal) {
  detail.replaceChildren(busy(`Reading L${block}H${head} …`));
  try {
    const found = await read(`heads/${block}/${head}`, signal);
    const cards = el("div", { class: "cards" });
    const more = el("div");
    const button = el("button", { type: "button", onclick: () => {
      button.disabled = true;
      examples(more, block, head, signal).finally(() => (button.disabled = false));
    } }, "Examples from the run's windows");
    detail.replaceChildren(
      el("p", {}, el("a", { href: link({ view: "heads", block: "", head: "" }), onclick: plainly(leave) }, "← all heads")),
      el("h2", {}, `${found.name}${found.kind ? `: ${found.kind}` : ""}`),
      el("p", { class: "row" }, el("a", { href: link({ view: "ask", block, head }), class: "button" }, `Try ${found.name} on a prompt`), button),
      more, cards, readings(found.readings), ...found.missing.map(hint), numbers(found.rows),
    );
    await place(cards, ...found.figures.map(({ title, figure, text }) => card(title, figure, sentence(text))));
    detail.dataset.drawn = found.name;
  } catch (error) {
    if (error.name !== "AbortError") detail.replaceChildren(problem(error.message));
  }
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** The numbers of a head, each with its rank among all heads and its meaning. */
function numbers(rows) {
  const lines = rows.flatMap((row) => [el("tr", { class: "named" },
    el("th", { scope: "row" }, row.label),
    el("td", { class: "number" }, `${number(row.value)}${row.se === null ? "" : ` (${number(row.se)})`}`),
    el("td", { class: "number" }, row.place === null ? "–" : `${row.place} of ${row.of}`)),
  el("tr", { class: "meaning" }, el("td", { colspan: 3 }, row.unit === "1" ? row.text : `${row.text} (${row.unit})`))]);
  const header = el("tr", {}, el("th", {}, "measure"), el("th", { class: "number" }, "value (SE)"), el("th", { class: "number" }, "rank"));
  return el("section", {}, el("h2", {}, "Numbers"), el("table", { class: "numbers" }, el("thead", {}, header), el("tbody", {}, lines)));
}

/** What the first singular vectors of a head's weights read as: tokens at either end. */
function readings(sides) {
  if (!sides.length) return "";
  const lists = sides.map(({ side, triplets }) => el("section", { class: "card" }, el("h3", {}, side),
    ...triplets.flatMap(({ z, null: point, ends }, at) => [
      el("p", {}, `Triplet ${at + 1}, z = ${number(z)}: ${z > point ? "clearer than random directions" : "no clearer than random directions"}`),
      ...ends.map((end, sign) => el("ul", { class: "tokens" }, el("li", { class: "odd" }, sign ? "−" : "+"), end.map((text) => el("li", {}, visible(text))))),
    ])));
  return el("section", {}, el("h2", {}, "Readings"),
    hint("Singular vectors of W_QK and W_VO as the tokens nearest to them, at both ends."), el("div", { class: "cards" }, lists));
}

/** The pairs of tokens with most attention, which needs the model. */
async function examples(box, block, head, signal) {
  const pairs = el("section", { class: "card" });
  box.replaceChildren(pairs);
  try {
    const shown = await askedOfModel(pairs, "examples", { block, head }, "Reading windows of the run …", signal);
    pairs.replaceChildren(el("h3", {}, "Highest attention in the run's windows"), el("p", {}, "Bold: the query. Coloured border: the key it attends to. Position 0 and the token itself are left out."), ...shown.windows.flatMap(lines));
  } catch (error) {
    if (error.name !== "AbortError") pairs.replaceChildren(problem(error.message));
    else if (!signal.aborted) pairs.replaceChildren(cancelled(() => examples(box, block, head, signal)));
  }
}

function lines({ window, tokens, pairs }) {
  return pairs.map(({ query, key, mass }) => {
    const near = [...tokens.keys()].filter((at) => Math.abs(at - query) <= 4 || Math.abs(at - key) <= 2);
    const items = near.flatMap((at, place) => [
      place && near[place - 1] !== at - 1 ? el("li", { class: "odd" }, "…") : null,
      el("li", { class: at === query ? "query" : at === key ? "key" : null }, tokens[at]),
    ]);
    return el("div", {}, el("p", {}, `Window ${window}, position ${query} → ${key}: ${percent(mass)} of the attention`), el("ul", { class: "tokens" }, items));
  });
}
