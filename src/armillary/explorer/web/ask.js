// A prompt: its controls, and the order in which the model is asked about it. What is known already is not asked again.
import { change, headOf, headRule, state } from "./address.js";
import { Answers } from "./answers.js";
import { cancelled, modelLine } from "./model.js";
import { calmly, choice, el, number, problem, slider, within } from "./page.js";

const ALPHA_STEPS = 8; // quarters of an octave, down to 1/4 and up to 4
const alphaOf = (step) => Number((2 ** (step / 4)).toFixed(4));
const stepOf = (alpha) => Math.max(-ALPHA_STEPS, Math.min(ALPHA_STEPS, Math.round(4 * Math.log2(alpha))));

/** The head that is looked at: that of the address, else the best of the named ones, else the first. */
export function looked(run) {
  const now = state();
  if (now.block === "") return run.named.length ? [run.named[0].block, run.named[0].head] : [0, 0];
  return [Number(now.block), Number(now.head || 0)];
}

/** What is asked of the model, as the address says. */
function question(run) {
  const now = state();
  const [block, head] = looked(run);
  return {
    prompt: now.prompt, block, head, alpha: Number(now.alpha), only: now.only === "" ? null : Number(now.only),
    without: headOf(now.without), position: now.position === "" ? null : Number(now.position),
  };
}

/** What was typed below a prompt and not sent: another view does not take it away. */
let draft = { below: null, text: "" };

export async function ask(main, run, signal) {
  const text = el("textarea", { id: "prompt", rows: 3, spellcheck: "false", placeholder: "Type a text and press Ctrl+Enter" });
  text.value = draft.below === state().prompt ? draft.text : state().prompt;
  text.addEventListener("input", () => (draft = { below: state().prompt, text: text.value }));
  const box = el("div", { id: "answers" });
  const said = el("div", { id: "said" });
  let asking = new AbortController();
  signal.addEventListener("abort", () => asking.abort());
  const answers = new Answers(run, box, said, (values) => {
    change(values);
    bar.sync();
    update();
  }, signal);

  let sent = state().prompt; // an address leaves out a prompt that is too long for it
  const update = async () => {
    asking.abort(); // a new question replaces the old one
    asking = new AbortController();
    const { signal: mine } = asking;
    if (!sent.trim()) return; // what was said of an empty prompt stays
    said.replaceChildren();
    try {
      await answers.show({ ...question(run), prompt: sent }, mine);
      bar.check();
    } catch (error) {
      if (mine.aborted) return;
      answers.clear();
      if (error.name === "AbortError") return said.replaceChildren(cancelled(update));
      said.replaceChildren(problem(error.message));
      model.follow();
    }
  };
  const send = (prompt = text.value) => {
    text.value = sent = prompt;
    draft = { below: null, text: "" };
    change({ prompt, position: "" });
    if (prompt.trim()) return update();
    asking.abort();
    answers.clear(); // the controls would speak of a prompt that is gone
    said.replaceChildren(problem("The prompt is empty: type a text with at least one word."));
  };
  const bar = controls(run, calmly(update, 60), () => answers.sizes());
  const model = modelLine(signal, () => text.value.trim() && update());
  const examples = Object.entries(run.prompts).map(([name, prompt]) => el("button", { type: "button", class: "small", onclick: () => send(prompt) }, name));
  main.replaceChildren(
    el("label", { for: "prompt" }, "Prompt"), text,
    el("p", { class: "hint" }, `At most ${run.longest} tokens${run.positions ? ", the length of the run's windows" : ""}.`),
    el("div", { class: "row" }, el("button", { type: "button", class: "main", id: "send", onclick: () => send() }, "Ask"), el("span", { class: "hint" }, "Examples:"), examples),
    model.box, bar, said, box,
  );
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  });
  await model.load().catch(() => null);
  model.follow();
  await update();
}

/** The heads that have a kind, by kind, as a list to choose from. */
function namedHeads(run) {
  return Object.entries(run.kinds).map(([kind, word]) => [word, run.named.filter((one) => one.kind === kind).map(({ block, head, score }) => [`L${block}H${head}`, `L${block}H${head} ${score.toFixed(2)}`])]).filter(([, heads]) => heads.length);
}

