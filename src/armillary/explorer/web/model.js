// The model's state in words, and questions that wait for it.
import { el, post, read } from "./page.js";

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function words(status) {
  if (status.state === "loading") return `The model is loading: ${status.stage} (${Math.round(status.seconds)} s) …`;
  if (status.state === "failed") return `The model failed to load: ${status.message}`;
  if (status.state === "ready") return "The model is ready.";
  return "The model is not loaded; your first question loads it.";
}

/** What stands where a question was cancelled, and a way to ask it again. */
export const cancelled = (again) => el("p", { class: "row", role: "status" }, "Cancelled.", el("button", { type: "button", class: "small", onclick: again }, "Ask again"));

/** Ask the model, and say meanwhile in `box` what is going on; a Cancel button stops it. */
export async function askedOfModel(box, kind, question, doing, signal) {
  const mine = new AbortController();
  const stop = () => mine.abort();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const line = el("p", { class: "busy", role: "status" }, doing);
  const cancel = el("button", { type: "button", onclick: stop }, "Cancel");
  box.replaceChildren(line, cancel);
  let over = false;
  const watch = async () => {
    await pause(400);
    while (!over) {
      const status = await read("model").catch(() => null);
      if (over) return;
      if (status?.state === "loading") line.textContent = words(status);
      else line.textContent = status?.waiting ? `${doing} (the model is busy; ${status.waiting} waiting)` : doing;
      await pause(700);
    }
  };
  watch();
  try {
    const found = await post(`ask/${kind}`, question, mine.signal);
    mine.signal.throwIfAborted(); // between the answer and now
    return found;
  } catch (error) {
    if (error.name !== "AbortError" || !signal?.aborted) box.replaceChildren();
    throw error;
  } finally {
    over = true;
    signal?.removeEventListener("abort", stop);
  }
}

/** A line that follows the model's state until it is ready or has failed; Retry loads again. */
export function modelLine(signal, loaded) {
  const line = el("p", { class: "hint", role: "status", id: "model" }, "Checking the model …");
  const retry = el("button", { type: "button", hidden: true }, "Retry");
  const follow = async () => {
    retry.hidden = true;
    line.className = "hint";
    while (!signal.aborted) {
      let status;
      try {
        status = await read("model", signal);
      } catch (error) {
        if (error.name !== "AbortError") line.textContent = error.message;
        return;
      }
      line.textContent = words(status);
      if (status.state === "failed") {
        line.className = "error";
        line.textContent += " Browsing works without it.";
        retry.hidden = false;
      }
      if (status.state === "ready" || status.state === "failed") return;
      await pause(500);
    }
  };
  retry.addEventListener("click", async () => {
    await post("model", { again: true });
    await follow();
    if (line.className !== "error") loaded();
  });
  return { box: el("div", { class: "row" }, line, retry), follow, load: () => post("model") };
}
