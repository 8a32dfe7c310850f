import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { TokenCall } from "../../peers/access-token.ts";
import type { RegisteredCredential } from "../contract.ts";
import { requireUserId, undefinedIfDeleted, undefinedIfGone } from "../user-check.ts";
import { type Method, methodIdOf, methodList } from "./wire.ts";

const maxPages = 10;

interface MethodsOfUser {
  readonly operation: string;
  /** The address of Graph, to which all pages must belong. */
  readonly graph: string;
  readonly url: string;
  /** Whether no further page is needed. */
  readonly isEnough?: ((methods: readonly Method[]) => boolean) | undefined;
}

/** Returns the FIDO2 methods of a user. Throws PeerFailure `missing` if Graph does not know the user. */
export async function listMethods(
  access: PeerAccess,
  call: TokenCall,
  { operation, graph, url: first, isEnough = () => false }: MethodsOfUser,
): Promise<readonly Method[]> {
  const methods: Method[] = [];
  let url = first;
  for (let page = 0; page < maxPages; page++) {
    const list = { ...call, operation, method: "GET", url, response: methodList, mayRepeat: true } as const;
    const read: z.output<typeof methodList> = await callPeer(access, list);
    methods.push(...read.value);
    const next = read["@odata.nextLink"];
    if (next === undefined || isEnough(methods)) return methods;
    // The token must not be sent to another host than Graph.
    if (!next.startsWith(`${graph}/`)) break;
    url = next;
  }
  throw new PeerFailure(access.peer, operation, "unanswered", { detail: "The list of keys has no readable end." });
}

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
 * tell which one it is, or whether it is the user's.
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
  if (methods === undefined) return;
  const found = methodIdOf(methods, credential);
  if (found === undefined) return requireUserId(access, userId, "Microsoft Graph");
  if (found === "unclear")
    throw refused("Microsoft Graph lists keys of the user under ids that do not tell which one this is.");
  const url = `${methodsUrl}/${encodeURIComponent(found.id)}`;
  const removal = { ...call, operation, method: "DELETE", url, response: z.undefined(), status: 204 } as const;
  await callPeer(access, { ...removal, mayRepeat: true }).catch(undefinedIfGone);
}
