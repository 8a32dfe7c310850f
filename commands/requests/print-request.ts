import type { CredentialRequest, ListedCredentialRequest } from "../../docs/openapi/connector.ts";
import { printFacts, printTable } from "../operator-command.ts";

type Listed = Pick<ListedCredentialRequest, "shipment" | "authenticators">;

function keysOf({ shipment, authenticators = [] }: Listed) {
  return [...(shipment?.shipment_items ?? []), ...authenticators];
}

/** Returns the users of all credentials of a request, each once. */
export function usersOf(request: Listed): readonly string[] {
  return [...new Set(keysOf(request).flatMap(({ credentials }) => credentials.map(({ user_id }) => user_id)))];
}

/** Prints a request with its keys and credentials. KEY and the position # are what `revoke` takes. */
export function printRequest(request: CredentialRequest): void {
  const { shipment, replaces } = request;
  const keys = keysOf(request);
  printFacts({
    Request: request.credential_request_id,
    State: request.state,
    Reason: request.error_message,
    "External id": request.external_id,
    Replaces: replaces && `${replaces.key_id} of ${replaces.credential_request_id}, ${replaces.reason}`,
    ...Object.fromEntries(keys.map(({ id, replaced_by }) => [`${id} replaced by`, replaced_by])),
    "PIN emails to": request.enrollment_contacts?.emails_to.join(", "),
    Reference: shipment?.customer_reference,
    Shipment: shipment?.shipment_id,
    Tracking: [shipment?.tracking?.number, shipment?.tracking?.link].filter(Boolean).join(" "),
    Delivery: [shipment?.delivery?.state, shipment?.delivery?.error_message].filter(Boolean).join(": "),
    Shipped: shipment?.delivery?.shipped_at,
    Arrived: shipment?.delivery?.state === "delivered" ? shipment.delivery.ended_at : undefined,
  });
  console.log("");
  printTable(
    ["KEY", "NAME", "SERIAL", "KEY STATE", "#", "USER", "IDP", "STATE", "REASON"],
    keys.flatMap(({ id, name, serial_number, state, credentials }) =>
      credentials.map(({ user_id, idp_id, state: own, revocation, error_message }, index) => [
        id,
        name,
        serial_number,
        state,
        index + 1,
        user_id,
        idp_id,
        own,
        revocation?.error_message ?? error_message,
      ]),
    ),
  );
}
