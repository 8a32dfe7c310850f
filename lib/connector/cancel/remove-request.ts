import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { isSameList, listKeyOf, peopleLists, type RequestList } from "../model/people-lists.ts";
import { requestStates } from "../model/states.ts";
import { removeAuthenticators } from "../recovery/remove-authenticators.ts";
import { concludeClaim } from "../store/conclude-claim.ts";

/**
 * Removes all that is kept of a request, here and at the enrollment side. Every step may be repeated; what it is found again by
 * after a crash goes last: its row in the index of due work, and where it is erased the list that it was found by.
 * @param erasing set for decision C19: its Idempotency-Key keeps no answer, and `foundBy` is the list of whom it is erased for
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
  // A row that a crash left in the list of another state goes with a look at that list, which nobody may ever take.
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
