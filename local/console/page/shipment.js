import { steer } from "./calls.js";
import { el } from "./dom.js";
import { button, field, form } from "./form.js";

/**
 * A state of the delivery service by its number.
 * @param {number} state
 * @param {import("./choices.js").Choices} choices
 */
export const shipmentState = (state, { shipmentStates }) => `${state} · ${shipmentStates[state] ?? "unknown"}`;

/**
 * What can be done to a shipment at the delivery service.
 * @param {{ id: string, state: number }} shipment
 * @param {import("./choices.js").Choices} choices
 * @param {() => Promise<void>} after
 */
export function shipmentControls({ id, state }, choices, after) {
  const change = (/** @type {object} */ body) =>
    steer("delivery", "POST", `shipments/${encodeURIComponent(id)}`, body).then(after);
  const states = Object.entries(choices.shipmentStates).map(
    ([number, text]) => /** @type {[string, string]} */ ([number, `${number} · ${text}`]),
  );
  const sabotages = [/** @type {[string, string]} */ (["", "honest"]), ...choices.sabotages];
  return el(
    "div",
    { class: "controls" },
    el(
      "div",
      { class: "buttons", role: "group", "aria-label": `Shipment ${id}` },
      button("Ship now", () => change({ ship: true }), { key: `ship ${id}` }),
      button("Purge its responses", () => change({ purge: true }), { key: `purge ${id}` }),
      button("Delete it", () => change({ delete: true }), { key: `delete ${id}`, class: "danger" }),
    ),
    form(
      "Set state",
      values => change({ state: Number(values.state) }),
      field("state", "State at the delivery service", { options: states, value: String(state), key: `state ${id}` }),
    ),
    form(
      "Set answers",
      values => change({ sabotage: values.sabotage ?? null }),
      field("sabotage", "Its answers are", { options: sabotages, value: "", key: `sabotage ${id}` }),
    ),
  );
}
