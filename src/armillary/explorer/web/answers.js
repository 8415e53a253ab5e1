// What the model answered about a prompt, each part in its place: tokens, maps, next token, QK terms, shares, paths.
import { headOf, leftOut, state } from "./address.js";
import { thumbnail, tokenMap, withoutFirst } from "./maps.js";
import { askedOfModel, cancelled } from "./model.js";
import { showNext } from "./next.js";
import { card, count, el, hint, notice, number, percent, place, problem, ramp, renewed, unpacked } from "./page.js";
import { chips } from "./tokens.js";

const PARTS = ["tokens", "strip", "maps", "next", "parts", "layers", "continued", "travel"];

/** The changes of a model in words. */
function changeWords({ alpha, only, without }) {
  const scaled = alpha === 1 ? null : `W_Q and W_K times ${number(alpha)}${only === null ? "" : ` in block ${only}`}`;
  return [scaled, without ? `without L${without.join("H")}` : null].filter(Boolean).join(", ");
}

const UNCHANGED = "unchanged model";

/** What is said of a part that a change of the model leaves as it is. */
const untouched = (asked) => (changeWords(asked) ? `, ${UNCHANGED}` : "");

export class Answers {
  constructor(run, box, said, moved, left) {
    Object.assign(this, { run, box, said, moved, left, held: null }); // `left` is aborted when the view is left
    this.places = Object.fromEntries(PARTS.map((name) => [name, el("div", { id: `answer-${name}` })]));
  }

  /** Nothing of an earlier prompt stays below a refusal. */
  clear() {
    this.held = null;
    this.box.replaceChildren();
  }

  /** How many blocks and heads there are: as the run says, else as the model said; 0 where neither did yet. */
  sizes() {
    const { run, held } = this;
    return { blocks: run.blocks || held?.look.blocks || 0, heads: run.heads || held?.look.heads || 0 };
  }

  /** A head of the address, if the model has it. */
  headInside(name) {
    const at = headOf(name);
    const { blocks, heads } = this.held.look;
    return at && at[0] < blocks && at[1] < heads ? at : null;
  }

  /** What is asked, with what only the answer can refuse: a head that the model does not have, a token beyond the last. */
  fitting(asked) {
    const { blocks, heads, tokens } = this.held.look;
    if (!this.headInside(`L${asked.block}H${asked.head}`)) {
      throw new Error(`expected a head from L0H0 to L${blocks - 1}H${heads - 1}, got L${asked.block}H${asked.head}: choose one of these`);
    }
    if (asked.position === null || asked.position < tokens.length) return asked;
    notice(leftOut("position", `a whole number from 0 to ${tokens.length - 1}`));
    return { ...asked, position: null };
  }

  /** Show what the address asks for; the model is asked for what is not held yet. */
  async show(question, signal) {
    this.signal = signal;
    let asked = question;
    const key = JSON.stringify([asked.prompt, asked.alpha, asked.only, asked.without]);
    if (key !== this.held?.key) {
      const look = await askedOfModel(this.said, "look", asked, "Reading the prompt …", signal);
      this.said.replaceChildren();
      if (this.held?.prompt !== asked.prompt) for (const part of Object.values(this.places)) part.replaceChildren();
      this.held = { key, prompt: asked.prompt, look, blocks: new Map(), shown: {} };
      this.box.replaceChildren(...Object.values(this.places));
    }
    asked = this.fitting(asked);
    const name = `L${asked.block}H${asked.head}`;
    await this.once("maps", Symbol("always"), (waiting) => this.drawMaps(asked, waiting));
    await this.once("layers", key, () => this.drawLayers(asked));
    if (!this.held.look.decodes) this.places.next.replaceChildren(hint("This model has no language head: there is no next token and nothing to decode."));
    if (this.held.look.decodes) await this.once("next", String(asked.position), async (waiting) => {
      const found = await askedOfModel(waiting, "lens", asked, "Decoding the states …", this.signal);
      showNext(this.places.next, found, this.held.look.tokens[found.position]);
    });
    await this.once("parts", name, async (waiting) => {
      this.drawParts(await askedOfModel(waiting, "parts", asked, `Computing the QK terms of ${name} …`, this.signal), asked);
    });
    await this.once("travel", key, () => this.drawTravel(asked));
    if (this.held.look.continues) await this.once("continued", key, async (waiting) => {
      this.drawContinuation(await askedOfModel(waiting, "continuation", asked, "Generating the continuation …", this.signal), asked);
    });
    this.box.dataset.done = key;
  }

