import { toResult } from "../../platform/async.ts";
import { Fault } from "../../platform/fault.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { LoadedRequest } from "../model/loaded-request.ts";
import { postponeRequest } from "../model/next-due.ts";
import type { CredentialRequest } from "../model/request.ts";
import { saveChanges } from "../runs/change-request.ts";
import { newLease, type Run, secondsUntilFree } from "../runs/run.ts";

export type CancelWork = ReturnType<typeof cancelWork>;

/** Returns the work of a run on the cancel of a request. */
export function cancelWork(start: LoadedRequest, run: Run) {
  let loaded = start;

  /** Changes the request's row, and retries a conflict while this run has the lease; undefined without it. */
  const rewrite = (change: (request: CredentialRequest) => CredentialRequest) =>
    saveChanges(
      loaded,
      current => {
        if (current !== loaded && current.request.lease?.owner !== run.owner) return undefined;
        return { request: change(current.request) };
      },
      run,
    );

  /** Releases the lease. If storage is not responding, it expires, and a job resumes the cancel then. */
  const release = async (change: (request: CredentialRequest) => CredentialRequest): Promise<void> => {
    const written = await toResult(rewrite(change));
    if (!("error" in written)) return;
    run.log.warn("cancel_not_released", { error: written.error });
    throw written.error;
  };

  return {
    /** The request as this run has last written it. */
    get loaded() {
      return loaded;
    },

    /**
     * Takes or renews the lease right before calls that change something. Also schedules process-credential-requests
     * for its end, in case this process dies. Throws Fault `conflict` if a job or another cancel works on the request.
     * @param more further fields of `cancelling`
     */
    async renewLease(more: Partial<NonNullable<CredentialRequest["cancelling"]>> = {}): Promise<void> {
      const written = await rewrite(request => {
        const lease = newLease(run);
        const before = request.due === undefined ? {} : { before: request.due };
        const cancelling = { ...(request.cancelling ?? before), ...more };
        return { ...request, cancelling, lease, due: { queue: "reconcile", at: lease.until } };
      });
      if (written === undefined) throw requestBusyFault(undefined, run);
      loaded = written;
    },

    /** Leaves the rest of the cancel to process-credential-requests. Returns the fault for the caller to throw. */
    async resumeLater(fault: Fault): Promise<Fault> {
      const seconds = fault.cause instanceof PeerFailure ? fault.cause.retryAfterSeconds : undefined;
      await toResult(release(request => postponeRequest(request, "reconcile", run.intervals.retry, run, seconds)));
      return fault;
    },

    /**
     * Drops the cancel: the request continues as before. Returns the fault for the caller to throw. Throws if storage
     * is not responding: a job will resume the cancel, so the caller must not read that nothing was cancelled.
     */
    async drop(fault: Fault): Promise<Fault> {
      await release(({ lease, due, cancelling, ...rest }) => ({
        ...rest,
        ...(cancelling?.before && { due: cancelling.before }),
      }));
      return fault;
    },
  };
}

/** Returns the fault of a cancel while another run works on the request. */
export const requestBusyFault = (lease: CredentialRequest["lease"], deps: ConnectorDeps): Fault =>
  new Fault("conflict", "A job or another cancel is working on the request.", {
    retryAfterSeconds: secondsUntilFree(lease, deps),
  });
