// Which view is shown: read from the address, drawn anew when it changes.
import { ask } from "./ask.js";
import { figures, layers } from "./browse.js";
import { heads } from "./heads.js";
import { el, link, problem, read, state } from "./page.js";

const VIEWS = { layers: ["Layers", layers], figures: ["Figures", figures], heads: ["Heads", heads], ask: ["Ask", ask] };
const main = document.getElementById("main");
let run = null;
let shown = new AbortController();

function tabs(current) {
  return Object.entries(VIEWS).map(([view, [title]]) =>
    el("a", { href: link({ view }), "aria-current": view === current ? "page" : null }, title));
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const view = state().view in VIEWS ? state().view : "layers";
  document.getElementById("views").replaceChildren(...tabs(view));
  document.title = `Armillary: ${VIEWS[view][0].toLowerCase()} of ${run.about.model ?? "a run"}`;
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

try {
  run = await read("run");
  const { model, corpus, contexts, length } = run.about;
  document.getElementById("model-name").textContent = model ?? "";
  document.getElementById("about").textContent = `${corpus ?? "a corpus"}, ${contexts ?? "?"} windows of ${length ?? run.positions} tokens, ${run.layers} layers${run.heads ? `, ${run.blocks} × ${run.heads} heads` : ""}`;
  addEventListener("popstate", show);
  await show();
} catch (error) {
  main.replaceChildren(problem(error.message));
}
