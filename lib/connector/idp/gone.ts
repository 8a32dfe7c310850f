import { PeerFailure } from "../../platform/peers/peer-failure.ts";

/** Returns undefined if the IdP reports that the user or the registration is gone. A 404 without the IdP's error code is not the IdP's. */
export function undefinedIfGone(error: unknown): undefined {
  if (error instanceof PeerFailure && error.kind === "missing" && error.code !== undefined) return undefined;
  throw error;
}
