// A prompt: its tokens, shares by layer, maps, the QK terms of a head, the continuation, and what α does.
import { askedOfModel, modelLine } from "./model.js";
import { calmly, card, change, el, mosaic, number, place, problem, ramp, slider, state, within } from "./page.js";

const ALPHA_STEPS = 8; // quarters of an octave, down to 1/4 and up to 4
const alphaOf = (step) => Number((2 ** (step / 4)).toFixed(4));
const stepOf = (alpha) => Math.round(4 * Math.log2(alpha));

export async function ask(main, run, signal) {
  const text = el("textarea", { id: "prompt", rows: 3, spellcheck: "false", placeholder: "Type a text and press Ctrl+Enter" });
  text.value = state().prompt;
  const answers = el("div", { id: "answers" });
  const said = el("div", { id: "said" });
  let asking = new AbortController();
  signal.addEventListener("abort", () => asking.abort());

  const send = async () => {
    asking.abort(); // a new question replaces the old one
    asking = new AbortController();
    said.replaceChildren();
    change({ prompt: text.value });
    if (!text.value.trim()) return said.replaceChildren(problem("The prompt is empty: type a text with at least one word."));
    try {
      await answer(answers, said, run, question(text.value, run), asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      said.replaceChildren(problem(error.message));
      model.follow();
    }
  };
  const again = calmly(() => state().prompt.trim() && send(), 250);
  const model = modelLine(signal, () => text.value.trim() && send());
  main.replaceChildren(
    el("label", { for: "prompt" }, "Prompt"), text,
    el("p", { class: "hint" }, `At most ${run.longest} tokens${run.positions ? ", the length of the run's windows" : ""}.`),
    el("div", { class: "row" }, el("button", { type: "button", class: "main", id: "send", onclick: send }, "Ask")),
    model.box, controls(run, again), said, answers,
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  });
  await model.load().catch(() => null);
  model.follow();
  if (text.value.trim()) await send();
}

function question(prompt, run) {
  const now = state();
  const alpha = Number(now.alpha);
  return {
    prompt, block: within(now.block, (run.blocks || Infinity) - 1), head: within(now.head, (run.heads || Infinity) - 1),
    alpha: Number.isFinite(alpha) && alpha >= 0.25 && alpha <= 4 ? alpha : 1, only: now.only === "1",
  };
}

function controls(run, again) {
  const now = state();
  const moved = (name) => (value) => {
    change({ [name]: value });
    again();
  };
  const chosen = (name, title, count) => count
    ? slider(`${title} (0 to ${count - 1})`, count - 1, within(now[name], count - 1), moved(name))
    : el("label", {}, title, el("input", { type: "number", min: 0, value: within(now[name], 9999), oninput: (event) => moved(name)(within(event.target.value, 9999)) }));
  const steps = Number(now.alpha) > 0 ? Math.max(-ALPHA_STEPS, Math.min(ALPHA_STEPS, stepOf(Number(now.alpha)))) : 0;
  const alpha = slider("W_Q and W_K times α =", ALPHA_STEPS, steps, (step) => moved("alpha")(alphaOf(step)), (step) => number(alphaOf(step)), -ALPHA_STEPS);
  const only = el("select", { onchange: (event) => moved("only")(event.target.value) }, el("option", { value: "" }, "in all blocks"), el("option", { value: "1", selected: now.only === "1" }, "in this block only"));
  const level = el("select", { id: "level", onchange: (event) => moved("level")(event.target.value) }, el("option", { value: "tokens" }, "between tokens"), el("option", { value: "words", selected: now.level === "words" }, "between words"));
  return el("div", { class: "controls" },
    chosen("block", "Block", run.blocks), chosen("head", "Head", run.heads),
    el("label", {}, "Attention", level), alpha, el("label", {}, "Scale", only));
}

