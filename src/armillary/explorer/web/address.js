// The state of the page is its address: a link restores it, Back undoes a step, a wrong link is mended in a sentence.

const FIRST = {
  view: "", layer: "0", section: "", measure: "", kinds: "", least: "", block: "", head: "",
  prompt: "", other: "", alpha: "1", only: "", without: "", level: "tokens", first: "", position: "", way: "to",
};
const LONGEST_LINK = 8000;
let lastChanged = "";

export function state() {
  return { ...FIRST, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
}

/** The address of the state with some values changed; what is as at first is not said. */
export function link(values) {
  const next = { ...state(), ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])) };
  const kept = Object.entries(next).filter(([name, value]) => name in FIRST && value !== FIRST[name] && value.length <= LONGEST_LINK);
  return "#" + new URLSearchParams(kept);
}

/** Change the state: a step that Back undoes. Further movements of the same slider belong to the same step. */
export function change(values) {
  const what = Object.keys(values).join();
  const next = link(values);
  if (next === "#" + location.hash.slice(1)) return;
  if (what === lastChanged) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  lastChanged = what;
}

/** Whatever comes next is a step of its own. */
export const settle = () => (lastChanged = "");

const whole = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : NaN);
const upTo = (count) => (text) => text === "" || whole(text) < (count || Infinity);

/** A head as it is written, L18H6, as its block and number; null where it is none. */
export function headOf(name) {
  const found = /^L(\d{1,6})H(\d{1,6})$/.exec(name);
  return found ? [Number(found[1]), Number(found[2])] : null;
}

const range = (count) => (count ? `a whole number from 0 to ${count - 1}` : "a whole number, counted from 0");

/** What each part of an address may be, and how that is said. */
function rules(run, views) {
  const sections = new Set(run.figures.map((figure) => figure.section));
  const measures = new Set(run.measures.map((measure) => measure.name));
  const head = (name) => {
    const at = headOf(name);
    return name === "" || (at !== null && at[0] < (run.blocks || Infinity) && at[1] < (run.heads || Infinity));
  };
  const oneOf = (...choices) => [(text) => choices.includes(text), choices.filter(Boolean).join(" or ")];
  const heads = run.blocks && run.heads ? `a head from L0H0 to L${run.blocks - 1}H${run.heads - 1}` : "a head like L0H0";
  return {
    view: oneOf("", ...views),
    layer: [(text) => whole(text) < (run.layers || run.blocks || Infinity), range(run.layers || run.blocks)],
    section: [(text) => text === "" || sections.has(text), "a section of this run"],
    measure: [(text) => text === "" || measures.has(text), "a measure of this run"],
    kinds: [(text) => text.split(",").every((kind) => kind === "" || kind === "none" || kind in run.kinds), "kinds of heads"],
    least: [(text) => text === "" || Number.isFinite(Number(text)), "a number"],
    block: [upTo(run.blocks), range(run.blocks)],
    head: [upTo(run.heads), range(run.heads)],
    other: [head, heads],
    without: [head, heads],
    alpha: [(text) => Number(text) >= 0.25 && Number(text) <= 4, "a number from 0.25 to 4"],
    only: [upTo(run.blocks), range(run.blocks)],
    level: oneOf("tokens", "words"),
    first: oneOf("", "hide"),
    position: [upTo(0), range(0)],
    way: oneOf("to", "from"),
  };
}

/** Take what makes no sense out of the address; the sentences that say what it was. */
export function mended(run, views) {
  const now = state();
  const wrong = Object.entries(rules(run, views)).filter(([name, [fits]]) => !fits(now[name]));
  if (!wrong.length) return [];
  const names = wrong.map(([name]) => name);
  const back = Object.fromEntries(names.map((name) => [name, FIRST[name]]));
  if (names.includes("block") || names.includes("head")) Object.assign(back, { block: "", head: "" });
  history.replaceState(null, "", link(back));
  return wrong.map(([name, [, words]]) => `This link asks for ${name} “${now[name].slice(0, 40)}”: expected ${words}. It is left out.`);
}
