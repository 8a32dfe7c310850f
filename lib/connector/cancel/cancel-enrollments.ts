import pLimit from "p-limit";
import { orFailure, PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { enrollmentId, type SecurityKey } from "../model/security-key.ts";

/**
 * Cancels authenticators at the pre-registration API (C12). An authenticator that is unknown there counts as cancelled,
 * and so do all if the deployment no longer has the API, which is logged. May be repeated. Returns the ids of those
 * that were already enrolled, and the first failure.
 */
export async function cancelEnrollments(
  requestId: string,
  keys: readonly SecurityKey[],
  { rfpr, concurrency, log }: Pick<ConnectorDeps, "rfpr" | "concurrency" | "log">,
): Promise<{ readonly produced: readonly string[]; readonly failure?: PeerFailure }> {
  if (rfpr === undefined) {
    if (keys.length > 0) log.warn("authenticators_left", { count: keys.length });
    return { produced: [] };
  }
  const limit = pLimit(concurrency);
  const produced: string[] = [];
  let failure: PeerFailure | undefined;
  const cancel = async ({ id }: SecurityKey): Promise<void> => {
    const error = await orFailure(rfpr.cancel(enrollmentId(requestId, id)));
    if (!(error instanceof PeerFailure)) return;
    if (error.status === 409) produced.push(id);
    else if (!isUnknown(error)) failure ??= error;
  };
  await Promise.all(keys.map(key => limit(cancel, key)));
  return { produced, ...(failure && { failure }) };
}

/** Whether the service itself, and not a proxy, answered that it does not know the authenticator. */
const isUnknown = ({ status, code }: PeerFailure): boolean => (status === 404 || status === 410) && code !== undefined;
