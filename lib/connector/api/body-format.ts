import type { RequestDraft } from "../model/draft.ts";
import type { CredentialRequest } from "../model/request.ts";

/**
 * The field of a draft that a check against the settings refuses. A security key is given by its id, other elements by
 * position.
 */
export type DraftLocation =
  | { readonly field: "emailTo"; readonly index: number }
  | { readonly field: "authenticators" }
  | { readonly field: "pinLength"; readonly keyId: string }
  | { readonly field: "idp" | "relyingParty" | "user"; readonly keyId: string; readonly index: number };

/** The format of the body of a create, which differs between the versions of the API (decision C4). */
export interface BodyFormat<D extends RequestDraft = RequestDraft> {
  readonly origin: CredentialRequest["origin"];
  /** Returns the path of the field in the body as the caller wrote it. */
  pathOf(location: DraftLocation, draft: D): string;
}
