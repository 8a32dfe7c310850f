import { el, fill } from "./dom.js";

/**
 * Keeps an area up to date for as long as the view is there: loads now, every second after, and when told so; draws only when something
 * changed. A hidden page loads nothing.
 * @template T
 * @param {AbortSignal} left aborted when the view is left
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {(data: T, refresh: () => Promise<void>) => import("./dom.js").Child | readonly import("./dom.js").Child[]} draw
 * @param {{ everyMs?: number }} [options]
 */
export function live(left, load, draw, { everyMs = 1000 } = {}) {
  const area = el("div", { class: "live", "aria-busy": "true" }, el("p", { class: "empty" }, "Loading …"));
  let shown = "";
  /** @type {Promise<void> | undefined} */
  let running;
  const once = async () => {
    let change;
    try {
      const data = await load(left);
      change = { text: JSON.stringify(data) ?? "", made: () => draw(data, refresh) };
    } catch (error) {
      if (left.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      change = { text: `failed ${reason}`, made: () => el("p", { class: "problem" }, reason) };
    }
    if (left.aborted || change.text === shown) return;
    shown = change.text;
    area.removeAttribute("aria-busy");
    fill(area, /** @type {any} */ (change.made()));
  };
  const refresh = async () => {
    // Whoever asks anew wants to see what is true after what was just done.
    await running;
    running ??= once().finally(() => {
      running = undefined;
    });
    await running;
  };
  const timer = setInterval(() => {
    if (!document.hidden && running === undefined) void refresh();
  }, everyMs);
  left.addEventListener("abort", () => clearInterval(timer));
  const ready = refresh();
  return { area, refresh, ready };
}
