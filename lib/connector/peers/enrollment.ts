import { trimEnd } from "../../trim-end.ts";
import { type AccessTokens, createAccessTokens } from "../http/access-token.ts";
import type { PeerAccess, PeerTools } from "../http/call.ts";
import { requestToken } from "../http/grant.ts";

export interface EnrollmentOptions extends PeerTools, Pick<PeerAccess, "patience"> {
  /** What `/v1/token` follows. */
  readonly baseUrl: string;
  /** Read at every exchange, so that a changed one counts. */
  readonly credential: () => Promise<string>;
  /** For one exchange, tries included. */
  readonly timeLimitMs: number;
}

const accessToken = "urn:ietf:params:oauth:token-type:access_token";

/** Access tokens of the pre-registration API, for which the enrollment service exchanges the credential (decision C12, RFC 8693). */
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
