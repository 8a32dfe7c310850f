import { invalidRequest, type Problem } from "../../platform/fault.ts";
import type { ConnectorDeps } from "../deps.ts";
import { isUsable } from "../model/credential.ts";
import { securityKeysOf } from "../model/loaded-request.ts";
import { isForSameUser } from "../model/revocation.ts";
import type { RequestDraft } from "./draft.ts";

type Deps = Pick<ConnectorDeps, "requests" | "idps">;

/**
 * Checks the security key that a draft replaces: it exists, also in the register only, and every user of its active
 * credentials gets a new one. Returns the problems, and as warnings why nothing may be revoked.
 */
export async function checkReplacedKey(
  { replaces, keys }: RequestDraft,
  { requests, idps }: Deps,
): Promise<{ readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] }> {
  const refused = (path: string, reason: string) => ({ problems: [{ path, reason }], warnings: [] });
  if (replaces === undefined) return { problems: [], warnings: [] };
  const loaded = await requests.load(replaces.requestId);
  if (loaded === undefined) return refused("replaces.credential_request_id", "is not a credential request");
  const key = securityKeysOf(loaded).find(({ id }) => id === replaces.keyId);
  if (key === undefined) return refused("replaces.key_id", "is not a key of that request");
  const active = key.credentials.filter(each => each.state === "active" && isUsable(each));
  const ordered = keys
    .flatMap(({ credentials }) => credentials)
    .map(({ idpId = idps.defaultId, userId }) => ({ idpId, userId }));
  const problems = active
    .filter(credential => !ordered.some(isForSameUser(credential)))
    .map(({ userId, idpId }) => ({
      path: "replaces.key_id",
      reason: `has an active credential of ${userId} at ${idpId}, for whom no credential is ordered: it would be revoked without a replacement`,
    }));
  const { replacedBy } = key;
  const warnings = [
    ...(active.length === 0
      ? [{ path: "replaces.revoke", reason: "has no effect now: no credential of the key is active" }]
      : []),
    ...(replacedBy ? [{ path: "replaces.key_id", reason: `is already replaced by ${replacedBy.requestId}` }] : []),
  ];
  return { problems, warnings };
}

/** Throws Fault `invalid` with the problems of the security key that a draft replaces. */
export async function requireReplaceable(draft: RequestDraft, deps: Deps): Promise<void> {
  const { problems } = await checkReplacedKey(draft, deps);
  if (problems.length > 0) throw invalidRequest(problems);
}
