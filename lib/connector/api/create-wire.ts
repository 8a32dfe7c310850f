import type { RequestDraft } from "../model/draft.ts";
import type { Origin } from "../model/request.ts";

/** What of a draft a check refuses that needs the deployment's settings; keys by id, the rest by position. */
export type SecurityKeyPath =
  | { readonly field: "emailTo"; readonly index: number }
  | { readonly field: "authenticators" }
  | { readonly field: "idp" | "relyingParty"; readonly keyId: string; readonly index: number };

/** A version's create, as far as the work behind it has to know it (decision C4). */
export interface CreateFormat<D extends RequestDraft = RequestDraft> {
  readonly origin: Origin;
  /** The field's path in the body as the caller wrote it. */
  pathOf(place: SecurityKeyPath, draft: D): string;
}
