// Which view is shown: read from the address, drawn again when it changes.
import { link, mended, settle, state } from "./address.js";
import { ask } from "./ask.js";
import { figures, layers } from "./browse.js";
import { claims } from "./claims.js";
import { heads } from "./heads.js";
import { el, noNotice, notice, problem, read, readColours } from "./page.js";

const VIEWS = { heads: ["Heads", heads], ask: ["Ask", ask], layers: ["Layers", layers], figures: ["Figures", figures], claims: ["Claims", claims] };
const main = document.getElementById("main");
let run = null;
let shown = new AbortController();

/** The views that this run has something for. */
const offered = () => Object.keys(VIEWS).filter((view) => view !== "claims" || run.claims);

function tabs(current) {
  return offered().map((view) => el("a", { href: link({ view }), "aria-current": view === current ? "page" : null }, VIEWS[view][0]));
}

async function show() {
  shown.abort();
  shown = new AbortController();
  settle();
  noNotice();
  notice(...mended(run, offered()));
  const view = state().view || run.opens;
  document.getElementById("views").replaceChildren(...tabs(view));
  document.title = `Armillary: ${VIEWS[view][0].toLowerCase()} of ${named()}`;
  await VIEWS[view][1](main, run, shown.signal);
}

// A tab's link is made when it is clicked: by then sliders may have moved.
document.getElementById("views").addEventListener("pointerdown", () => refresh());
document.getElementById("views").addEventListener("focusin", () => refresh());
function refresh() {
  const links = document.querySelectorAll("#views a");
  tabs(state().view).forEach((fresh, place) => (links[place].href = fresh.href));
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address holds the state
  main.focus();
});

/** What the words of the page mean, read when it is first opened. */
const glossary = document.getElementById("glossary");
glossary.addEventListener("toggle", async () => {
  const list = glossary.querySelector("dl");
  if (!glossary.open || list.childElementCount) return;
  const terms = await read("glossary");
  list.replaceChildren(...Object.entries(terms).map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
});

/** Weights that were drawn, not trained, in words; nothing for a trained model. */
const drawn = () => (run.about.random_weights ? `random weights, ${run.about.random_weights}` : null);

/** The model as the title has it: one of random weights is not the trained one of the same name. */
const named = () => `${run.about.model ?? run.title}${drawn() ? ` (${drawn()})` : ""}`;

/** What was read, as far as the run says. */
function about({ corpus, contexts, length }) {
  const parts = [drawn(), corpus, contexts && length ? `${contexts} windows of ${length} tokens` : null];
  parts.push(run.layers ? `${run.layers} layers` : null, run.heads ? `${run.blocks} × ${run.heads} heads` : null);
  return parts.filter(Boolean).join(", ");
}

try {
  [run] = await Promise.all([read("run"), readColours()]);
  document.getElementById("model-name").textContent = run.about.model ?? run.title;
  document.getElementById("about").textContent = about(run.about);
  addEventListener("popstate", show);
  addEventListener("step", noNotice);
  await show();
} catch (error) {
  main.replaceChildren(problem(error.message));
}
