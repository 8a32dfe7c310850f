import * as z from "zod";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import { type PeerApi, undefinedIfGone } from "../../peers/access-token.ts";
import { type RegisteredCredential, removalCall } from "../contract.ts";
import { base64Text } from "../creation-options.ts";
import { keysCall, keyToRevoke } from "../user-check.ts";

/** A device that is not readable makes the list unreadable: it may be the one that is looked for. */
const deviceList = z.lazy(() =>
  z.object({
    result: z.array(z.object({ uuid: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/), credentialId: base64Text })),
    pagedResultsCookie: z.null().optional(),
  }),
);

interface DeviceOfUser extends RegisteredCredential {
  readonly realmUrl: string;
  /** AM's name of the user; undefined if the stored state does not have it. */
  readonly user: string | undefined;
}

/** Removes the WebAuthn device of a credential, if there is one. Needs the right to administer devices. */
export async function removeDevice(
  { send }: PeerApi,
  peer: string,
  { realmUrl, user, credentialId, mayBeRemoved }: DeviceOfUser,
): Promise<void> {
  if (user === undefined)
    throw new PeerFailure(peer, keysCall, "refused", { detail: "The stored state does not name the user." });
  const devices = `${realmUrl}/users/${encodeURIComponent(user)}/devices/2fa/webauthn`;
  const headers = { "accept-api-version": "resource=1.0, protocol=1.0" };
  const request = { headers, mayRepeat: true } as const;
  const list = send({
    ...request,
    operation: keysCall,
    method: "GET",
    url: `${devices}?_queryFilter=true`,
    response: deviceList,
  });
  const found = await keyToRevoke(
    { peer, userId: user, vendor: "AM" },
    { mayBeRemoved },
    list.then(({ result }) => result.find(device => device.credentialId === credentialId)),
  );
  if (found === undefined) return;
  // AM responds with the removed device.
  const response = z.object({ uuid: z.literal(found.uuid) });
  await send({ ...request, operation: removalCall, method: "DELETE", url: `${devices}/${found.uuid}`, response }).catch(
    undefinedIfGone,
  );
}
