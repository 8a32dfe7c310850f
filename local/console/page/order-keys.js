import { card, el } from "./dom.js";
import { button } from "./form.js";
import { pinFields } from "./order-pin.js";
import { bound } from "./order-recipient.js";

/**
 * @typedef {object} OrderForm
 * @property {import("./choices.js").Choices} choices
 * @property {readonly string[]} idps ids of the host's identity providers
 * @property {() => void} write
 * @property {() => void} redraw
 */

/**
 * The keys of one list.
 * @param {any} owner of the list; none where nothing is shipped
 * @param {string} list
 * @param {string} title
 * @param {OrderForm} form
 */
export const keyFields = (owner, list, title, form) =>
  (owner?.[list] ?? []).map((/** @type {any} */ key, /** @type {number} */ at) => {
    const remove = () => {
      owner[list].splice(at, 1);
      if (owner[list].length === 0) delete owner[list];
      form.redraw();
    };
    return keyCard(`${title} ${at + 1}`, key, { ...form, remove });
  });

/**
 * Buttons for one more key, and for an order that ships nothing.
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
    body.shipment !== undefined &&
      button(
        "Ship nothing",
        async () => {
          delete body.shipment;
          redraw();
        },
        { class: "danger" },
      ),
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
 * @param {OrderForm & { remove: () => void }} form
 */
function keyCard(title, key, { choices, idps, write, redraw, remove }) {
  const shipped = "product_id" in key;
  return card(
    title,
    el(
      "div",
      { class: "grid" },
      bound(key, "name", "Name", write, { optional: true, hint: "ASCII, 18 characters at most." }),
      shipped && bound(key, "product_id", "Product", write, { hint: "8 insists on a PIN of 8." }),
      shipped && bound(key, "inventory_product_id", "Subscription", write),
      !shipped &&
        bound(key, "preferred_authenticator_type", "Preferred", write, {
          optional: true,
          options: [["", "the default"], ...choices.authenticatorKinds],
        }),
      pinFields(key, { shipped, choices, write }),
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
          bound(credential, "idp_id", "Identity provider", write, {
            optional: true,
            options: [["", "the default one"], ...named(idps, credential.idp_id)],
          }),
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

/**
 * Every identity provider, and whatever else is named.
 * @param {readonly string[]} idps
 * @param {string | undefined} chosen
 */
const named = (idps, chosen) => [...new Set([...idps, ...(chosen ? [chosen] : [])])];
