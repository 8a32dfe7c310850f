import { isUsable, shownState } from "../model/credential.ts";
import { hasPinMail, type SecurityKey } from "../model/security-key.ts";
import { isInMail } from "./send-pin-mail.ts";

/** What has become of credentials that have no PIN email any more, by their state in reads. */
const ends: { readonly [S in ReturnType<typeof shownState>]?: string } = {
  failed: "have failed",
  cancelled: "are cancelled",
  revoking: "are being revoked",
  revoked: "are revoked",
  revoke_failed: "are to be revoked",
};

/** Returns why a security key has no PIN to send, as the end of a sentence; undefined if it may have one. */
export function whyNoPin(key: SecurityKey): string | undefined {
  if (!hasPinMail(key)) return "its PIN is not sent by email";
  const { state } = key.mail;
  // A revocation that has failed leaves a credential usable, but the email that it has dropped stays dropped (C21).
  const usable = state === "none" ? [] : key.credentials.filter(isUsable);
  if (state !== "waiting" && usable.some(isInMail)) return undefined;
  if (state === "waiting" || usable.length > 0) return "no credential is active yet";
  return `its credentials ${[...new Set(key.credentials.map(each => ends[shownState(each)]))].join(" or ")}`;
}
