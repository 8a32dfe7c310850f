import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isSameList, listKeyOf, peopleLists, type RequestList } from "../model/people-lists.ts";
import { requestStates } from "../model/states.ts";
import { removeAuthenticators } from "../recovery/remove-authenticators.ts";
import { concludeClaim } from "../store/conclude-claim.ts";

/**
 * Removes the data of a request from storage and from the pre-registration API. Each step may be repeated. The rows by which a repeat finds
 * the request are removed last: its `due` row and, in an erasure, its row in the list of the person.
 * @param erasing set for an erasure: its claim keeps no answer, and `foundBy` is the list of the person who is erased
 */
export async function removeRequest(
  loaded: LoadedRequest,
  deps: ConnectorDeps,
  erasing?: { readonly foundBy: RequestList },
): Promise<void> {
  const { requests, responses } = deps;
  const request = loaded.request.value;
  const { id, due, delivery, state } = request;
  const keys = loaded.keys.map(({ value }) => value);
  await concludeClaim(request, deps, { erased: erasing !== undefined });
  await removeAuthenticators(id, keys, deps);
  await responses.removeAll(id);
  if (delivery?.shipmentId !== undefined) await requests.unlinkShipment(delivery.shipmentId, id);
  // A crash may have left a row in the list of another state. It would stay until that list is read, so an erasure removes it now.
  const states = erasing === undefined ? [state] : requestStates;
  const lists = [...states.map(each => ({ state: each })), ...peopleLists(request, keys)];
  await requests.leave(
    listKeyOf(request),
    lists.filter(list => erasing === undefined || !isSameList(list, erasing.foundBy)),
  );
  await requests.remove(loaded);
  await Promise.all(keys.map(key => key.due && requests.unschedule(key.due, id, key.id)));
  if (due !== undefined) await requests.unschedule(due, id);
  if (erasing !== undefined) await requests.leave(listKeyOf(request), [erasing.foundBy]);
}
