import { el } from "./dom.js";

/**
 * Tells what the last call came to, where it does not move anything, until the next one or until it is put away.
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
}

/**
 * @param {unknown} body
 * @param {Record<string, string>} headers
 */
function shortly(body, headers) {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body, undefined, 1);
  const named = ["retry-after", "x-ignored-fields", "location"].flatMap(name => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [...named, text.length > 1200 ? `${text.slice(0, 1200)} …` : text].filter(Boolean).join("\n");
}
