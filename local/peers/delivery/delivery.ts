import { type PeerPlace, startPeer } from "../peer.ts";
import { openKeyMaker } from "../security-key/key-maker.ts";
import { emptyKeyring, rotate } from "../security-key/keyring.ts";
import { openState } from "../state-file.ts";
import { createDeliveryControls, deliveryControlRoutes } from "./control.ts";
import { deliveryRoutes, SIGN_JWKS, TRANSPORT_JWKS } from "./routes.ts";
import { createShipments, type DeliveryState } from "./shipments.ts";

export type Delivery = Awaited<ReturnType<typeof startDelivery>>;

interface DeliveryOptions extends PeerPlace {
  /** The bearer token of callers. */
  readonly token: string;
  /** Time from creation until the shipment is sent; 0 ships at once. */
  readonly shipAfterMs?: number | undefined;
}

/** Starts a delivery service with the API of docs/peers/delivery.md and the formats of docs/peers/exchange-format.md. */
export async function startDelivery(options: DeliveryOptions) {
  const file = openState<DeliveryState>(options.statePath, {
    keyring: emptyKeyring,
    nextSerial: 30_000_001,
    shipments: [],
  });
  const maker = await openKeyMaker(file);
  const { keyring } = maker;
  const chosen = { shipAfterMs: options.shipAfterMs ?? 2000, search: true };
  const shipments = createShipments(file, maker, () => chosen.shipAfterMs);
  const controls = createDeliveryControls(shipments, chosen, async rotation => {
    await rotate(keyring, rotation);
    file.save();
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
    handle: call => deliveryRoutes(service, call),
    control: deliveryControlRoutes(controls),
  });
  return {
    ...peer,
    ...controls,
    transportJwksUrl: peer.url + TRANSPORT_JWKS,
    signJwksUrl: peer.url + SIGN_JWKS,
    /** PEM of the root that verifiers of the keys' attestations trust. */
    attestationRoot: maker.authenticators.hardware.rootCertificate,
    /** The key maker, for peers that use the same one. */
    maker,
  };
}
