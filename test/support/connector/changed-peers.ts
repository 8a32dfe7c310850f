import type { ConnectorContext } from "../../../functions/connector/context.ts";
import type { Idp } from "../../../lib/connector/idp/contract.ts";
import type { Fetch } from "../../../lib/platform/call-peer.ts";
import type { Body } from "../../lib/connector/api/bodies.ts";
import { type Clock, type ConnectorOptions, idpsOf } from "./test-connector.ts";

type Ports = NonNullable<ConnectorOptions["ports"]>;
type Port = "delivery" | "mailer" | "requests" | "responses" | "rfpr" | "sealer";

/** Returns the ports with changed methods of one of them. */
export const withPort =
  <N extends Port>(
    name: N,
    change: (port: NonNullable<ConnectorContext[N]>, clock: Clock) => Partial<NonNullable<ConnectorContext[N]>>,
  ): Ports =>
  (context, clock) => {
    const port = context[name];
    if (port === undefined) throw new Error(`the connector has no ${name}`);
    return { [name]: { ...port, ...change(port, clock) } };
  };

/** Returns the ports with changed methods of every IdP. */
export const withIdps =
  (change: (idp: Idp, clock: Clock) => Partial<Idp>): Ports =>
  (context, clock) => ({ idps: idpsOf(context, idp => change(idp, clock)) });

/** The challenges of every IdP have no end. */
export const withoutExpiry: Ports = withIdps(idp => ({
  creationOptions: async (wanted, signal) => {
    const { expiresAt: _, ...challenge } = await idp.creationOptions(wanted, signal);
    return challenge;
  },
}));

/** Changes what the delivery service returns of a shipment, on its way. */
export const changedShipment = (change: (shipment: Body) => Body): { readonly fetch: Fetch } => ({
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method !== "GET" || !/shipments\/[^/]+$/.test(String(url)) || !response.ok) return response;
    return Response.json(change(await response.json()));
  },
});

/** Changes what the delivery service returns of each security key, on its way. @param change gets the position of its item */
export const changedKeys = (change: (key: Body, item: number) => Body) =>
  changedShipment(shipment => ({
    ...shipment,
    shipment_items: shipment.shipment_items.map((item: Body, index: number) => ({
      ...item,
      product_data: item.product_data.map((key: Body) => change(key, index)),
    })),
  }));
