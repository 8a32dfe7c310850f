import { field } from "./form.js";

/**
 * The fields of a key's `pin_request`. A key without any of them has no PIN.
 * @param {any} key
 * @param {{ shipped: boolean, choices: import("./choices.js").Choices, write: () => void }} options
 */
export function pinFields(key, { shipped, choices, write }) {
  const change = (/** @type {string} */ name, /** @type {string | number} */ value) => {
    const { [name]: _, ...others } = key.pin_request ?? {};
    key.pin_request = value === "" ? others : { ...others, [name]: value };
    if (Object.keys(key.pin_request).length === 0) delete key.pin_request;
    write();
  };
  const chosen = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[]} */ options) =>
    field("", label, {
      options: [["", "the default"], ...options.map(each => /** @type {[string, string]} */ ([each, each]))],
      value: key.pin_request?.[name] ?? "",
      oninput: value => change(name, value),
    });
  const length = shipped ? "length" : "min_length";
  return [
    field("", "PIN length", {
      value: key.pin_request?.[length] ?? "",
      type: "number",
      hint: shipped ? "4 to 63. Empty: no PIN." : "4 to 63.",
      oninput: value => change(length, value === "" ? "" : Number(value)),
    }),
    !shipped && chosen("entry_method", "PIN is made up by", choices.entryMethods),
    !shipped && chosen("delivery_method", "PIN is delivered by", choices.deliveryMethods),
  ];
}
