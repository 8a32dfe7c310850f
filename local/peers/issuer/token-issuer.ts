import { withBody } from "../control.ts";
import { type PeerPlace, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";
import { type KeyRing, type Mint, mintOptions, mintToken, newSigningKey, publicKeys } from "./token-mint.ts";

export type TokenIssuer = Awaited<ReturnType<typeof startTokenIssuer>>;

const tenantId = "7f1c2d4e-5a6b-4c8d-9e0f-a1b2c3d4e5f6";

/**
 * Starts a simulated token issuer: published keys, and tokens on demand that look like those of an
 * Entra tenant for an application. `POST /_control/tokens` mints over HTTP, `POST /_control/rotate` rotates.
 */
export async function startTokenIssuer({ port, statePath }: PeerPlace = {}) {
  const state = openState<KeyRing>(statePath, { keys: [] });
  /** Signs with a new key from now on. The old key stays published, as in a planned rotation. */
  const rotate = async () => {
    state.value.keys = [await newSigningKey(), ...state.value.keys].slice(0, 2);
    state.save();
  };
  let first: Promise<void> | undefined;
  /** Makes the first key when it is needed: that takes a tenth of a second, and most systems need no token of a tenant. */
  const keys = async (): Promise<KeyRing> => {
    if (state.value.keys.length === 0) {
      first ??= rotate();
      await first;
    }
    return state.value;
  };

  const mint = async (options: Mint): Promise<string> => mintToken(options, { keys: await keys(), issuer, tenantId });
  const peer = await startPeer("token-issuer", {
    port,
    handle: async ({ method, path }) =>
      method === "GET" && path === "/discovery/v2.0/keys"
        ? { status: 200, body: { keys: publicKeys(await keys()) } }
        : undefined,
    control: {
      "POST tokens": withBody(mintOptions, async input => ({ token: await mint(input) })),
      "POST rotate": rotate,
    },
  });

  const issuer = `${peer.url}/${tenantId}/v2.0`;
  const jwksUri = `${peer.url}/discovery/v2.0/keys`;
  return { ...peer, issuer, tenantId, jwksUri, mint, rotate };
}
