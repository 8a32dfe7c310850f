import { toResult } from "../../platform/async/to-result.ts";
import type { Fault } from "../../platform/fault.ts";
import { plus } from "../../platform/time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { tooLateFault } from "../faults.ts";
import type { Changes, LoadedRequest } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { compensateAtIdps } from "../recovery/compensate.ts";

/**
 * Saves a request from its create handler. Returns undefined if the create took too long, or if the job has taken the
 * request over: the handler stops, and the job continues.
 * @param options as for `RequestStore.save`
 */
export async function saveFromHandler(
  loaded: LoadedRequest,
  changes: Changes & Required<Pick<Changes, "request">>,
  deps: Pick<ConnectorDeps, "requests" | "now" | "intervals">,
  options?: Parameters<ConnectorDeps["requests"]["save"]>[2],
): Promise<LoadedRequest | undefined> {
  const { createdAt } = loaded.request.value;
  if (deps.now() > plus(createdAt, deps.intervals.createMs)) return undefined;
  return deps.requests.save(loaded, changes, options);
}

/**
 * Compensates at the IdPs for security keys whose rows could not be written, because the job cannot find these
 * registrations. Returns the fault for the caller.
 */
export async function compensateTooLate(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: ConnectorDeps,
): Promise<Fault> {
  const compensated = await toResult(compensateAtIdps(requestId, keys, deps));
  if ("error" in compensated)
    deps.log.warn("compensation_failed", { credentialRequestId: requestId, error: compensated.error });
  return tooLateFault();
}
