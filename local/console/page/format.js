import { el } from "./dom.js";

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/**
 * A time, short, with the whole of it for who asks.
 * @param {string | number | undefined} at ISO 8601, or ms since 1970
 */
export function time(at) {
  if (at === undefined || at === null) return undefined;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return String(at);
  const today = date.toDateString() === new Date().toDateString();
  const text = today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
  return el("time", { datetime: date.toISOString(), title: date.toISOString() }, text);
}

/** @param {unknown} text an id, a token, a code */
export const code = text =>
  text === undefined || text === null || text === "" ? undefined : el("code", {}, String(text));

/** @param {unknown} value */
export const json = value => el("pre", { class: "json", tabindex: "0" }, JSON.stringify(value, undefined, 2));

/**
 * @param {number} count
 * @param {string} one
 */
export const counted = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
