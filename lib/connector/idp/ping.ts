import type { KeyObject } from "node:crypto";
import * as z from "zod";
import type { PeerAccess } from "../../platform/call-peer.ts";
import { type AccessTokens, createAccessTokens } from "../peers/access-token.ts";
import { type ClientCredentials, grantByClientCredentials } from "../peers/grant.ts";
import { base64Text } from "./creation-options.ts";

/** A binary value of Ping's products: a list of signed bytes, or base64 in either alphabet. Parsed to base64url. */
export const pingBinary = z.lazy(() =>
  z.union([
    z
      .array(z.int().min(-128).max(255))
      .min(1)
      .transform(bytes => Buffer.from(Uint8Array.from(bytes)).toString("base64url")),
    base64Text,
  ]),
);

/** Returns a cache of access tokens of PingOne or Advanced Identity Cloud, by client secret or `private_key_jwt`. */
export const createPingTokens = (access: PeerAccess, client: ClientCredentials): AccessTokens =>
  createAccessTokens(access, () => grantByClientCredentials(access, { ...client, algorithmFor }));

/** PingOne accepts RS and ES only; both products accept RS256 and ES256. */
function algorithmFor({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): "RS256" | "ES256" | "ES384" {
  if (asymmetricKeyType !== "ec") return "RS256";
  return asymmetricKeyDetails?.namedCurve === "secp384r1" ? "ES384" : "ES256";
}
