import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { Place } from "../api/create-wire.ts";
import type { ConnectorDeps, Loaded } from "../deps.ts";
import { transportFault } from "../faults.ts";
import { outcome } from "../http/to-result.ts";
import type { Key } from "../model/request.ts";
import { giveUp } from "./abort.ts";
import { askIdps, idpFault } from "./ask-idps.ts";
import { type KeyOrder, prepareKey } from "./encrypt-key-requests.ts";

/** What the IdPs gave for a request, not stored yet. */
export interface Prepared {
  /** All keys, with their sealed response keys and the ids that IdPs gave. */
  readonly keys: readonly Key[];
  /** Encrypted requests, one a key. */
  readonly orders: readonly KeyOrder[];
}

/** Asks the IdPs and encrypts the requests of every key (decision C6). Where anybody says no, gives up and throws a Fault. */
export async function prepareRequest(
  stored: Loaded,
  pathOf: (place: Place) => string,
  deps: ConnectorDeps,
): Promise<Prepared> {
  const keys = stored.keys.map(({ value }) => value);
  const until = plus(stored.request.value.createdAt, deps.timing.create);
  const [asked, transport] = await Promise.all([
    askIdps(stored.request.value.id, keys, until, deps),
    outcome(deps.delivery.transportKeys()),
  ]);
  const { challenges, failure } = asked;
  const refuse = (fault: Fault) => giveUp(stored, fault, deps, asked);
  if (failure !== undefined) throw await refuse(idpFault(failure, pathOf));
  if ("error" in transport) throw await refuse(transportFault(transport.error));

  const { id } = stored.request.value;
  const preparing = await outcome(Promise.all(keys.map(key => prepareKey(id, key, challenges, transport.value, deps))));
  if ("error" in preparing) throw await refuse(faultOf(preparing.error));
  return { keys: preparing.value.map(({ key }) => key), orders: preparing.value.map(({ order }) => order) };
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