  /** Show a part unless it is shown already; one that is cancelled or fails says so in its own place, the others stay. */
  async once(name, what, work) {
    const { held, signal } = this;
    if (held.shown[name] === what) return;
    const [box, waiting] = [this.places[name], el("div", { class: "waiting" })];
    box.append(waiting);
    try {
      await work(waiting);
    } catch (error) {
      if (signal.aborted) throw error;
      if (name === "maps") for (const other of ["tokens", "strip"]) this.places[other].replaceChildren(); // made of the same answer
      box.replaceChildren(error.name === "AbortError" ? cancelled(() => this.again(name, what, work)) : hint(error.message));
    } finally {
      waiting.remove();
    }
    held.shown[name] = what;
  }

  /** Ask once more for a part that was cancelled; a new question in the meantime asks for it itself. */
  async again(name, what, work) {
    delete this.held.shown[name];
    this.places[name].replaceChildren();
    await this.once(name, what, work).catch(() => null);
  }

  /** The maps of a block, asked for once. */
  async block(block, asked, waiting) {
    const { blocks } = this.held;
    if (!blocks.has(block)) blocks.set(block, await askedOfModel(waiting, "maps", { ...asked, block }, "Reading the maps …", this.signal));
    waiting.replaceChildren();
    return blocks.get(block);
  }

  /** One head of a block as it is shown: between tokens or words, before or after a change, with the first key or not. */
  map(found, head, after = false) {
    const level = state().level === "words" && found.words ? "words" : "tokens";
    const given = found[level];
    given.unpacked ??= { patterns: given.patterns.map(unpacked), seen: unpacked(given.allowed).values };
    const { values, sizes } = given.unpacked.patterns[after ? 1 : 0];
    const size = sizes[1];
    const own = { values: values.subarray(head * size * size, (head + 1) * size * size), seen: given.unpacked.seen };
    const texts = level === "words" ? this.held.look.words : this.held.look.tokens;
    return { ...(state().first === "hide" ? withoutFirst(own.values, own.seen, size) : own), size, texts, low: 0, signed: false };
  }

