// The verdicts on the statements of four documents that a run holds: a row for each, and a field to search.
import { count, el, number, problem, read } from "./page.js";

export async function claims(main, run, signal) {
  let found;
  try {
    found = await read("claims", signal);
  } catch (error) {
    if (error.name !== "AbortError") main.replaceChildren(problem(error.message));
    return;
  }
  const rows = found.verdicts.map((verdict) => row(verdict, found));
  const said = el("p", { class: "hint", role: "status" });
  const field = el("input", { type: "search", id: "claims-words", placeholder: "search: id, verdict or words" });
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const one of rows) {
      one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
      left += one.hidden ? 0 : 1;
    }
    said.textContent = `${left} of ${count(rows.length, "claim")}`;
  };
  field.addEventListener("input", filter);
  const search = (words) => {
    field.value = field.value === words ? "" : words;
    filter();
  };
  main.replaceChildren(summary(found, search), el("div", { class: "controls" }, el("label", { for: "claims-words" }, "Search the claims", field)), said, el("div", { class: "claims" }, rows));
  filter();
}

/** How many claims have which verdict; pressing one shows these alone. */
function summary({ verdicts, words }, search) {
  const counts = Object.keys(words).map((word) => [word, verdicts.filter(({ verdict }) => verdict === word).length]);
  const held = counts.filter(([, many]) => many);
  return el("div", { class: "kinds" }, held.map(([word, many]) => el("button", { type: "button", title: words[word], onclick: () => search(word) }, `${word} ${many}`)));
}

function row({ id, document, place, statement, verdict, quantity, published, corrected, measured, se, why }, found) {
  const numbers = { published, corrected, measured, SE: se };
  const known = Object.entries(numbers).filter(([, value]) => value !== null && Number.isFinite(value));
  return el("article", { class: "card" },
    el("h3", {}, `${verdict}: ${statement}`),
    el("p", {}, `${id} · ${found.documents[document] ?? document}, ${place}`),
    known.length ? el("p", {}, `${quantity ? `${quantity}: ` : ""}${known.map(([name, value]) => `${name} ${number(value)}`).join(", ")}`) : null,
    why ? el("details", {}, el("summary", {}, "Why"), el("p", {}, why)) : null);
}
