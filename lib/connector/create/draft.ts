import type { Credential } from "../model/credential.ts";
import type { CredentialRequest } from "../model/request.ts";
import type { SecurityKey } from "../model/security-key.ts";

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

/** The ids that a create returns: of the request and, if security keys are shipped, of the shipment. */
export interface CreatedIds {
  readonly requestId: string;
  readonly shipmentId?: string;
}
