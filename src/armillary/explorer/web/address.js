// The state of the page is its address: a link restores it, Back undoes a step, a wrong link is mended in a sentence.

const FIRST = {
  view: "", layer: "0", section: "", measure: "", kinds: "", least: "", block: "", head: "",
  prompt: "", other: "", alpha: "1", only: "", without: "", level: "tokens", first: "", position: "", way: "to",
};
const LONGEST_LINK = 8000;
let lastBy = "";

export function state() {
  return { ...FIRST, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
}

/** The address of the state with some values changed; what is as at first is not said. */
export function link(values) {
  const next = { ...state(), ...Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])) };
  const kept = Object.entries(next).filter(([name, value]) => name in FIRST && value !== FIRST[name] && value.length <= LONGEST_LINK);
  return "#" + new URLSearchParams(kept);
}

/** Change the state: a step that Back undoes. `by` names a slider: its further movements belong to the same step. */
export function change(values, by = "") {
  const next = link(values);
  const same = by !== "" && by === lastBy;
  if (next === "#" + location.hash.slice(1)) return same || settle();
  if (same) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  lastBy = by;
  dispatchEvent(new Event("step"));
}

/** Whatever comes next is a step of its own. */
export const settle = () => (lastBy = "");

const whole = (text) => (/^\d{1,6}$/.test(text) ? Number(text) : NaN);
const upTo = (count) => (text) => text === "" || whole(text) < (count || Infinity);

/** A head as it is written, L18H6, as its block and number; null where it is none. */
export function headOf(name) {
  const found = /^L(\d{1,6})H(\d{1,6})$/.exec(name);
  return found ? [Number(found[1]), Number(found[2])] : null;
}

const range = (count) => (count ? `a whole number from 0 to ${count - 1}` : "a whole number, counted from 0");

/** What a head may be, and how that is said; a number of blocks or heads that is not known is 0. */
export function headRule({ blocks, heads }) {
  const fits = (name) => {
    const at = headOf(name);
    return name === "" || (at !== null && at[0] < (blocks || Infinity) && at[1] < (heads || Infinity));
  };
  return [fits, blocks && heads ? `a head from L0H0 to L${blocks - 1}H${heads - 1}` : "a head like L0H0"];
}

/** What each part of an address may be, and how that is said. */
function rules(run, views) {
  const sections = new Set(run.figures.map((figure) => figure.section));
  const measures = new Set(run.measures.map((measure) => measure.name));
  const oneOf = (...choices) => [(text) => choices.includes(text), choices.filter(Boolean).join(" or ")];
  return {
    view: oneOf("", ...views),
    layer: [(text) => whole(text) < (run.layers || run.blocks || Infinity), range(run.layers || run.blocks)],
    section: [(text) => text === "" || sections.has(text), "a section of this run"],
    measure: [(text) => text === "" || measures.has(text), "a measure of this run"],
    kinds: [(text) => text.split(",").every((kind) => kind === "" || kind === "none" || kind in run.kinds), "kinds of heads"],
    least: [(text) => text === "" || Number.isFinite(Number(text)), "a number"],
    block: [upTo(run.blocks), range(run.blocks)],
    head: [upTo(run.heads), range(run.heads)],
    other: headRule(run),
    without: headRule(run),
    alpha: [(text) => Number(text) >= 0.25 && Number(text) <= 4, "a number from 0.25 to 4"],
    only: [upTo(run.blocks), range(run.blocks)],
    level: oneOf("tokens", "words"),
    first: oneOf("", "hide"),
    position: [upTo(0), range(0)],
    way: oneOf("to", "from"),
  };
}

const refusal = (name, value, expected) => `This link asks for ${name} “${value.slice(0, 40)}”: expected ${expected}. It is left out.`;

/** Parts after a question mark are read as if they stood after the #; the sentence that says so. */
function moved() {
  if (!location.search) return [];
  const parts = new URLSearchParams(location.search);
  new URLSearchParams(location.hash.slice(1)).forEach((value, name) => parts.set(name, value));
  history.replaceState(null, "", `${location.pathname}#${parts}`);
  return ["This link has its parts after a question mark: expected them after a #. They are read as if they stood there."];
}

/** Take what makes no sense out of the address; the sentences that say what it was. */
export function mended(run, views) {
  const told = moved();
  const now = state();
  const wrong = Object.entries(rules(run, views)).filter(([name, [fits]]) => !fits(now[name])).map(([name, [, words]]) => [name, words]);
  if (now.head !== "" && now.block === "") wrong.push(["head", "a block beside it"]);
  const unknown = Object.keys(now).filter((name) => !(name in FIRST)).map((name) => [name || "nothing", `one of ${Object.keys(FIRST).join(", ")}`]);
  for (const [name, words] of [...wrong, ...unknown]) told.push(refusal(name, now[name] ?? "", words));
  if (!told.length) return [];
  const back = Object.fromEntries(wrong.map(([name]) => [name, FIRST[name]]));
  if ("block" in back || "head" in back) Object.assign(back, { block: "", head: "" });
  history.replaceState(null, "", link(back));
  return told;
}

/** Take one part out of the address that an answer has shown to make no sense; the sentence that says what it was. */
export function leftOut(name, expected) {
  const value = state()[name];
  history.replaceState(null, "", link({ [name]: FIRST[name] }));
  return refusal(name, value, expected);
}
