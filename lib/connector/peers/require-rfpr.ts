import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import { preRegistrationApi } from "../model/peer-names.ts";
import type { Rfpr } from "./rfpr.ts";

/** Returns the client of the pre-registration API. Throws PeerFailure if the deployment no longer has one. */
export function requireRfpr({ rfpr }: { readonly rfpr?: Rfpr | undefined }): Rfpr {
  if (rfpr !== undefined) return rfpr;
  throw new PeerFailure(preRegistrationApi, "call", "unreachable", { detail: "It is no longer configured." });
}
