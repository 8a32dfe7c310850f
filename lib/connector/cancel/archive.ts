import { omitUndefined } from "../../platform/omit-undefined.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { Shipment } from "../model/request.ts";
import type { Credential, Revocation, SecurityKey } from "../model/security-key.ts";

/** Whether the register keeps a request after its clean-up: an IdP has registered a credential of it. */
export const isKeptInRegister = (keys: readonly SecurityKey[]): boolean =>
  keys.some(({ credentials }) => credentials.some(({ state }) => state === "active"));

const nobody = { email: "", firstName: "", lastName: "", company: "", telephone: "", externalId: "" };

/**
 * Returns what the register keeps of an ended request: its security keys, and their credentials with what a removal at
 * the IdP needs. It names what is kept, so that a column that is added to a request is not kept by mistake.
 */
export function archived({ request, keys }: RequestValues): RequestValues {
  const { id, origin, state, createdAt, terminalAt = createdAt, delivery, eventCount } = request;
  const shipment = delivery?.shipment;
  return {
    request: {
      id,
      origin,
      state,
      createdAt,
      terminalAt,
      isArchived: true,
      recipient: nobody,
      emailsTo: [],
      // The events themselves are removed. Those of a later revocation have the next positions.
      ...(eventCount !== undefined && { eventCount }),
      ...(shipment && { delivery: { shipment: archivedShipment(shipment) } }),
      due: { queue: "register", at: terminalAt },
      attempts: 0,
    },
    keys: keys.map(archivedKey),
  };
}

const archivedShipment = ({ id, tentative, stateId, shippedAt, endedAt }: Shipment): Shipment =>
  omitUndefined({ id, tentative, stateId, shippedAt, endedAt });

const archivedKey = (key: SecurityKey): SecurityKey => {
  const { id, provisioning, customizationId, productId, inventoryProductId, state, serial, firmware, replacedBy } = key;
  return {
    ...omitUndefined({ id, provisioning, customizationId, productId, inventoryProductId, state, serial, firmware }),
    ...omitUndefined({ replacedBy }),
    credentials: key.credentials.map(archivedCredential),
    mail: { state: "none", number: 0 },
  };
};

const archivedCredential = (credential: Credential): Credential => {
  const { idpId, relyingPartyId, userId, state, aaguid, credentialId, activatedAt, revocation } = credential;
  const { idpState, registrationId } = credential;
  return omitUndefined({
    ...{ idpId, relyingPartyId, userId, state, aaguid, credentialId, activatedAt },
    ...{ idpState, registrationId, revocation: revocation && archivedRevocation(revocation) },
  });
};

/** Without the caller, and without the message of the IdP, which may name a person. */
const archivedRevocation = ({ requestedBy: _, retry, ...revocation }: Revocation): Revocation => {
  const { lastError, ...attempts } = retry;
  return { ...revocation, retry: attempts };
};
