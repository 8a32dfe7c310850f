import { el, table } from "./dom.js";
import { field, form } from "./form.js";

/**
 * The fields that each kind of fault knows beside method, path and phase.
 * @type {Record<string, readonly string[]>}
 */
const more = {
  refuse: ["status", "body"],
  delay: ["ms"],
  throttle: ["retryAfter", "body"],
  nonsense: ["status", "body"],
};

/** @param {any[]} rules */
export const drawFaults = rules =>
  table(
    "Faults that are set",
    ["Kind", "Times left", "Calls", "When", "Details"],
    rules.map(({ kind, times, method, path, phase, ...rest }) => [
      kind,
      times,
      el("code", {}, `${method ?? "any method"} ${path ?? "any path"}`),
      phase === "after" ? "after its work" : "before its work",
      (more[kind] ?? [])
        .filter(name => rest[name] !== undefined)
        .map(name => `${name}: ${typeof rest[name] === "string" ? rest[name] : JSON.stringify(rest[name])}`)
        .join(", "),
    ]),
    "No fault is set.",
  );

/**
 * @param {import("./choices.js").Choices} choices
 * @param {(rule: object) => Promise<void>} add
 */
export function faultForm({ faultKinds }, add) {
  const details = el("div", { class: "grid" });
  /** @type {Record<string, () => HTMLElement>} */
  const fields = {
    status: () => field("status", "Status", { type: "number", placeholder: "its usual one", min: 200, max: 599 }),
    body: () => field("body", "Body", { hint: "JSON, or any text. Empty: its usual one." }),
    ms: () => field("ms", "Milliseconds", { type: "number", value: 1000, min: 0 }),
    retryAfter: () => field("retryAfter", "Retry after, in seconds", { type: "number", value: 1, min: 0 }),
  };
  const draw = (/** @type {string} */ kind) =>
    details.replaceChildren(...(more[kind] ?? []).map(name => fields[name]?.() ?? ""));
  draw(faultKinds[0] ?? "");
  return form(
    "Set a fault",
    values => add(ruleOf(values)),
    el(
      "div",
      { class: "grid" },
      field("kind", "Kind", { options: faultKinds, oninput: draw }),
      field("times", "Times", { type: "number", value: 1, min: 1 }),
      field("phase", "When", {
        options: [
          ["before", "before its work"],
          ["after", "after its work"],
        ],
      }),
      field("method", "Method", { options: [["", "any"], "GET", "POST", "PUT", "PATCH", "DELETE"] }),
      field("path", "Path", { hint: "A regular expression. Empty: every path." }),
    ),
    details,
  );
}

/** @param {Record<string, string>} values */
function ruleOf({ body, times, status, ms, retryAfter, ...words }) {
  const numbers = Object.entries({ times, status, ms, retryAfter }).filter(([, text]) => text !== undefined);
  return {
    ...words,
    ...Object.fromEntries(numbers.map(([name, text]) => [name, Number(text)])),
    ...(body && { body: parsed(body) }),
  };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
