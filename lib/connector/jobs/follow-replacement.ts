import { toResult } from "../../platform/async.ts";
import { withLogFields } from "../../platform/log.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { replacementOf, withRevocations } from "../model/revocation.ts";
import { isLeasedByAnother, type Run, startRun } from "../runs/run.ts";
import { processSecurityKey } from "./process-security-keys.ts";

/**
 * Links the security key that a request replaces to the request, and revokes its credentials when they are due for it
 * (C24). Its row is written first and may be found unchanged later, so a crash repeats nothing. A conflict leaves the
 * request due. If the replaced key was deleted meanwhile, an error event says that nothing was revoked. Returns whether
 * a revocation was deferred to a later run.
 */
export async function followReplacement(loaded: LoadedRequest, run: Run): Promise<boolean> {
  const { requests, now, log } = run;
  const { replaceDue, ...request } = loaded.request;
  const { replaces, createdBy } = request;
  if (replaces === undefined || isLeasedByAnother(request.lease, run)) return false;
  const old = await requests.load(replaces.requestId);
  const before = old?.keys.find(({ id }) => id === replaces.keyId);
  if (old === undefined || before === undefined) {
    const { requestId: replacedRequestId, keyId } = replaces;
    // Before the write, because the request is not looked at again after it, also if the process ends with it.
    log.error("replaced_key_missing", { replacedRequestId, keyId, reason: replaces.reason });
    await requests.save(loaded, { request });
    return false;
  }
  const { key, isRevocable, nextLook } = replacementOf(loaded, before, run);
  const cause = { reason: "replaced", ...(createdBy && { requestedBy: createdBy }) } as const;
  const wanted = before.credentials.map(isRevocable);
  const after = withRevocations(key, (_, index) => wanted[index] === true, cause, now());
  // The last look writes in any case, so that a host that is suspended in an earlier one gets a conflict.
  const saved = after === before && nextLook !== undefined ? old : await requests.save(old, { keys: [after] });
  if (saved === undefined) return false;
  const due = nextLook !== undefined && { replaceDue: { queue: "replace", at: nextLook } as const };
  await requests.save(loaded, { request: { ...request, ...due } });
  if (after === key) return false;
  return withLogFields({ credentialRequestId: replaces.requestId }, async () => {
    log.info("revocation_requested", { reason: cause.reason });
    return (await processSecurityKey(saved, after.id, run)).isDeferred;
  });
}

/**
 * Follows the replacement right after a create, so that a stolen security key does not wait for the job. Never rejects:
 * the job continues what failed.
 */
export async function followCreate(requestId: string, deps: ConnectorDeps): Promise<void> {
  // A create has a time limit of its own before this, and the platform one for both.
  const run: Run = { ...startRun("timer", deps), endsAt: plus(deps.now(), deps.intervals.idpCallMs) };
  const follow = async () => {
    const loaded = await deps.requests.load(requestId);
    if (loaded?.request.replaceDue !== undefined) await followReplacement(loaded, run);
  };
  await withLogFields({ credentialRequestId: requestId }, async () => {
    const followed = await toResult(follow());
    if ("error" in followed) deps.log.warn("replacement_postponed", { error: followed.error });
  });
}
