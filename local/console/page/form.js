import { el } from "./dom.js";
import { tell } from "./outcome.js";

let made = 0;

/**
 * @typedef {{ type?: string, value?: string | number, hint?: string, required?: boolean, options?: readonly (string | readonly [string, string])[],
 *   oninput?: (value: string) => void, autocomplete?: string, placeholder?: string, key?: string, min?: number, max?: number }} FieldOptions
 */

/**
 * A labelled input; a `select` where there are options, a text area for `type` `textarea`. Its value goes by `name` into what `valuesOf`
 * reads.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function field(name, label, { hint, options, oninput, key, type = "text", value, ...rest } = {}) {
  const id = `field-${++made}`;
  const common = {
    id,
    name,
    "data-key": key,
    "aria-describedby": hint && `${id}-hint`,
    oninput: oninput && ((/** @type {any} */ event) => oninput(event.target.value)),
  };
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    control({ common, options, type, value, rest }),
    hint && el("p", { class: "hint", id: `${id}-hint` }, hint),
  );
}

/** @param {any} description */
function control({ common, options, type, value, rest }) {
  if (options !== undefined)
    return el(
      "select",
      common,
      options.map((/** @type {string | [string, string]} */ option) => {
        const [own, text] = typeof option === "string" ? [option, option] : option;
        return el("option", { value: own, selected: own === value }, text);
      }),
    );
  if (type === "textarea") return el("textarea", { ...common, spellcheck: "false", rows: 6, ...rest }, value);
  return el("input", { ...common, type, value, autocomplete: "off", ...rest });
}

/**
 * A form that is sent by a button. While the work runs the button waits, so that a second press does nothing.
 * @param {string | { label: string, beside: import("./dom.js").Child }} label of the button, and what stands beside it
 * @param {(values: Record<string, string>, form: HTMLFormElement) => Promise<unknown>} send
 * @param {...import("./dom.js").Child} fields
 */
export function form(label, send, ...fields) {
  const { label: text, beside } = typeof label === "string" ? { label, beside: undefined } : label;
  const button = el("button", { type: "submit", class: "main" }, text);
  const made = /** @type {HTMLFormElement} */ (
    el(
      "form",
      {
        onsubmit: event => {
          event.preventDefault();
          void busy(button, () => send(valuesOf(made), made));
        },
      },
      ...fields,
      el("div", { class: "buttons" }, button, beside),
    )
  );
  return made;
}

/**
 * What is filled in, by name; empty fields are left out.
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>}
 */
export const valuesOf = form =>
  Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, String(value)]).filter(([, value]) => value !== ""),
  );

/**
 * @param {string} label
 * @param {() => Promise<unknown>} work
 * @param {{ class?: string, key?: string, describedby?: string, title?: string }} [options]
 */
export function button(label, work, { key, ...attributes } = {}) {
  const made = el("button", { type: "button", "data-key": key, ...attributes, onclick: () => busy(made, work) }, label);
  return made;
}

/**
 * @param {HTMLElement} button
 * @param {() => Promise<unknown>} work
 */
async function busy(button, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    await work();
  } catch (error) {
    tell(button.textContent ?? "", { reason: error instanceof Error ? error.message : String(error) });
  } finally {
    button.removeAttribute("aria-disabled");
  }
}
