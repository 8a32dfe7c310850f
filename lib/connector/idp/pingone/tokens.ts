import { createPrivateKey } from "node:crypto";
import { type AccessTokens, createAccessTokens } from "../../http/access-token.ts";
import type { PeerAccess } from "../../http/call.ts";
import { type ClientCredentials, grantByClientCredentials } from "../../http/grant.ts";

/** Access tokens of PingOne and of Advanced Identity Cloud: by a secret in the form, or by `private_key_jwt`. */
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

/** PingOne takes RS and ES algorithms only; RS256 and ES256 are what both take for certain. */
function algorithmFor(secret: string): ClientCredentials["algorithm"] {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(secret);
    if (asymmetricKeyType !== "ec") return "RS256";
    return asymmetricKeyDetails?.namedCurve === "secp384r1" ? "ES384" : "ES256";
  } catch {
    // A secret that is no key needs none; a broken key fails where it is used.
    return undefined;
  }
}
