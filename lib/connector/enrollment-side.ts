import pLimit from "p-limit";
import { enrollmentId } from "./key-ids.ts";
import { PeerFailure } from "./peers/peer-failure.ts";
import type { Rfpr } from "./peers/rfpr.ts";
import type { ConnectorDeps } from "./ports.ts";
import { isOnSite, type Key } from "./request.ts";

/** The client of the enrollment side. Throws PeerFailure where the deployment has none any more. */
export function enrollmentSide({ rfpr }: Pick<ConnectorDeps, "rfpr">): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure("enrollment side", "call", "unreachable", { detail: "It is not configured any more." });
}

/**
 * Takes authenticators back at the enrollment side: none can be enrolled from here on, and what came for them is forgotten there. Throws
 * the first failure; repeating is safe.
 */
export async function removeAuthenticators(
  requestId: string,
  keys: readonly Key[],
  deps: Pick<ConnectorDeps, "rfpr" | "concurrency">,
): Promise<void> {
  const handedOver = keys.filter(key => isOnSite(key) && hasResponseKey(key));
  if (handedOver.length === 0) return;
  const rfpr = enrollmentSide(deps);
  const limit = pLimit(deps.concurrency);
  await Promise.all(handedOver.map(({ id }) => limit(() => rfpr.remove(enrollmentId(requestId, id)))));
}

/** Response keys are stored before anything is handed over. */
const hasResponseKey = ({ credentials }: Key): boolean =>
  credentials.some(({ responseKey }) => responseKey !== undefined);
