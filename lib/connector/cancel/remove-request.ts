import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import type { RequestList } from "../model/request-lists.ts";
import { removeAuthenticators } from "../recovery/remove-authenticators.ts";
import { concludeClaim } from "./conclude-claim.ts";

/**
 * Removes the data of a request from storage and from the pre-registration API. Each step may be repeated; the rows are removed last.
 * @param erasing set for an erasure: its claim keeps no answer, and `foundBy` is the list of the person who is erased
 */
export async function removeRequest(
  loaded: LoadedRequest,
  deps: ConnectorDeps,
  erasing?: { readonly foundBy: RequestList },
): Promise<void> {
  const { requests, responses } = deps;
  const request = loaded.request.value;
  await concludeClaim(request, deps, { erased: erasing !== undefined });
  await removeAuthenticators(request.id, securityKeysOf(loaded), deps);
  await responses.removeAll(request.id);
  await requests.remove(loaded, erasing?.foundBy);
}
