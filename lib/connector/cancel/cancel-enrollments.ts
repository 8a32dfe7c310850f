import pLimit from "p-limit";
import type { ConnectorDeps } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import { enrollmentId } from "../model/key-ids.ts";
import type { SecurityKey } from "../model/request.ts";
import { requireRfpr } from "../peers/enrollment-side.ts";

/**
 * Has the enrollment side cancel authenticators (decision C12). One that it does not know, or not any more, counts as cancelled; one
 * that was enrolled before goes on. Repeating is safe.
 */
export async function cancelEnrollments(
  requestId: string,
  keys: readonly SecurityKey[],
  deps: Pick<ConnectorDeps, "rfpr" | "concurrency">,
): Promise<{ readonly produced: readonly string[]; readonly failure?: PeerFailure }> {
  const limit = pLimit(deps.concurrency);
  const produced: string[] = [];
  let failure: PeerFailure | undefined;
  const cancel = async ({ id }: SecurityKey): Promise<void> => {
    try {
      await requireRfpr(deps).cancel(enrollmentId(requestId, id));
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      if (error.status === 409) produced.push(id);
      else if (!isUnknown(error)) failure ??= error;
    }
  };
  await Promise.all(keys.map(key => limit(cancel, key)));
  return { produced, ...(failure && { failure }) };
}

/** The enrollment side's own word, not a proxy's. */
const isUnknown = ({ status, code }: PeerFailure): boolean => (status === 404 || status === 410) && code !== undefined;
