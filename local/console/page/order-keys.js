import { card, el } from "./dom.js";
import { button, field } from "./form.js";
import { bound } from "./order-recipient.js";

/**
 * The keys of one list.
 * @param {any} owner of the list; none where nothing is shipped
 * @param {string} list
 * @param {{ title: string, write: () => void, redraw: () => void }} options
 */
export const keyFields = (owner, list, { title, write, redraw }) =>
  (owner?.[list] ?? []).map((/** @type {any} */ key, /** @type {number} */ at) => {
    const remove = () => {
      owner[list].splice(at, 1);
      if (owner[list].length === 0) delete owner[list];
      redraw();
    };
    return keyCard(`${title} ${at + 1}`, key, { write, redraw, remove });
  });

/**
 * Buttons for one more key.
 * @param {any} body
 * @param {() => void} redraw
 */
export function addButtons(body, redraw) {
  const adding = (
    /** @type {string} */ label,
    /** @type {any} */ owner,
    /** @type {string} */ list,
    /** @type {object} */ key,
  ) =>
    owner !== undefined &&
    button(
      label,
      async () => {
        owner[list] = [...(owner[list] ?? []), structuredClone(key)];
        redraw();
      },
      { key: `add ${list}` },
    );
  return el(
    "div",
    { class: "buttons" },
    adding("Add a shipped key", body.shipment, "shipment_items", newItem),
    adding("Add an on-site authenticator", body, "authenticators", newAuthenticator),
  );
}

const newItem = {
  product_id: "1",
  inventory_product_id: "15",
  pin_request: { length: 6 },
  credentials: [{ user_id: "ada@example.com" }],
};

const newAuthenticator = { pin_request: { min_length: 6 }, credentials: [{ user_id: "ada@example.com" }] };

/**
 * @param {string} title
 * @param {any} key
 * @param {{ write: () => void, redraw: () => void, remove: () => void }} actions
 */
function keyCard(title, key, { write, redraw, remove }) {
  const shipped = "product_id" in key;
  const length = shipped ? "length" : "min_length";
  return card(
    title,
    el(
      "div",
      { class: "grid" },
      bound(key, "name", "Name", write, { optional: true, hint: "ASCII, 18 characters at most." }),
      shipped && bound(key, "product_id", "Product", write, { hint: "8 insists on a PIN of 8." }),
      shipped && bound(key, "inventory_product_id", "Subscription", write),
      field("", "PIN length", {
        value: key.pin_request?.[length] ?? "",
        type: "number",
        hint: "4 to 63. Empty: no PIN.",
        oninput: value => {
          if (value === "") delete key.pin_request;
          else key.pin_request = { ...key.pin_request, [length]: Number(value) };
          write();
        },
      }),
    ),
    key.credentials.map((/** @type {any} */ credential, /** @type {number} */ at) =>
      el(
        "fieldset",
        {},
        el("legend", {}, `Credential ${at + 1}`),
        el(
          "div",
          { class: "grid" },
          bound(credential, "user_id", "User", write),
          bound(credential, "idp_id", "Identity provider", write, { optional: true, hint: "Empty: the default one." }),
          bound(credential, "relying_party_id", "Relying party", write, { optional: true }),
        ),
        key.credentials.length > 1 &&
          button("Remove this credential", async () => {
            key.credentials.splice(at, 1);
            redraw();
          }),
      ),
    ),
    el(
      "div",
      { class: "buttons" },
      button(
        "Add a credential",
        async () => {
          key.credentials.push({ user_id: "grace@example.com" });
          redraw();
        },
        { key: `add to ${title}` },
      ),
      button("Remove this key", async () => remove(), { class: "danger" }),
    ),
  );
}
