// The tokens of a prompt as chips that light up by attention: whom one attends to, or who attends to it.
import { el, percent, quoted, visible } from "./page.js";

const NAMED = 5;

/** `lit(at, map)` gives the attention of every token for the one that is pointed at, `named(map)` whose it is; without a
 * map both are of the head that is looked at. `pinned(at)` is told which token was chosen. */
export function chips(texts, odd, start, { lit, pinned, words, named }) {
  const said = el("p", { class: "readout", "aria-live": "polite", id: "lit" });
  let chosen = start;
  const cells = texts.map((text, at) => el("button", {
    type: "button", class: odd.has(at) ? "odd" : null, title: `position ${at}`, tabindex: at === start ? "0" : "-1", "aria-pressed": String(at === start),
    onmouseenter: () => light(at), onfocus: () => light(at), onmouseleave: () => light(chosen),
    onclick: () => {
      choose(at);
      pinned(at);
    },
  }, visible(text)));
  const list = el("ul", { class: "tokens lit", "aria-label": "Tokens; arrow keys move, Enter chooses" }, cells.map((cell) => el("li", {}, cell)));

  function choose(at) {
    cells.forEach((cell, place) => {
      cell.setAttribute("aria-pressed", String(place === at));
      cell.tabIndex = place === at ? 0 : -1;
    });
    chosen = at;
    light(at);
  }

  function light(at, map) {
    const shares = lit(at, map);
    cells.forEach((cell, place) => {
      const share = shares?.[place] ?? NaN;
      cell.style.setProperty("--lit", `${Number.isFinite(share) ? 50 * Math.sqrt(Math.min(share, 1)) : 0}%`);
      cell.classList.toggle("at", place === at);
      if (share >= 0.005) cell.dataset.share = percent(share);
      else delete cell.dataset.share;
    });
    if (!shares) return;
    const best = [...shares.keys()].filter((place) => shares[place] >= 0.005).sort((one, other) => shares[other] - shares[one]).slice(0, NAMED);
    said.textContent = `${named(map)}: ${quoted(texts[at])} (${at}) ${words()} ${best.map((place) => `${quoted(texts[place])} (${place}) ${percent(shares[place])}`).join(", ") || "nothing that is shown"}`;
  }

  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = cells.indexOf(event.target);
    if (!step || at < 0 || !cells[at + step]) return;
    event.preventDefault();
    cells[at + step].focus();
  });
  return { box: el("div", {}, list, said), light: () => light(chosen), over: light };
}
