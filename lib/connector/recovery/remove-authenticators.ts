import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import { enrollmentId } from "../model/key-ids.ts";
import { isOnSite, type SecurityKey } from "../model/request.ts";
import { requireRfpr } from "../peers/require-rfpr.ts";

/**
 * Removes authenticators at the pre-registration API: they can no longer be enrolled, and their responses are deleted there. Throws the
 * first failure. May be repeated.
 */
export async function removeAuthenticators(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: Pick<ConnectorDeps, "rfpr" | "concurrency">,
): Promise<void> {
  const authenticators = keys.filter(key => isOnSite(key) && mayHaveBeenSent(key));
  if (authenticators.length === 0) return;
  const rfpr = requireRfpr(deps);
  const limit = pLimit(deps.concurrency);
  await Promise.all(authenticators.map(({ id }) => limit(() => rfpr.remove(enrollmentId(requestId, id)))));
}

/**
 * Response keys are stored before an authenticator is sent, so one without them was never sent, except after a backup in which its
 * credentials count as attempted.
 */
const mayHaveBeenSent = ({ credentials }: SecurityKey): boolean =>
  credentials.some(({ responseKey, triedAt }) => responseKey !== undefined || triedAt !== undefined);
