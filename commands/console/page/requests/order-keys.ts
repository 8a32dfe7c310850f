import { useRef } from "preact/hooks";
import { Button } from "../forms/button.ts";
import { binder } from "../forms/field.ts";
import type { Choices } from "../model.ts";
import { Card, html } from "../ui.ts";

// biome-ignore lint/suspicious/noExplicitAny: the order may be any JSON that a person types
export type Draft = any;

export interface OrderForm {
  readonly draft: Draft;
  readonly choices: Choices;
  /** Ids of the host's identity providers. */
  readonly idps: readonly string[];
  /** Users that are known here. */
  readonly users: readonly string[];
  /** To be called after a change of the draft. */
  readonly changed: () => void;
}

/** The cards of one list of keys. @param owner of the list; undefined if nothing is shipped */
export const KeyCards = (form: OrderForm, owner: Draft, list: string, title: string) =>
  (owner?.[list] ?? []).map((key: Draft, at: number) => {
    const remove = async () => {
      owner[list].splice(at, 1);
      if (owner[list].length === 0) delete owner[list];
      form.changed();
    };
    const path = `${list === "shipment_items" ? "shipment." : ""}${list}[${at}]`;
    return keyCard(form, { title: `${title} ${at + 1}`, key, path, remove, isShipped: list === "shipment_items" });
  });

const newItem = {
  product_id: "1",
  inventory_product_id: "15",
  pin_request: { length: 6 },
  credentials: [{ user_id: "ada@example.com" }],
};
const newAuthenticator = { pin_request: { min_length: 6 }, credentials: [{ user_id: "ada@example.com" }] };

/** Buttons for one more key, and for an order that ships nothing. */
export function AddButtons({ draft, changed }: OrderForm) {
  const add = (owner: Draft, list: string, key: object) => async () => {
    owner[list] = [...(owner[list] ?? []), structuredClone(key)];
    changed();
  };
  const left = useRef<Draft>(undefined);
  const shipNothing = async () => {
    left.current = draft.shipment;
    delete draft.shipment;
    changed();
  };
  const shipAgain = async () => {
    draft.shipment = left.current;
    changed();
  };
  return html`<div class="buttons">
    ${draft.shipment && html`<${Button} label="Add a shipped key" run=${add(draft.shipment, "shipment_items", newItem)} />`}
    <${Button} label="Add an on-site authenticator" run=${add(draft, "authenticators", newAuthenticator)} />
    ${draft.shipment && html`<${Button} label="Ship nothing" run=${shipNothing} />`}
    ${!draft.shipment && left.current && html`<${Button} label="Ship keys after all" run=${shipAgain} />`}
  </div>`;
}

interface KeyOptions {
  readonly title: string;
  readonly key: Draft;
  readonly path: string;
  readonly isShipped: boolean;
  readonly remove: () => Promise<void>;
}

function keyCard({ choices, idps, users, changed }: OrderForm, { title, key, path, isShipped, remove }: KeyOptions) {
  const bound = binder(key, path, changed);
  const removeCredential = (at: number) => async () => {
    key.credentials.splice(at, 1);
    changed();
  };
  const addCredential = async () => {
    key.credentials.push({ user_id: "grace@example.com" });
    changed();
  };
  return html`<${Card} title=${title}>
    <div class="grid">
      ${bound("name", "Name", { isOptional: true, hint: "ASCII, 18 characters at most." })}
      ${isShipped && bound("product_id", "Product", { suggestions: ["1", "8"], hint: "8 requires a PIN of 8." })}
      ${isShipped && bound("inventory_product_id", "Subscription", { suggestions: ["15"] })}
      ${!isShipped && bound("preferred_authenticator_type", "Preferred", { isOptional: true, options: [["", "the default"], ...choices.authenticatorKinds] })}
      ${pinFields(key, `${path}.pin_request`, { isShipped, choices, changed })}
    </div>
    ${key.credentials.map((credential: Draft, at: number) => {
      const own = binder(credential, `${path}.credentials[${at}]`, changed);
      const named = [...new Set([...idps, ...(credential.idp_id ? [credential.idp_id] : [])])];
      return html`<fieldset>
        <legend>Credential ${at + 1}</legend>
        <div class="grid">
          ${own("user_id", "User", { suggestions: users })}
          ${own("idp_id", "Identity provider", { isOptional: true, options: [["", "the default one"], ...named] })}
          ${own("relying_party_id", "Relying party", { isOptional: true })}
        </div>
        ${key.credentials.length > 1 && html`<${Button} label="Remove this credential" run=${removeCredential(at)} />`}
      </fieldset>`;
    })}
    <div class="buttons">
      <${Button} label="Add a credential" run=${addCredential} />
      <${Button} label="Remove this key" kind="danger" run=${remove} />
    </div>
  <//>`;
}

interface PinOptions {
  readonly isShipped: boolean;
  readonly choices: Choices;
  readonly changed: () => void;
}

/** The fields of a key's `pin_request`. A key without any of them has no PIN. */
function pinFields(key: Draft, path: string, { isShipped, choices, changed }: PinOptions) {
  const pin = { ...key.pin_request };
  const bound = binder(pin, path, () => {
    key.pin_request = pin;
    if (Object.keys(pin).length === 0) delete key.pin_request;
    changed();
  });
  const options = (values: readonly string[]) => ({ isOptional: true, options: [["", "the default"], ...values] });
  return html`
    ${bound(isShipped ? "length" : "min_length", "PIN length", { isOptional: true, type: "number", hint: isShipped ? "4 to 63. Empty: no PIN." : "4 to 63." })}
    ${!isShipped && bound("entry_method", "PIN is chosen by", options(choices.entryMethods))}
    ${!isShipped && bound("delivery_method", "PIN is delivered by", options(choices.deliveryMethods))}
  `;
}
