import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import { enrollmentId } from "../model/ids.ts";
import { isOnSite, type SecurityKey } from "../model/request.ts";

/**
 * Removes authenticators at the pre-registration API: they can no longer be enrolled, and their responses are deleted there. Throws the
 * first failure. May be repeated. If the deployment no longer has the API, only logs that they were left: the request must not wait for
 * ever.
 */
export async function removeAuthenticators(
  requestId: string,
  keys: readonly SecurityKey[],
  { rfpr, concurrency, log }: Pick<ConnectorDeps, "rfpr" | "concurrency" | "log">,
): Promise<void> {
  const authenticators = keys.filter(key => isOnSite(key) && mayHaveBeenSent(key));
  if (authenticators.length === 0) return;
  if (rfpr === undefined)
    return log.warn("authenticators_left", { credentialRequestId: requestId, count: authenticators.length });
  const limit = pLimit(concurrency);
  await Promise.all(authenticators.map(({ id }) => limit(() => rfpr.remove(enrollmentId(requestId, id)))));
}

/**
 * Response keys are stored before an authenticator is sent, so one without them was never sent, except after a backup in which its
 * credentials count as attempted.
 */
const mayHaveBeenSent = ({ credentials }: SecurityKey): boolean =>
  credentials.some(({ responseKey, triedAt }) => responseKey !== undefined || triedAt !== undefined);
