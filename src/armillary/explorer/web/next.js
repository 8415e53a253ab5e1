// The next token, and what every layer would say: before a change of the model and after it.
import { el, percent, quoted, visible } from "./page.js";

const TITLES = ["Unchanged model", "Changed model"];

function bars(choices, title, top) {
  const rows = choices.map(({ text, probability }) => {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${(100 * probability) / top}%`;
    return el("li", {}, el("code", {}, visible(text)), el("span", { class: "track" }, bar), el("span", { class: "number" }, percent(probability, 1)));
  });
  return el("div", {}, title ? el("h4", {}, title) : null, el("ol", { class: "bars" }, rows));
}

function layersTable(layers, title) {
  const rows = layers.map((choices, layer) => el("tr", {}, el("th", { scope: "row" }, String(layer)), choices.map(({ text, probability }) => {
    const cell = el("td", { title: percent(probability, 1) }, el("code", {}, visible(text)));
    cell.style.setProperty("--lit", `${50 * Math.sqrt(probability)}%`);
    return cell;
  })));
  const header = el("tr", {}, el("th", {}, "layer"), el("th", { colspan: layers[0].length }, "likeliest first"));
  return el("div", {}, title ? el("h4", {}, title) : null, el("div", { class: "table-box" }, el("table", { class: "lens" }, el("thead", {}, header), el("tbody", {}, rows.reverse()))));
}

/** The ten likeliest next tokens after one token, and the logit lens by layer, the last on top. */
export function showNext(box, found, token) {
  const names = found.next.length > 1 ? TITLES : [""];
  const top = Math.max(...found.next.flat().map(({ probability }) => probability));
  box.dataset.position = found.position;
  box.replaceChildren(
    el("h2", {}, "Next token"),
    el("section", { class: "card" },
      el("h3", {}, `What follows ${quoted(token)} (${found.position})`),
      el("div", { class: "mosaic" }, found.next.map((choices, at) => bars(choices, names[at], top))),
      el("p", {}, "The model's ten likeliest next tokens. Choose another token above to see what follows it.")),
    el("section", { class: "card" },
      el("h3", {}, "Logit lens: what each layer would say"),
      el("div", { class: "mosaic" }, found.layers.map((layers, at) => layersTable(layers, names[at]))),
      el("p", {}, "Each layer's state of this token through the model's own final norm and head; the darker, the likelier. Early layers were not trained to be read so.")),
  );
}
