import { createPrivateKey } from "node:crypto";
import type { PeerAccess } from "../../platform/peers/call-peer.ts";
import { type AccessTokens, createAccessTokens } from "../peers/access-token.ts";
import { type ClientCredentials, grantByClientCredentials } from "../peers/grant.ts";

/** Returns a cache of access tokens of PingOne or Advanced Identity Cloud, by client secret or `private_key_jwt`. */
export function createPingTokens(access: PeerAccess, client: Omit<ClientCredentials, "algorithm">): AccessTokens {
  return createAccessTokens(access, async () => {
    const secret = await client.secret();
    return grantByClientCredentials(access, {
      ...client,
      secret: async () => secret,
      algorithm: algorithmFor(secret),
    });
  });
}

/** Returns the algorithm of an assertion. PingOne accepts RS and ES only; both products accept RS256 and ES256. */
function algorithmFor(secret: string): ClientCredentials["algorithm"] {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(secret);
    if (asymmetricKeyType !== "ec") return "RS256";
    return asymmetricKeyDetails?.namedCurve === "secp384r1" ? "ES384" : "ES256";
  } catch {
    // A client secret needs no algorithm. A broken key fails when it is used.
    return undefined;
  }
}
