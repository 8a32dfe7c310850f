import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import { enrollmentId } from "../model/key-ids.ts";
import { isOnSite, type SecurityKey } from "../model/request.ts";
import { requireRfpr } from "../peers/enrollment-side.ts";

/**
 * Takes authenticators back at the enrollment side: none can be enrolled from here on, and what came for them is forgotten there. Throws
 * the first failure; repeating is safe.
 */
export async function removeAuthenticators(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: Pick<ConnectorDeps, "rfpr" | "concurrency">,
): Promise<void> {
  const handedOver = keys.filter(key => isOnSite(key) && hasResponseKey(key));
  if (handedOver.length === 0) return;
  const rfpr = requireRfpr(deps);
  const limit = pLimit(deps.concurrency);
  await Promise.all(handedOver.map(({ id }) => limit(() => rfpr.remove(enrollmentId(requestId, id)))));
}

/** Response keys are stored before anything is handed over. */
const hasResponseKey = ({ credentials }: SecurityKey): boolean =>
  credentials.some(({ responseKey }) => responseKey !== undefined);
