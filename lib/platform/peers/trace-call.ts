import type { Result } from "../async/to-result.ts";
import { type ActiveSpanHandle, timed } from "../telemetry.ts";
import { PeerFailure } from "./peer-failure.ts";

/** Runs one call of a peer in a span, and records its duration with `ok` or the kind of its failure. */
export function traceCall<T>(
  peer: string,
  operation: string,
  call: (span: ActiveSpanHandle) => Promise<T>,
): Promise<T> {
  const labels = { peer, operation };
  return timed("peer.call.duration", `${peer}: ${operation}`, { kind: "client", labels, outcomeOf }, call);
}

function outcomeOf(ended: Result<unknown>): string {
  if ("value" in ended) return "ok";
  return ended.error instanceof PeerFailure ? ended.error.kind : "failed";
}
