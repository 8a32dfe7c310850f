import { Fault } from "../../platform/fault.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { SecurityKey } from "../model/request.ts";

/** Loads the request that a caller names. Throws Fault `not_found`. */
export async function loadRequest(id: string, { requests }: Pick<ConnectorDeps, "requests">): Promise<LoadedRequest> {
  const loaded = await requests.load(id);
  if (loaded === undefined) throw new Fault("not_found", "There is no such credential request.");
  return loaded;
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