/** Three questions one after the other; each shows itself when it is answered. */
async function answer(box, said, run, asked, signal) {
  const name = `L${asked.block}H${asked.head}`;
  const [first, parts, continued] = [el("div"), el("div"), el("div")];
  const look = await askedOfModel(said, "look", asked, "Reading the prompt …", signal);
  said.replaceChildren();
  box.replaceChildren(first, parts, continued);
  await showLook(first, look, run, asked);
  await inPlace(parts, async (waiting) => {
    const found = await askedOfModel(waiting, "parts", asked, `Computing the QK terms of ${name} …`, signal);
    await showParts(parts, found, name);
  });
  await inPlace(continued, async (waiting) => {
    const found = await askedOfModel(waiting, "continuation", asked, "Generating the continuation …", signal);
    showContinuation(continued, found, asked);
  });
}

/** A part that fails says so in its own place; the others stay. */
async function inPlace(box, work) {
  const waiting = el("div");
  box.replaceChildren(waiting);
  try {
    await work(waiting);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    box.replaceChildren(problem(error.message));
  }
}

async function showLook(box, look, run, asked) {
  const name = `L${asked.block}H${asked.head}`;
  const level = state().level === "words" && look.maps.words ? "words" : "tokens";
  const maps = look.maps[level];
  const counted = new Set(look.counted);
  const tokens = look.tokens.map((token, at) => el("li", { class: counted.has(at) ? null : "odd", title: `position ${at}` }, token));
  const left = look.tokens.length - look.counted.length;
  const [before, after] = look.entropy;
  const entropy = `Colours by square root. Mean entropy ${number(before)} nats${after === undefined ? "" : `, ${number(after)} nats with α = ${number(asked.alpha)}`}.`;
  const [wide, cards] = [el("div"), el("div", { class: "cards large" })];
  box.replaceChildren(
    ...[el("h2", {}, `${look.tokens.length} tokens${look.words.length ? `, ${look.words.length} words` : ""}`), el("ul", { class: "tokens" }, tokens),
    left ? el("p", { class: "hint" }, `Dashed: ${left} left out of the shares, by the run's own rule for position 0 and massive activations.`) : null,
    look.note ? problem(look.note) : null, wide, cards].filter(Boolean),
  );
  const titles = maps.figures.length > 1 ? ["unchanged", `W_Q and W_K times ${number(asked.alpha)}`] : [""];
  const parts = maps.figures.map((figure, at) => ({ title: titles[at], figure }));
  await place(wide, mosaic(`Attention of ${name} between ${level}`, parts, ramp(0, maps.top, "attention", "rooted"), entropy));
  const shares = look.figures.shares
    ? card("Shares of position, context and residual by layer", look.figures.shares, "Shares of the prompt's sum of squares about the run's mean. Position: the run's positional basis; context: the prompt's mean; residual: what is left. They sum to 100 %; one may be negative.")
    : problem(`Shares by layer: ${run.empty.layers}`);
  await place(cards, shares, card(`Entropy of head ${asked.head} by block`, look.figures.entropy, "Mean over the tokens of the prompt, in nats; 0 where one key has all the attention."));
}

async function showParts(box, found, name) {
  const text = "Query part → key part, with its share of the logits' variance. Logits are centred over the visible keys, as softmax ignores their mean. The first five panels sum to the sixth."
    + (found.first ? " Position 0 is left out, as in the run." : "") + (found.bias ? " ALiBi's term is not shown." : "") + (found.form === "bilinear" ? "" : ` Note: ${found.form}.`);
  const parts = found.panels.map(({ name: part, share, figure }) => ({ title: share === null ? part : `${part}: ${(100 * share).toFixed(0)}\u00a0%`, figure }));
  await place(box, mosaic(`QK terms of ${name}`, parts, ramp(-found.limit, found.limit, "logits", "diverging"), text));
}

function showContinuation(box, found, asked) {
  const after = found.after === undefined ? [] : [el("h3", {}, `W_Q and W_K times ${number(asked.alpha)}${asked.only ? ` in block ${asked.block}` : ""}`), el("p", { class: "text after" }, found.after || "(none: the model ends here)")];
  box.replaceChildren(el("h2", {}, "Continuation"), el("section", { class: "card" }, el("h3", {}, "Unchanged"), el("p", { class: "text before" }, found.before || "(none: the model ends here)"), ...after));
}
