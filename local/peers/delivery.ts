import { type Authenticator, createAuthenticator } from "./authenticator.ts";
import { createAuthenticatorKeys } from "./authenticator-keys.ts";
import { createDeliveryControls, type DeliveryControls, deliveryControlRoutes } from "./delivery-control.ts";
import { emptyKeyring, rotate } from "./delivery-keyring.ts";
import { deliveryRoutes, refusing, SIGN_JWKS, TRANSPORT_JWKS } from "./delivery-routes.ts";
import { createShipments, type DeliveryState } from "./delivery-shipments.ts";
import { type Peer, startPeer } from "./peer.ts";
import { openState } from "./state-file.ts";

export interface Delivery extends Peer, DeliveryControls {
  readonly transportJwksUrl: string;
  readonly signJwksUrl: string;
  /** PEM; what verifiers of the keys' attestations trust. */
  readonly attestationRoot: string;
}

export interface DeliveryOptions {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** The bearer token that callers need. */
  readonly token: string;
  /** From creation until shipped; 0 ships at once. */
  readonly shipAfterMs?: number | undefined;
  /** Instead of the service's own, so that several makers share one attestation root. */
  readonly authenticator?: Authenticator | undefined;
}

/** Starts a delivery service that speaks docs/peers/delivery.md and makes keys as docs/peers/exchange-format.md has it. */
export async function startDelivery(options: DeliveryOptions): Promise<Delivery> {
  const file = openState<DeliveryState>(options.statePath, {
    keyring: emptyKeyring,
    nextSerial: 30_000_001,
    shipments: [],
  });
  const { keyring } = file.value;
  const rotateKeys: Delivery["rotateKeys"] = async rotation => {
    await rotate(keyring, rotation);
    file.save();
  };
  if (keyring.transport.length === 0) await rotateKeys();
  const authenticator = options.authenticator ?? createAuthenticator(await ownKeys());

  const chosen = { shipAfterMs: options.shipAfterMs ?? 2000, search: true };
  const shipments = createShipments(file, authenticator, () => chosen.shipAfterMs);
  const controls = createDeliveryControls(shipments, {
    settings: ({ shipAfterMs = chosen.shipAfterMs, search = chosen.search }) =>
      void Object.assign(chosen, { shipAfterMs, search }),
    rotateKeys,
  });
  const service = { token: options.token, shipments, keyring, searchable: () => chosen.search };
  const peer = await startPeer("delivery", {
    port: options.port,
    handle: call => refusing(() => deliveryRoutes(service, call)),
    control: call => refusing(() => deliveryControlRoutes(controls, call)),
  });
  return {
    ...peer,
    ...controls,
    transportJwksUrl: peer.url + TRANSPORT_JWKS,
    signJwksUrl: peer.url + SIGN_JWKS,
    attestationRoot: authenticator.rootCertificate,
  };

  async function ownKeys() {
    if (file.value.authenticator === undefined) {
      file.value.authenticator = await createAuthenticatorKeys();
      file.save();
    }
    return file.value.authenticator;
  }
}
