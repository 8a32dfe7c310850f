import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { TokenCall } from "../../peers/access-token.ts";
import { base64Text } from "../creation-options.ts";
import { requireUserId, undefinedIfDeleted, undefinedIfGone } from "../user-check.ts";

/** A device that is not readable makes the list unreadable: it may be the one that is looked for. */
const deviceList = z.lazy(() =>
  z.object({
    result: z.array(z.object({ uuid: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/), credentialId: base64Text })),
    pagedResultsCookie: z.null().optional(),
  }),
);

interface DeviceOfUser {
  readonly realmUrl: string;
  /** AM's name of the user; undefined if the stored state does not have it. */
  readonly user: string | undefined;
  readonly credentialId: string;
}

/** Removes the WebAuthn device of a credential, if there is one. Needs the right to administer devices. */
export async function removeDevice(
  access: PeerAccess,
  call: TokenCall,
  { realmUrl, user, credentialId }: DeviceOfUser,
): Promise<void> {
  const operation = "revocation";
  if (user === undefined)
    throw new PeerFailure(access.peer, operation, "refused", { detail: "The stored state does not name the user." });
  const headers = { "accept-api-version": "resource=1.0, protocol=1.0" };
  const repeatable = { ...call, operation, headers, mayRepeat: true } as const;
  const devices = `${realmUrl}/users/${encodeURIComponent(user)}/devices/2fa/webauthn`;
  const list = { ...repeatable, method: "GET", url: `${devices}?_queryFilter=true`, response: deviceList } as const;
  const listed = await callPeer(access, list).catch(undefinedIfDeleted(user, "AM"));
  if (listed === undefined) return;
  const found = listed.result.find(device => device.credentialId === credentialId);
  if (found === undefined) return requireUserId(access, user, "AM");
  // AM responds with the removed device.
  const response = z.object({ uuid: z.literal(found.uuid) });
  const removal = { ...repeatable, method: "DELETE", url: `${devices}/${found.uuid}`, response } as const;
  await callPeer(access, removal).catch(undefinedIfGone);
}
