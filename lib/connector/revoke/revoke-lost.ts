import type { ConnectorDeps } from "../deps.ts";
import type { CredentialRequest } from "../model/request.ts";
import { isOnSite, type SecurityKey } from "../model/security-key.ts";
import { deliveryStateOf } from "../model/shipment.ts";
import { withRevocations } from "./request-revocation.ts";

/**
 * Returns the security keys with revocations of the active credentials of shipped ones, if their shipment is lost and the
 * settings say so. A revocation that has failed is left to a person. Each key that does not change stays the same object.
 */
export function withLostRevoked(
  keys: readonly SecurityKey[],
  { delivery }: Pick<CredentialRequest, "delivery">,
  deps: Pick<ConnectorDeps, "now" | "onLoss">,
): readonly SecurityKey[] {
  if (deps.onLoss !== "revoke" || deliveryStateOf(delivery?.shipment) !== "lost") return keys;
  const isNew = (key: SecurityKey, index: number) => key.credentials[index]?.revocation === undefined;
  return keys.map(key => (isOnSite(key) ? key : withRevocations(key, isNew, { reason: "lost" }, deps.now())));
}
