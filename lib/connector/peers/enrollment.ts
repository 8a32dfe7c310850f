import type { PeerAccess, PeerTools } from "../../platform/peers/call-peer.ts";
import { trimEnd } from "../../platform/trim-end.ts";
import { type AccessTokens, createAccessTokens } from "./access-token.ts";
import { requestToken } from "./grant.ts";

interface EnrollmentOptions extends PeerTools {
  /** The URL before `/v1/token`. */
  readonly baseUrl: string;
  /** Read at each exchange, so that a rotated credential is used. */
  readonly credential: () => Promise<string>;
  /** The time limit of one exchange, including repetitions, and of an operation with the token. */
  readonly timeLimitMs: number;
}

const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/** Returns the access tokens of the pre-registration API, by token exchange at the enrollment service (RFC 8693). */
export function connectEnrollment({ baseUrl, credential, ...rest }: EnrollmentOptions): AccessTokens {
  const access: PeerAccess = { ...rest, peer: "enrollment service" };
  const url = `${trimEnd(baseUrl, "/")}/v1/token`;
  return createAccessTokens(access, async () => {
    const body = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: await credential(),
      subject_token_type: accessToken,
    });
    return requestToken(access, url, body);
  });
}