  async drawMaps(asked, waiting) {
    const found = await this.block(asked.block, asked, waiting);
    const other = this.headInside(state().other);
    const beside = other ? await this.block(other[0], asked, waiting) : null;
    const [changed, changes] = [found.tokens.patterns.length > 1, changeWords(asked)];
    const both = [[asked.block, asked.head, found], ...(beside ? [[...other, beside]] : [])];
    const shown = both.flatMap(([block, head, source]) => (changed ? [false, true] : [false]).map((after) => ({ block, head, source, after })));
    const maps = shown.map(({ block, head, source, after }) => {
      const [at, words] = [`L${block}H${head}`, changed ? `, ${after ? changes : UNCHANGED}` : ""];
      return { ...this.map(source, head, after), name: at + words, title: at + this.kind(block, head) + words, entropy: this.held.look.entropy[after ? 1 : 0][block][head] };
    });
    const small = Array.from({ length: this.held.look.heads }, (_, head) => this.map(found, head));
    const high = [...maps, ...small].reduce((most, { values }) => values.reduce((one, other) => Math.max(one, other), most), 1e-9);
    this.drawTokens(asked, maps[0]);
    this.drawStrip(asked, small, high);
    const figures = maps.map((map) => tokenMap({ ...map, high, over: (query) => this.chips.over(query, map), left: () => this.chips.light() }));
    const entropy = maps.map(({ title, entropy }) => `${title}: ${number(entropy)} nats`).join("; ");
    this.places.maps.replaceChildren(el("section", { class: "card" },
      el("h3", {}, `Attention of L${asked.block}H${asked.head}${other ? ` and L${other.join("H")}` : ""} between ${state().level === "words" && found.words ? "words" : "tokens"}`),
      ramp(0, high, "attention, by square root", "rooted"), el("div", { class: figures.length > 1 ? "mosaic pairs" : "mosaic alone" }, figures),
      el("p", {}, `Queries down, keys across; the small maps have the same colours. Hatched: a query may not attend there${state().first === "hide" ? ", or hidden" : ""}. Mean entropy of the whole map: ${entropy}.`)));
    for (const canvas of this.places.maps.querySelectorAll("canvas")) canvas.redraw();
    this.box.dataset.read = this.held.key;
    this.box.dataset.shown = `L${asked.block}H${asked.head} ${state().other} ${state().level} ${state().first}`;
  }

  kind(block, head) {
    const named = this.run.named.find((one) => one.block === block && one.head === head);
    return named ? ` (${this.run.kinds[named.kind]})` : "";
  }

  drawTokens(asked, map) {
    const { look } = this.held;
    const words = map.texts === look.words;
    const counted = new Set(look.counted);
    const odd = new Set(words ? [] : look.tokens.keys());
    if (!words) counted.forEach((at) => odd.delete(at));
    const last = (word) => look.word_index.lastIndexOf(word);
    const token = asked.position === null || asked.position >= look.tokens.length ? look.tokens.length - 1 : asked.position;
    this.chips = chips(map.texts, odd, words ? look.word_index[token] : token, {
      lit: (at, { values, size } = map) => Array.from({ length: size }, (_, place) => (state().way === "to" ? values[at * size + place] : values[place * size + at])),
      pinned: (at) => this.moved({ position: words ? last(at) : at }),
      words: () => (state().way === "to" ? "attends to" : "is attended to by"),
      named: ({ name } = map) => name,
    });
    const left = look.tokens.length - look.counted.length;
    renewed(this.places.tokens,
      el("h2", {}, `${count(look.tokens.length, "token")}${look.words.length ? `, ${count(look.words.length - look.special.length, "word")}` : ""}`),
      this.chips.box,
      ...[look.tokens.length === 1 ? hint("One token can only attend to itself, so each map is one cell: type more to see heads choose.") : null,
        look.tokens.some((text) => text.includes("⟨")) ? hint("⟨F0 9F⟩: a token that is bytes and no whole letter.") : null,
        left && look.split ? hint(`Dashed: ${count(left, "token")} left out of the shares by layer, by the run's own rule for position 0 and massive activations.`) : null,
        look.note ? problem(look.note) : null].filter(Boolean));
    this.chips.light();
  }

  /** All heads of the block as small maps; a click chooses one. */
  drawStrip(asked, maps, high) {
    const small = maps.map((map, head) => {
      const mark = el("span", { class: "mark", "aria-hidden": "true" });
      const named = this.run.named.find((one) => one.block === asked.block && one.head === head);
      if (named) mark.style.background = `var(--head-${named.kind})`;
      return el("button", {
        type: "button", "aria-pressed": String(head === asked.head), "aria-label": `L${asked.block}H${head}${this.kind(asked.block, head)}, entropy ${number(this.held.look.entropy[0][asked.block][head])} nats`,
        title: `L${asked.block}H${head}${this.kind(asked.block, head)}`, onclick: () => this.moved({ block: asked.block, head }),
      }, thumbnail({ ...map, high }), el("span", {}, `H${head}`), mark);
    });
    renewed(this.places.strip, el("h3", {}, `All heads of block ${asked.block}${untouched(asked)}`), el("div", { class: "strip", role: "group", "aria-label": `Heads of block ${asked.block}` }, small));
  }

