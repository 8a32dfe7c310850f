import { callHost, segment } from "./calls.js";
import { card, el, table } from "./dom.js";
import { button, field, form } from "./form.js";

/**
 * A form that sets an attribute of a user or a key.
 * @param {string} owner path of their owner
 * @param {() => Promise<void>} refresh
 */
export const attributeForm = (owner, refresh) =>
  card(
    "Set an attribute",
    form(
      "Set",
      async ({ key = "", value = "" }, sent) => {
        await callHost("POST", `${owner}/attributes`, { body: { key, value } });
        sent.reset();
        await refresh();
      },
      field("key", "Key", { required: true }),
      field("value", "Value"),
    ),
  );

/**
 * The attributes of a user or a key, to be deleted.
 * @param {string} owner path of their owner
 * @param {Record<string, string>} attributes
 * @param {() => Promise<void>} refresh
 */
export const attributesCard = (owner, attributes, refresh) =>
  card(
    "Attributes",
    table(
      "Attributes",
      ["Key", "Value", ""],
      Object.entries(attributes).map(([key, value]) => [
        el("code", {}, key),
        value,
        button("Delete", () => callHost("DELETE", `${owner}/attributes/${segment(key)}`).then(refresh), {
          key: `attribute ${key}`,
        }),
      ]),
      "There is none.",
    ),
  );
