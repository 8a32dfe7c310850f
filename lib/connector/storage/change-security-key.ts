import { isDeepStrictEqual } from "node:util";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CredentialRequest, SecurityKey } from "../model/request.ts";
import { rolledUp } from "../model/roll-up.ts";
import { securityKeyOf, securityKeysOf } from "./loaded-request.ts";
import { saveChanges } from "./save-changes.ts";

/**
 * Changes one security key. If its state changes, the request's roll-up is saved in the same transaction. On a conflict, reads the request
 * again. If the key equals what was sent, the write succeeded and its response was lost. Otherwise retries while `owner` has the lease on
 * the key (C15). Returns undefined when the lease is lost: the caller stops.
 */
export async function changeSecurityKey(
  loaded: LoadedRequest,
  keyId: string,
  owner: string,
  change: (key: SecurityKey, request: CredentialRequest) => SecurityKey,
  deps: Pick<ConnectorDeps, "requests" | "now">,
): Promise<LoadedRequest | undefined> {
  let sent: SecurityKey | undefined;
  let alreadySaved: LoadedRequest | undefined;
  const changed = (current: LoadedRequest): Changes | undefined => {
    const before = securityKeyOf(current, keyId);
    if (isDeepStrictEqual(before, sent)) {
      alreadySaved = current;
      return undefined;
    }
    if (current !== loaded && before.lease?.owner !== owner) return undefined;
    const after = change(before, current.request.value);
    const keys = securityKeysOf(current).map(key => (key.id === keyId ? after : key));
    sent = after;
    const request = after.state === before.state ? {} : { request: rolledUp(current.request.value, keys, deps.now()) };
    return { ...request, keys: [after] };
  };
  return (await saveChanges(loaded, changed, deps)) ?? alreadySaved;
}
