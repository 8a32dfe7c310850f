import { toResult } from "../../platform/async/to-result.ts";
import { Fault } from "../../platform/fault.ts";
import { plus } from "../../platform/time.ts";
import type { DraftLocation } from "../api/body-format.ts";
import type { ConnectorDeps } from "../deps.ts";
import { internalFault, transportKeysFault } from "../faults.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/security-key.ts";
import { abortCreate } from "./abort-create.ts";
import { askIdps, idpFault } from "./ask-idps.ts";
import { findRefusedUser, usersOf } from "./check-users.ts";
import { type EncryptedRequests, encryptKeyRequests } from "./encrypt-key-requests.ts";

/** The sealed and the encrypted part of a request, not stored yet. */
export interface PreparedRequest {
  /** All security keys, with their sealed response keys and IdP states. */
  readonly keys: readonly SecurityKey[];
  /** The encrypted requests of each security key. */
  readonly encryptedRequests: readonly EncryptedRequests[];
}

/** Asks the IdPs for creation options, checks the users meanwhile, and encrypts the requests of each security key. On a failure, aborts the create and throws a Fault. */
export async function prepareRequest(
  stored: LoadedRequest,
  pathOf: (field: DraftLocation) => string,
  deps: ConnectorDeps,
): Promise<PreparedRequest> {
  const keys = securityKeysOf(stored);
  const until = plus(stored.request.value.createdAt, deps.intervals.createMs);
  const [idpAnswers, transport, checked] = await Promise.all([
    askIdps(stored.request.value.id, keys, until, deps),
    toResult(deps.delivery.transportKeys()),
    toResult(findRefusedUser(usersOf(keys, deps.idps.defaultId), pathOf, deps)),
  ]);
  const { challenges, failure } = idpAnswers;
  const refuse = (fault: Fault) => abortCreate(stored, fault, deps, idpAnswers);
  if ("error" in checked) throw await refuse(toFault(checked.error));
  if (checked.value !== undefined) throw await refuse(checked.value);
  if (failure !== undefined) throw await refuse(idpFault(failure, pathOf));
  if ("error" in transport) throw await refuse(transportKeysFault(transport.error));

  const { id } = stored.request.value;
  const encrypted = await toResult(
    Promise.all(keys.map(key => encryptKeyRequests(id, key, challenges, transport.value, deps))),
  );
  if ("error" in encrypted) throw await refuse(toFault(encrypted.error));
  return {
    keys: encrypted.value.map(({ key }) => key),
    encryptedRequests: encrypted.value.map(each => each.encryptedRequests),
  };
}

const toFault = (error: unknown): Fault => (error instanceof Fault ? error : internalFault(error));
