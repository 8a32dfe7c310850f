import { createHash, timingSafeEqual } from "node:crypto";
import { Fault } from "../../fault.ts";
import type { Call } from "../call.ts";

/** What the deployment's proxy sends with every call, and a caller who goes around the proxy does not know (decision G7). */
export interface ProxyProof {
  readonly header: string;
  readonly id: string;
}

/** Whether a call came through the deployment's proxy; every call did where no proof is asked for. */
export const cameThroughProxy = ({ headers }: Call, proof: ProxyProof | undefined): boolean =>
  proof === undefined || timingSafeEqual(hashOf(headers.get(proof.header) ?? ""), hashOf(proof.id));

/** Throws Fault `forbidden` for a call that did not come through the deployment's proxy. */
export function requireProxy(call: Call, proof: ProxyProof | undefined): void {
  if (cameThroughProxy(call, proof)) return;
  throw new Fault("forbidden", "Call this service through its public address.", { reason: "not_through_proxy" });
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();
