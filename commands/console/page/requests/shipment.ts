import { steer } from "../calls.ts";
import { Button } from "../forms/button.ts";
import { Field } from "../forms/field.ts";
import { Form, type Values } from "../forms/form.ts";
import type { Choices, Shipment } from "../model.ts";
import { html } from "../ui.ts";

export const shipped = 103;
const delivered = 104;
const lost = 105;
const exception = 106;

/** A state of the delivery service by its number. */
export const shipmentState = (state: number, { shipmentStates }: Choices): string =>
  `${state} · ${shipmentStates[state] ?? "unknown"}`;

/** What can be done to a shipment at the delivery service. */
export function ShipmentControls({ shipment: { id, state }, choices }: { shipment: Shipment; choices: Choices }) {
  const change = (body: object) => steer("delivery", "POST", `shipments/${encodeURIComponent(id)}`, body);
  const states = Object.keys(choices.shipmentStates).map(number => [number, shipmentState(Number(number), choices)]);
  return html`<div class="controls">
    <div class="buttons" role="group" aria-label=${`Shipment ${id}`}>
      <${Button} label="Ship now" run=${() => change({ ship: true })} />
      <${Button} label="Deliver" run=${() => change({ state: delivered })} />
      <${Button} label="Lose" run=${() => change({ state: lost })} />
      <${Button} label="Fail to deliver" run=${() => change({ state: exception })} />
      <${Button} label="Purge its responses" kind="danger" run=${() => change({ purge: true })} confirm=${{
        title: "Purge the responses?",
        text: "The delivery service deletes what the keys of this shipment answered. It cannot be fetched again.",
        action: "Purge",
      }} />
      <${Button} label="Delete it" kind="danger" run=${() => change({ delete: true })} confirm=${{
        title: "Delete the shipment?",
        text: `The delivery service deletes shipment ${id}, as if its customer had done so.`,
        action: "Delete",
      }} />
    </div>
    <${Form} label="Set state" send=${(values: Values) => change({ state: Number(values.state) })}>
      <${Field} name="state" label="State at the delivery service" options=${states} value=${String(state)} />
    <//>
    <${Form} label="Set answers" send=${(values: Values) => change({ sabotage: values.sabotage ?? null })}>
      <${Field} name="sabotage" label="Its answers are" options=${[["", "honest"], ...choices.sabotages]} />
    <//>
  </div>`;
}
