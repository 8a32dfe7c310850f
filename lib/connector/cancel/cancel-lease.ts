import { toResult } from "../../async/to-result.ts";
import { Fault } from "../../fault.ts";
import { PeerFailure } from "../../peers/peer-failure.ts";
import type { Changes, ConnectorDeps, LoadedRequest } from "../deps.ts";
import type { CredentialRequest } from "../model/request.ts";
import { newLease, type Run, retryAfterLease } from "../run/run.ts";
import { postponeRequest } from "../store/next-due.ts";
import { saveChanges } from "../store/save-changes.ts";

/** Takes or renews the lease right before calls that change something, and schedules the job for the case that this process dies. */
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
  throw new Fault("conflict", "A job is working on the request.", { retryAfter: retryAfterLease });
}

/**
 * Releases the lease, and returns the fault for the caller.
 * @param next `ends`: nothing was cancelled, and the request continues as before; `continues`: the job tries again
 */
export async function endCancelRun(
  loaded: LoadedRequest,
  run: Run,
  { fault, next }: { readonly fault: Fault; readonly next: "ends" | "continues" },
  deps: ConnectorDeps,
): Promise<Fault> {
  const retryAfter = fault.cause instanceof PeerFailure ? fault.cause.retryAfter : undefined;
  const released = (request: CredentialRequest): CredentialRequest => {
    if (next === "continues") return postponeRequest(request, "reconcile", deps.intervals.retry, deps, retryAfter);
    const { lease, due, cancelling, ...rest } = request;
    return { ...rest, ...(cancelling?.before && { due: cancelling.before }) };
  };
  const written = await toResult(rewriteRequest(loaded, run, released, deps));
  // If this write fails, the lease expires and the job continues then.
  if ("error" in written) deps.log.warn("cancel_not_released", { error: written.error });
  return fault;
}

/** Changes the request's row, and retries on a conflict while this run has the lease. Returns undefined when the lease is lost. */
function rewriteRequest(
  loaded: LoadedRequest,
  { owner }: Run,
  change: (request: CredentialRequest) => CredentialRequest,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const changed = (current: LoadedRequest): Changes | undefined => {
    const request = current.request.value;
    return current !== loaded && request.lease?.owner !== owner ? undefined : { request: change(request) };
  };
  return saveChanges(loaded, changed, deps);
}
