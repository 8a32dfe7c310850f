import { type Peer, startPeer } from "../peer.ts";
import { type KeyMaker, openKeyMaker } from "../security-key/key-maker.ts";
import { emptyKeyring, rotate } from "../security-key/keyring.ts";
import { openState } from "../state-file.ts";
import { createDeliveryControls, type DeliveryControls, deliveryControlRoutes } from "./control.ts";
import { deliveryRoutes, refusing, SIGN_JWKS, TRANSPORT_JWKS } from "./routes.ts";
import { createShipments, type DeliveryState } from "./shipments.ts";

export interface Delivery extends Peer, DeliveryControls {
  readonly transportJwksUrl: string;
  readonly signJwksUrl: string;
  /** PEM of the root that verifiers of the keys' attestations trust. */
  readonly attestationRoot: string;
  /** The key maker, for peers that use the same one. */
  readonly maker: KeyMaker;
}

export interface DeliveryOptions {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** The bearer token of callers. */
  readonly token: string;
  /** Time from creation until the shipment is sent; 0 ships at once. */
  readonly shipAfterMs?: number | undefined;
}

/** Starts a delivery service with the API of docs/peers/delivery.md and the formats of docs/peers/exchange-format.md. */
export async function startDelivery(options: DeliveryOptions): Promise<Delivery> {
  const file = openState<DeliveryState>(options.statePath, {
    keyring: emptyKeyring,
    nextSerial: 30_000_001,
    shipments: [],
  });
  const maker = await openKeyMaker(file);
  const { keyring } = maker;
  const rotateKeys: Delivery["rotateKeys"] = async rotation => {
    await rotate(keyring, rotation);
    file.save();
  };
  const chosen = { shipAfterMs: options.shipAfterMs ?? 2000, search: true };
  const shipments = createShipments(file, maker, () => chosen.shipAfterMs);
  const controls = createDeliveryControls(shipments, {
    settings: ({ shipAfterMs = chosen.shipAfterMs, search = chosen.search }) =>
      void Object.assign(chosen, { shipAfterMs, search }),
    rotateKeys,
  });
  const service = {
    // Read at each call, so that a test can revoke it.
    get token() {
      return options.token;
    },
    shipments,
    keyring,
    searchable: () => chosen.search,
  };
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
    attestationRoot: maker.authenticators.hardware.rootCertificate,
    maker,
  };
}
