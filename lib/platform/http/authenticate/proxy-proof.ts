import { createHash, timingSafeEqual } from "node:crypto";
import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";

/** A secret header value that the deployment's proxy adds to every call. Callers that bypass the proxy do not know it (G7). */
interface ProxyProof {
  readonly header: string;
  readonly id: string;
}

/** Returns whether a call came through the deployment's proxy. Always true if no proof is configured. */
export const cameThroughProxy = ({ headers }: Call, proof: ProxyProof | undefined): boolean =>
  proof === undefined || timingSafeEqual(hashOf(headers.get(proof.header) ?? ""), hashOf(proof.id));

/** Throws Fault `forbidden` for a call that did not come through the deployment's proxy. */
export function requireProxy(call: Call, proof: ProxyProof | undefined): void {
  if (cameThroughProxy(call, proof)) return;
  throw new Fault("forbidden", "Call this service through its public address.", { reason: "not_through_proxy" });
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();
