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
  /** PEM; what verifiers of the keys' attestations trust. */
  readonly attestationRoot: string;
  /** Who makes its keys, for others that have keys made there. */
  readonly maker: KeyMaker;
}

export interface DeliveryOptions {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** The bearer token that callers need. */
  readonly token: string;
  /** From creation until shipped; 0 ships at once. */
  readonly shipAfterMs?: number | undefined;
}

/** Starts a delivery service that speaks docs/peers/delivery.md and makes keys as docs/peers/exchange-format.md has it. */
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
    // Read at each call, so that whoever made the service can revoke it.
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
