import { Fault } from "../../fault.ts";
import { plus } from "../../time.ts";
import type { SecurityKeyPath } from "../api/create-wire.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { transportFault } from "../faults.ts";
import { toResult } from "../http/to-result.ts";
import type { SecurityKey } from "../model/request.ts";
import { abortCreate } from "./abort.ts";
import { askIdps, idpFault } from "./ask-idps.ts";
import { encryptKeyRequests, type KeyRequests } from "./encrypt-key-requests.ts";

/** What the IdPs gave for a request, not stored yet. */
export interface Prepared {
  /** All keys, with their sealed response keys and the ids that IdPs gave. */
  readonly keys: readonly SecurityKey[];
  /** Encrypted requests, one a key. */
  readonly orders: readonly KeyRequests[];
}

/** Asks the IdPs and encrypts the requests of every key (decision C6). Where anybody says no, gives up and throws a Fault. */
export async function prepareRequest(
  stored: LoadedRequest,
  pathOf: (place: SecurityKeyPath) => string,
  deps: ConnectorDeps,
): Promise<Prepared> {
  const keys = stored.keys.map(({ value }) => value);
  const until = plus(stored.request.value.createdAt, deps.intervals.create);
  const [asked, transport] = await Promise.all([
    askIdps(stored.request.value.id, keys, until, deps),
    toResult(deps.delivery.transportKeys()),
  ]);
  const { challenges, failure } = asked;
  const refuse = (fault: Fault) => abortCreate(stored, fault, deps, asked);
  if (failure !== undefined) throw await refuse(idpFault(failure, pathOf));
  if ("error" in transport) throw await refuse(transportFault(transport.error));

  const { id } = stored.request.value;
  const preparing = await toResult(
    Promise.all(keys.map(key => encryptKeyRequests(id, key, challenges, transport.value, deps))),
  );
  if ("error" in preparing) throw await refuse(faultOf(preparing.error));
  return { keys: preparing.value.map(({ key }) => key), orders: preparing.value.map(({ order }) => order) };
}

const faultOf = (error: unknown): Fault =>
  error instanceof Fault ? error : new Fault("internal", "Internal error.", { cause: error });
