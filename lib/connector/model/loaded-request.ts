import type { Stored } from "../../platform/stored.ts";
import type { CredentialRequest } from "./request.ts";
import type { SecurityKey } from "./security-key.ts";

/** A request with its security keys, without the ETags of their rows. */
export interface RequestValues {
  readonly request: CredentialRequest;
  readonly keys: readonly SecurityKey[];
}

/** A request with all its security keys in the order of the request. Read by one query. */
export interface LoadedRequest {
  readonly request: Stored<CredentialRequest>;
  readonly keys: readonly Stored<SecurityKey>[];
}

/** The rows of a request that are replaced. */
export interface Changes {
  readonly request?: CredentialRequest;
  readonly keys?: readonly SecurityKey[];
}

/** Returns the security keys of a loaded request, in the order of the request. */
export const securityKeysOf = ({ keys }: Pick<LoadedRequest, "keys">): readonly SecurityKey[] =>
  keys.map(({ value }) => value);

/** Returns one security key of a loaded request. Throws if the request has no such key. */
export function securityKeyOf(loaded: LoadedRequest, keyId: string): SecurityKey {
  const key = securityKeysOf(loaded).find(({ id }) => id === keyId);
  if (key === undefined) throw new Error(`the request has no security key ${keyId}`);
  return key;
}

/** Returns a loaded request without its versions, with changes. */
export function valuesOf(loaded: LoadedRequest, { request, keys = [] }: Changes = {}): RequestValues {
  return {
    request: request ?? loaded.request.value,
    keys: securityKeysOf(loaded).map(key => keys.find(({ id }) => id === key.id) ?? key),
  };
}
