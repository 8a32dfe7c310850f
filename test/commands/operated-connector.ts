import { expect } from "vitest";
import { days } from "../../lib/platform/time.ts";
import { sampleRequest } from "../../local/start/sample-request.ts";
import type { AuthHost } from "../support/auth/host.ts";

/** The connector of a host, as tests of the commands for operators prepare it. */
export function operatedConnector(auth: AuthHost) {
  // Shipments leave when a test says so, however slow the machine is.
  auth.peers.delivery.settings({ shipAfterMs: days(1) });
  const callConnector = async (method: string, path: string, body?: object) => {
    const response = await fetch(auth.connectorUrl + path, {
      method,
      headers: { authorization: `Bearer ${auth.otherToken}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.ok, path).toBe(true);
    return JSON.parse((await response.text()) || "{}") as { readonly data: { readonly [field: string]: string } };
  };
  return {
    callConnector,
    /** Orders keys, each with credentials for these users, and waits until they are active. Returns the id of the request. */
    activeRequest: async (...keys: readonly (readonly string[])[]): Promise<string> => {
      const { shipment, ...rest } = sampleRequest;
      const shipment_items = keys.map(users => ({
        ...shipment.shipment_items[0],
        credentials: users.map(user_id => ({ user_id })),
      }));
      const { data } = await callConnector("POST", "/v2/credential-requests", {
        ...rest,
        shipment: { ...shipment, shipment_items },
      });
      await auth.peers.delivery.control(data.shipment_id ?? "", { ship: true });
      await callConnector("GET", "/v2/operations/process-shipments");
      await callConnector("POST", "/v2/operations/process-credential-requests");
      return data.credential_request_id ?? "";
    },
  };
}
