import { PeerFailure } from "../../platform/peers/peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";
import { type LoadedRequest, securityKeysOf } from "../model/loaded-request.ts";
import type { SecurityKey } from "../model/request.ts";
import type { Run } from "../runs/run.ts";
import { compensateAtIdp } from "./compensate.ts";
import { peersInTurn } from "./peers-in-turn.ts";

/**
 * Removes the registrations that IdPs began for credentials whose challenge has expired without a response: otherwise they would use up
 * the user's limit at the IdP. Only logs the failure of an IdP, because an ended credential must not wait for it.
 * @param after the security keys of the leased request as they will be saved
 */
export async function compensateExpired(
  leased: LoadedRequest,
  after: readonly SecurityKey[],
  run: Run,
  deps: ConnectorDeps,
): Promise<void> {
  const { id, lease } = leased.request.value;
  const inTurn = { ...deps, ...peersInTurn(deps, lease?.until ?? deps.now(), run, deps) };
  const compensateOne = async (key: SecurityKey, index: number): Promise<void> => {
    try {
      await compensateAtIdp(id, key, index, inTurn);
    } catch (error) {
      if (!(error instanceof PeerFailure)) throw error;
      deps.log.warn("compensation_failed", { error });
    }
  };
  const expired = securityKeysOf(leased).flatMap(key => {
    const ended = after.find(each => each.id === key.id);
    return [...key.credentials.keys()]
      .filter(index => key.credentials[index]?.state === "processing" && ended?.credentials[index]?.state === "failed")
      .map(index => ({ key, index }));
  });
  await Promise.all(expired.map(({ key, index }) => compensateOne(key, index)));
}
