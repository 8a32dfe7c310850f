import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import { postponeRequest } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { saveChanges } from "../runs/change-request.ts";
import { newLease, type Run, retryAfterLease } from "../runs/run.ts";

/**
 * What becomes of a cancel that is not done. `dropped`: the request continues as before; `resumed`:
 * process-credential-requests tries again.
 */
export type CancelFate = "dropped" | "resumed";

/**
 * Takes or renews the lease right before calls that change something. Also schedules process-credential-requests for
 * its end, in case this process dies. Throws Fault `conflict` if a job or another cancel works on the request.
 * @param more further fields of `cancelling`
 */
export async function renewCancelLease(
  loaded: LoadedRequest,
  run: Run,
  more: Partial<NonNullable<CredentialRequest["cancelling"]>>,
  deps: ConnectorDeps,
): Promise<LoadedRequest> {
  const withLease = (request: CredentialRequest): CredentialRequest => {
    const lease = newLease(run, deps.now(), deps.intervals);
    const before = request.due === undefined ? {} : { before: request.due };
    const cancelling = { ...(request.cancelling ?? before), ...more };
    return { ...request, cancelling, lease, due: { queue: "reconcile", at: lease.until } };
  };
  const written = await rewriteRequest(loaded, run, withLease, deps);
  if (written !== undefined) return written;
  throw new Fault("conflict", "A job or another cancel is working on the request.", {
    retryAfterSeconds: retryAfterLease,
  });
}

/**
 * Releases the lease, and returns the fault for the caller. Throws if the cancel cannot be dropped because storage is
 * not responding: a job will resume it, so the caller must not read that nothing was cancelled.
 */
export async function endCancelRun(
  loaded: LoadedRequest,
  run: Run,
  { fault, fate }: { readonly fault: Fault; readonly fate: CancelFate },
  deps: ConnectorDeps,
): Promise<Fault> {
  const retryAfterSeconds = fault.cause instanceof PeerFailure ? fault.cause.retryAfterSeconds : undefined;
  const released = (request: CredentialRequest): CredentialRequest => {
    if (fate === "resumed") return postponeRequest(request, "reconcile", deps.intervals.retry, deps, retryAfterSeconds);
    const { lease, due, cancelling, ...rest } = request;
    return { ...rest, ...(cancelling?.before && { due: cancelling.before }) };
  };
  const written = await toResult(rewriteRequest(loaded, run, released, deps));
  if ("error" in written) {
    // The lease expires, and a job resumes the cancel then.
    deps.log.warn("cancel_not_released", { error: written.error });
    if (fate === "dropped") throw written.error;
  }
  return fault;
}

/** Changes the request's row, and retries a conflict while this run has the lease; undefined without it. */
function rewriteRequest(
  loaded: LoadedRequest,
  { owner }: Run,
  change: (request: CredentialRequest) => CredentialRequest,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const changed = (current: LoadedRequest): Changes | undefined => {
    const request = current.request;
    return current !== loaded && request.lease?.owner !== owner ? undefined : { request: change(request) };
  };
  return saveChanges(loaded, changed, deps);
}
