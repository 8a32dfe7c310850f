import { el } from "./dom.js";

/**
 * Tells what the last call came to, where it does not move anything. A refusal stays until the next call, or until it is put away.
 * @param {string} name
 * @param {{ status?: number, body?: unknown, reason?: string, headers?: Record<string, string> }} outcome
 */
export function tell(name, { status, body, reason, headers = {} }) {
  const good = status !== undefined && status < 400;
  const more = reason ?? shortly(body, headers);
  const box = el(
    "div",
    { class: `outcome ${good ? "good" : "bad"}` },
    el("p", {}, el("strong", {}, status === undefined ? "Failed" : String(status)), " ", el("span", {}, name)),
    more !== "" && el("pre", {}, more),
    el(
      "button",
      { type: "button", class: "quiet", "aria-label": "Put this note away", onclick: () => box.remove() },
      "×",
    ),
  );
  document.querySelector("#outcome")?.replaceChildren(box);
  if (good) setTimeout(() => leave(box), longEnoughMs);
}

const longEnoughMs = 8000;

/**
 * Takes a note away, but not from under somebody's hand.
 * @param {HTMLElement} box
 */
function leave(box) {
  if (box.matches(":hover, :focus-within")) setTimeout(() => leave(box), longEnoughMs);
  else box.remove();
}

/**
 * @param {unknown} body
 * @param {Record<string, string>} headers
 */
function shortly(body, headers) {
  const line = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const text = line.length > 90 && typeof body === "object" ? JSON.stringify(body, undefined, 1) : line;
  const named = ["retry-after", "x-ignored-fields", "location"].flatMap(name => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [...named, text.length > 1200 ? `${text.slice(0, 1200)} …` : text].filter(Boolean).join("\n");
}
