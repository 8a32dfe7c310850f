import type { CredentialRequest } from "./request.ts";
import type { SecurityKey } from "./security-key.ts";

/** A request with all its security keys in the order of the request. */
export interface RequestValues {
  readonly request: CredentialRequest;
  readonly keys: readonly SecurityKey[];
}

/** A request with its security keys as one query has read them. */
export interface LoadedRequest extends RequestValues {
  /** The ETag of each row by its row key. A write succeeds only for the row that was read. */
  readonly etags: ReadonlyMap<string, string>;
}

/** The rows of a request that are replaced. */
export interface Changes {
  readonly request?: CredentialRequest;
  readonly keys?: readonly SecurityKey[];
}

/** Returns one security key of a request. Throws if the request has no such key. */
export function securityKeyOf({ keys }: Pick<RequestValues, "keys">, keyId: string): SecurityKey {
  const key = keys.find(({ id }) => id === keyId);
  if (key === undefined) throw new Error(`the request has no security key ${keyId}`);
  return key;
}

/** Returns a request with changes. */
export const withChanges = (
  { request: formerRequest, keys: formerKeys }: RequestValues,
  { request = formerRequest, keys = [] }: Changes,
): RequestValues => ({ request, keys: formerKeys.map(key => keys.find(({ id }) => id === key.id) ?? key) });
