import { PeerFailure } from "../../peer-failure.ts";
import type { Rfpr } from "./rfpr.ts";

/** The client of the enrollment side. Throws PeerFailure where the deployment has none any more. */
export function requireRfpr({ rfpr }: { readonly rfpr?: Rfpr | undefined }): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure("enrollment side", "call", "unreachable", { detail: "It is not configured any more." });
}
