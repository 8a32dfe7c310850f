import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { PeerApi } from "../../peers/access-token.ts";
import { type RegisteredCredential, removalCall } from "../contract.ts";
import { keysCall, keyToRevoke } from "../user-check.ts";
import { type Method, methodIdOf, methodList } from "./wire.ts";

const maxPages = 10;

/** The FIDO2 methods of a user. */
interface MethodsOfUser {
  readonly peer: string;
  /** The address of Graph, to which all pages must belong. */
  readonly graph: string;
  readonly url: string;
}

/**
 * Returns the FIDO2 methods of a user. Throws PeerFailure `missing` if Graph does not know the user.
 * @param isEnough whether no further page is needed
 */
export async function listMethods(
  api: PeerApi,
  operation: string,
  { peer, graph, url: first }: MethodsOfUser,
  isEnough: (methods: readonly Method[]) => boolean = () => false,
): Promise<readonly Method[]> {
  const methods: Method[] = [];
  let url = first;
  for (let page = 0; page < maxPages; page++) {
    const { value, "@odata.nextLink": next } = await api.get(operation, url, methodList);
    methods.push(...value);
    if (next === undefined || isEnough(methods)) return methods;
    // The token must not be sent to another host than Graph.
    if (!next.startsWith(`${graph}/`)) break;
    url = next;
  }
  throw new PeerFailure(peer, operation, "unanswered", { detail: "The list of keys has no readable end." });
}

/**
 * Removes the method of a user that is a credential, if there is one. Throws a PeerFailure `refused` if Graph does not
 * tell which one it is, or whether it is the user's.
 */
export async function removeMethod(
  api: PeerApi,
  user: MethodsOfUser & { readonly userId: string },
  credential: RegisteredCredential,
): Promise<void> {
  const found = await keyToRevoke(
    { ...user, vendor: "Microsoft Graph" },
    credential,
    listMethods(api, keysCall, user).then(methods => methodIdOf(methods, credential)),
  );
  if (found === "unclear") {
    const detail = "Microsoft Graph lists keys of the user under ids that do not tell which one this is.";
    throw new PeerFailure(user.peer, keysCall, "refused", { detail });
  }
  if (found !== undefined) await api.remove(removalCall, `${user.url}/${encodeURIComponent(found.id)}`);
}
