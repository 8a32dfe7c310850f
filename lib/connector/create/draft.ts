import type { Caller } from "../../platform/caller.ts";
import { type Now, plus } from "../../platform/time.ts";
import type { Idps } from "../idp/contract.ts";
import type { Credential } from "../model/credential.ts";
import type { Claim } from "../model/idempotency.ts";
import type { Intervals } from "../model/intervals.ts";
import type { RequestValues } from "../model/loaded-request.ts";
import type { CredentialRequest } from "../model/request.ts";
import { hasPinMail, type SecurityKey } from "../model/security-key.ts";

/**
 * The field of a draft that a check against the settings refuses. A security key is given by its id, other elements by
 * position.
 */
export type DraftLocation =
  | { readonly field: "emailTo"; readonly index: number }
  | { readonly field: "authenticators" }
  | { readonly field: "pinLength"; readonly keyId: string }
  | { readonly field: "idp" | "relyingParty" | "user"; readonly keyId: string; readonly index: number };

/** A parsed create body of either API version: what the caller requested. */
export interface RequestDraft
  extends Pick<CredentialRequest, "origin" | "recipient" | "emailsTo" | "shipment" | "replaces"> {
  /** Returns the path of a field in the body as the caller wrote it, which differs between API versions (C4). */
  readonly pathOf: (location: DraftLocation) => string;
  readonly keys: readonly (Pick<
    SecurityKey,
    | "id"
    | "provisioning"
    | "name"
    | "customizationId"
    | "productId"
    | "inventoryProductId"
    | "preferredAuthenticatorType"
    | "pinRequest"
  > & {
    readonly credentials: readonly (Pick<Credential, "relyingPartyId" | "userId"> & { readonly idpId?: string })[];
  })[];
}

/** Returns a random version 4 UUID (RFC 9562 section 5.4). */
export function newRequestId(random: (bytes: number) => Uint8Array): string {
  const bytes = Buffer.from(random(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/**
 * Returns the rows of a new request. It is due for compensation in case its create handler stops before the order
 * intent (C6).
 */
export function receivedRequest(
  id: string,
  { origin, recipient, emailsTo, shipment, keys, replaces }: RequestDraft,
  { claim, createdBy }: { readonly claim?: Claim; readonly createdBy?: Caller },
  {
    now,
    intervals,
    idps,
  }: {
    readonly now: Now;
    readonly intervals: Pick<Intervals, "receivedMaxAgeMs">;
    readonly idps: Pick<Idps, "defaultId">;
  },
): RequestValues {
  // A claim is judged by its age, so the time limit of the create starts with the claim.
  const createdAt = claim?.claimedAt ?? now();
  const createEndsAt = plus(createdAt, intervals.receivedMaxAgeMs);
  return {
    request: {
      recipient,
      emailsTo,
      ...(shipment && { shipment }),
      id,
      origin,
      ...(claim && { claim: claim.scope }),
      ...(createdBy && { createdBy }),
      state: "received",
      createdAt,
      due: { queue: "reconcile", at: createEndsAt },
      ...(replaces && { replaces, replaceDue: { queue: "replace", at: createEndsAt } }),
      attempts: 0,
    },
    keys: keys.map(key => ({
      ...key,
      state: "processing",
      credentials: key.credentials.map(credential => ({ idpId: idps.defaultId, ...credential, state: "processing" })),
      mail: { state: hasPinMail(key) ? "waiting" : "none", number: 0 },
      ...(origin === "v1_shipment" && { ofShipmentV1: true }),
    })),
  };
}

/** The ids that a create returns: of the request and, if security keys are shipped, of the shipment. */
export interface CreatedIds {
  readonly requestId: string;
  readonly shipmentId?: string;
}
