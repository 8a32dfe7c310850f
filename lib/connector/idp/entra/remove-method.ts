import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../platform/peers/call-peer.ts";
import { PeerFailure } from "../../../platform/peers/peer-failure.ts";
import type { TokenCall } from "../../peers/access-token.ts";
import type { RegisteredCredential } from "../contract.ts";
import { undefinedIfDeleted, undefinedIfGone } from "../gone.ts";
import { listMethods } from "./list-methods.ts";
import { methodIdOf } from "./wire.ts";

interface MethodOfUser {
  readonly graph: string;
  /** The address of the user's methods. */
  readonly methodsUrl: string;
  /** Object id or principal name. */
  readonly userId: string;
  readonly credential: RegisteredCredential;
}

/**
 * Removes the method of a user that is a credential, if there is one. Throws a PeerFailure `refused` if Graph does not
 * tell which one it is.
 */
export async function removeMethod(
  access: PeerAccess,
  call: TokenCall,
  { graph, methodsUrl, userId, credential }: MethodOfUser,
): Promise<void> {
  const operation = "revocation";
  const refused = (detail: string) => new PeerFailure(access.peer, operation, "refused", { detail });
  const list = listMethods(access, call, { operation, graph, url: methodsUrl });
  const methods = await list.catch(undefinedIfDeleted(userId, "Microsoft Graph"));
  const found = methods && methodIdOf(methods, credential);
  if (found === undefined) return;
  if (found === "unclear")
    throw refused("Microsoft Graph lists keys of the user under ids that do not tell which one this is.");
  const url = `${methodsUrl}/${encodeURIComponent(found.id)}`;
  const removal = { ...call, operation, method: "DELETE", url, response: z.undefined(), status: 204 } as const;
  await callPeer(access, { ...removal, mayRepeat: true }).catch(undefinedIfGone);
}
