/**
 * @typedef {Node | string | number | undefined | null | false} Child
 * @typedef {Record<string, string | number | boolean | undefined | ((event: any) => void)>} Attributes
 */

/**
 * Makes an element. Children that are no nodes become text, so nothing that is shown can be markup. A function is listened with
 * (`onclick`); `false` and undefined leave an attribute out. Links lead into the page, or to addresses of this machine.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | readonly Child[])} children
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "href" && !/^(#|http:\/\/127\.0\.0\.1:)/.test(String(value)))
      throw new Error("A link leads elsewhere.");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * @param {readonly (Child | readonly Child[])[]} children
 * @returns {(Node | string)[]}
 */
export const nodes = children =>
  children
    .flat(2)
    .filter(child => child !== undefined && child !== null && child !== false)
    .map(child => (child instanceof Node ? child : String(child)));

/**
 * Puts new content into an area. Elements are told apart by `data-key`: the focus goes back where it was, what was opened stays open, and
 * what somebody has begun to fill in stays filled in.
 * @param {Element} area
 * @param {readonly (Child | readonly Child[])[]} children
 */
export function fill(area, ...children) {
  const before = new Map(
    keyed(area).map(each => [each.dataset.key, { each, focused: each === document.activeElement }]),
  );
  area.replaceChildren(...nodes(children));
  for (const each of keyed(area)) {
    const old = before.get(each.dataset.key);
    if (old === undefined) continue;
    if (isControl(each) && isControl(old.each) && isTouched(old.each)) each.value = old.each.value;
    if (each instanceof HTMLDetailsElement && old.each instanceof HTMLDetailsElement) each.open = old.each.open;
    if (old.focused) each.focus();
  }
}

/**
 * @param {Element} area
 * @returns {HTMLElement[]}
 */
const keyed = area => [.../** @type {NodeListOf<HTMLElement>} */ (area.querySelectorAll("[data-key]"))];

/**
 * @param {HTMLElement} element
 * @returns {element is HTMLInputElement | HTMLSelectElement}
 */
const isControl = element => element instanceof HTMLInputElement || element instanceof HTMLSelectElement;

/** @param {HTMLInputElement | HTMLSelectElement} control */
const isTouched = control =>
  control instanceof HTMLSelectElement
    ? control.selectedOptions[0]?.defaultSelected === false &&
      [...control.options].some(option => option.defaultSelected)
    : control.value !== control.defaultValue;

/**
 * A part of a view under a heading.
 * @param {string} title
 * @param {...(Child | readonly Child[])} children
 */
export const card = (title, ...children) => el("section", { class: "card" }, el("h2", {}, title), ...children);

/**
 * Names and values. Rows without a value are left out.
 * @param {Record<string, Child>} rows
 */
export const factList = rows =>
  el(
    "dl",
    { class: "facts" },
    Object.entries(rows).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)],
    ),
  );

/**
 * A table; on a narrow screen each row becomes a block, its cells named by the column.
 * @param {string} caption for those who can not see what it stands under
 * @param {readonly string[]} columns
 * @param {readonly (readonly Child[])[]} rows
 * @param {string} nothing what to say where there is no row
 */
export function table(caption, columns, rows, nothing) {
  if (rows.length === 0) return el("p", { class: "empty" }, nothing);
  return el(
    "table",
    {},
    el("caption", { class: "unseen" }, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        columns.map(column => el("th", { scope: "col" }, column)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(row =>
        el(
          "tr",
          {},
          row.map((cell, index) => el("td", { "data-column": columns[index] }, cell)),
        ),
      ),
    ),
  );
}

/**
 * A state in a word, with a colour for a quicker look.
 * @param {unknown} state
 */
export const badge = state => el("span", { class: `badge ${tones[String(state)] ?? "calm"}` }, String(state));

/** @type {Record<string, string>} */
const tones = {
  complete: "good",
  active: "good",
  enabled: "good",
  served: "good",
  well: "good",
  valid: "good",
  completed: "good",
  waiting: "calm",
  partial: "warn",
  activation_pending: "warn",
  stopped: "warn",
  failed: "bad",
  "not valid": "bad",
  "not served": "off",
  cancelled: "off",
  disabled: "off",
};