/** A field for any head; the named ones are proposed. What is no head of the model is refused beside it. */
function headField(label, name, hintWords, sizes, moved) {
  const field = el("input", { type: "text", id: `field-${name}`, list: "named-heads", placeholder: "none", size: 8, autocomplete: "off" });
  const wrong = el("span", { class: "error", role: "alert" });
  const typed = () => field.value.trim().toUpperCase();
  field.addEventListener("change", () => {
    if (box.check()) moved(typed());
  });
  const box = el("label", { title: hintWords }, label, field, wrong);
  box.check = () => {
    const [fits, words] = headRule(sizes());
    wrong.textContent = fits(typed()) ? "" : `expected ${words}, got “${typed().slice(0, 20)}”: type one of these`;
    return fits(typed());
  };
  box.set = (value) => {
    field.value = value;
    box.check();
  };
  return box;
}

/** Every control of the page, kept in step with the address by `sync`. `sizes` gives the model's blocks and heads. */
function controls(run, again, sizes) {
  const moved = (values, slider) => {
    change(values, slider);
    bar.sync();
    again();
  };
  const counted = (name, title, many) => {
    const go = (value) => {
      const [block, head] = looked(run);
      moved({ block, head, [name]: value }, name);
    };
    return many ? slider(`${title} (0 to ${many - 1})`, many - 1, 0, go) : numberField(title, () => sizes()[`${name}s`], go);
  };
  const [block, head] = [counted("block", "Block", run.blocks), counted("head", "Head", run.heads)];
  const picker = choice("Named head", [["", "choose …"], ...namedHeads(run)], "", (name) => {
    if (name) moved({ block: headOf(name)[0], head: headOf(name)[1] });
  }, { id: "named" });
  const level = choice("Attention", [["tokens", "between tokens"], ["words", "between words"]], "tokens", (value) => moved({ level: value }), { id: "level" });
  const way = choice("A token lights up", [["to", "whom it attends to"], ["from", "who attends to it"]], "to", (value) => moved({ way: value }), { id: "way" });
  const first = el("input", { type: "checkbox", id: "first", onchange: (event) => moved({ first: event.target.checked ? "hide" : "" }) });
  const other = headField("Compare with head", "other", "a second head beside the first", sizes, (value) => moved({ other: value }));
  const without = headField("Leave out head", "without", "the model without what this head adds", sizes, (value) => moved({ without: value }));
  const alpha = slider("W_Q and W_K times α =", ALPHA_STEPS, 0, (step) => moved({ alpha: alphaOf(step) }, "alpha"), (step) => number(alphaOf(step)), -ALPHA_STEPS);
  const only = choice("Scale", [["", "in all blocks"], ["this", "in this block only"]], "", (value) => moved({ only: value === "this" ? looked(run)[0] : "" }), { id: "only" });
  const bar = el("div", { class: "panel" },
    el("div", { class: "controls" }, run.named.length ? picker : null, block, head, other),
    el("div", { class: "controls" }, level, way, el("label", { class: "check" }, first, "Hide the first token and renormalise")),
    el("details", { id: "change" }, el("summary", {}, "Change the model"), el("div", { class: "controls" }, alpha, only, without),
      el("p", { class: "hint" }, "Scores go with α². Whatever is changed is shown beside the unchanged model: maps, next token, continuation. The other parts show the unchanged model.")),
    el("datalist", { id: "named-heads" }, run.named.map(({ block, head, kind, score }) => el("option", { value: `L${block}H${head}` }, `${run.kinds[kind]} ${score.toFixed(2)}`))));
  bar.sync = () => {
    const now = state();
    const at = looked(run);
    block.set(at[0]);
    head.set(at[1]);
    picker.set(run.named.some((one) => one.block === at[0] && one.head === at[1]) ? `L${at[0]}H${at[1]}` : "");
    level.set(now.level);
    way.set(now.way);
    first.checked = now.first === "hide";
    other.set(now.other);
    without.set(now.without);
    alpha.set(stepOf(Number(now.alpha)), number(Number(now.alpha)));
    only.querySelector("option[value=this]").textContent = `in block ${now.only === "" ? at[0] : now.only} only`;
    only.set(now.only === "" ? "" : "this");
  };
  bar.check = () => [other.check(), without.check()];
  bar.sync();
  bar.querySelector("details").open = state().alpha !== "1" || state().without !== "";
  return bar;
}

/** A number whose end the model tells with its first answer: the run does not say how many heads its model has. */
function numberField(title, many, moved) {
  const field = el("input", { type: "number", min: 0, value: 0, oninput: () => moved(within(field.value, (many() || 10000) - 1)) });
  const box = el("label", {}, title, field);
  box.set = (value) => (field.value = value);
  return box;
}