  async drawLayers(asked) {
    const { look } = this.held;
    const shares = look.figures.shares
      ? card(`Shares of position, context and residual by layer${untouched(asked)}`, look.figures.shares, "Shares of the prompt's sum of squares about the run's mean. Position: the run's positional basis; context: the prompt's mean; residual: what is left. They sum to 100 %; one may be negative.")
      : hint(look.split ? "Shares by layer need at least two counted tokens." : `Shares by layer: ${this.run.empty.layers}`);
    const entropy = card("Entropy of attention by block", look.figures.entropy, "Mean over the heads of a block and the tokens of the prompt, in nats; 0 where one key has all the attention.");
    const cards = el("div", { class: "cards large" });
    this.places.layers.replaceChildren(cards);
    await place(cards, shares, entropy);
  }

  drawParts(found, asked) {
    const { tokens } = this.held.look;
    this.box.dataset.parts = `L${asked.block}H${asked.head}`;
    if (!found.panels.length) return this.places.parts.replaceChildren(hint(`QK terms compare the keys of a query: they need a prompt of at least ${found.least} tokens.`));
    const seen = unpacked(found.seen).values;
    const text = "Query part → key part, with its share of the logits' variance. Logits are centred over the visible keys, as softmax ignores their mean. The first five panels sum to the sixth."
      + (found.first ? " Position 0 is left out, as in the run." : "") + (found.bias ? " ALiBi's term is not shown." : "") + (found.bilinear ? "" : " Queries and keys are normalised: their size is held at its actual value.");
    const figures = found.panels.map(({ name, share, scores }) => tokenMap({ title: share === null ? name : `${name}: ${percent(share)}`, texts: tokens, values: unpacked(scores).values, seen, size: tokens.length, low: -found.limit, high: found.limit, signed: true }));
    this.places.parts.replaceChildren(el("section", { class: "card" }, el("h3", {}, `QK terms of L${asked.block}H${asked.head}${untouched(asked)}`), ramp(-found.limit, found.limit, "logits", "diverging"), el("div", { class: "mosaic many" }, figures), el("p", {}, text)));
    for (const canvas of this.places.parts.querySelectorAll("canvas")) canvas.redraw();
  }

  drawContinuation(found, asked) {
    const none = "(none: the model ends here)";
    const before = el("p", { class: "text before" }, found.before || none);
    const lines = found.after === undefined ? [before] : [el("h3", {}, "Unchanged model"), before, el("h3", {}, changeWords(asked)), el("p", { class: "text after" }, found.after || none)];
    this.places.continued.replaceChildren(el("h2", {}, "Continuation"), el("section", { class: "card" }, lines));
  }

  /** Paths over the sphere, made when they are opened. */
  drawTravel(asked) {
    const cards = el("div", { class: "cards large" });
    const fold = el("details", { id: "travel" }, el("summary", {}, `Travelling words${untouched(asked)}: the last tokens over the sphere, layer by layer`), cards);
    const follow = async () => {
      try {
        const { figures } = await askedOfModel(cards, "travel", asked, "Following the tokens …", this.left);
        const titles = ["Along directions of their own", "Along directions of the token embeddings"];
        await place(cards, ...figures.map(({ figure, held }, at) => card(`${titles[at]}: ${percent(held)} of the variance`, figure, "Drag to turn. The dots of a path are layers, the large one the last.")));
      } catch (error) {
        if (error.name !== "AbortError") cards.replaceChildren(hint(error.message));
        else if (!this.left.aborted) cards.replaceChildren(cancelled(follow));
      }
    };
    fold.addEventListener("toggle", () => fold.open && !cards.childElementCount && follow());
    this.places.travel.replaceChildren(fold);
  }
}
