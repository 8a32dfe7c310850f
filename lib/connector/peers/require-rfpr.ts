import { PeerFailure } from "../../peers/peer-failure.ts";
import type { Rfpr } from "./rfpr.ts";

/** Returns the client of the pre-registration API. Throws PeerFailure if the deployment no longer has one. */
export function requireRfpr({ rfpr }: { readonly rfpr?: Rfpr | undefined }): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure("pre-registration API", "call", "unreachable", { detail: "It is not configured any more." });
}
