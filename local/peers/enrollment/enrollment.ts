import { randomBytes } from "node:crypto";
import * as z from "zod";
import { withBody } from "../control.ts";
import { createTokens, type TokensState } from "../idp/tokens.ts";
import { type HttpAnswer, type HttpCall, type PeerPlace, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** The enrollment service: exchanges a tenant's credential for access tokens of the pre-registration API (docs/peers/enrollment.md). */
export type Enrollment = Awaited<ReturnType<typeof startEnrollment>>;

interface EnrollmentOptions extends PeerPlace {
  /** The first valid credential. */
  readonly credential: string;
}

interface EnrollmentState extends TokensState {
  readonly credentials: Record<string, { revoked: boolean }>;
}

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
});
const revocation = z.strictObject({ credential: z.string() });

/** Starts the enrollment service. Its controls can be called under `/_control/` too. */
export async function startEnrollment({ port, statePath, credential }: EnrollmentOptions) {
  const file = openState<EnrollmentState>(statePath, { credentials: {}, tokens: {} });
  const { credentials } = file.value;
  const tokens = createTokens(file);
  credentials[credential] ??= { revoked: false };
  let expiresIn = 900;

  const exchange = ({ headers, body }: HttpCall): HttpAnswer => {
    if (!headers["content-type"]?.startsWith("application/x-www-form-urlencoded"))
      return refused("invalid_request", "The body must be a form.");
    const form = new URLSearchParams(body.toString("utf8"));
    if (form.get("grant_type") !== EXCHANGE) return refused("invalid_request", `grant_type must be ${EXCHANGE}.`);
    if (form.get("subject_token_type") !== ACCESS_TOKEN)
      return refused("invalid_request", `subject_token_type must be ${ACCESS_TOKEN}.`);
    const subject = form.get("subject_token");
    if (!subject) return refused("invalid_request", "subject_token is missing.");
    const known = Object.hasOwn(credentials, subject) ? credentials[subject] : undefined;
    if (known === undefined || known.revoked) return refused("invalid_grant", "The credential is not good.");
    return tokens.grant(expiresIn, { issued_token_type: ACCESS_TOKEN });
  };

  const controls = {
    /** Adds a credential. The others stay valid. */
    newCredential: () => {
      const made = randomBytes(32).toString("base64url");
      credentials[made] = { revoked: false };
      file.save();
      return made;
    },
    /** Revokes a credential. Its tokens stay valid. */
    revokeCredential: (revoked: string) => {
      const known = credentials[revoked];
      if (known !== undefined) known.revoked = true;
      file.save();
    },
    /** Revokes every issued access token. */
    revokeTokens: tokens.revokeAll,
    settings: (changed: z.output<typeof settings>) => {
      expiresIn = changed.expiresIn;
    },
  };
  const peer = await startPeer("enrollment", {
    port,
    handle: call => (call.method === "POST" && call.path === "/v1/token" ? exchange(call) : undefined),
    control: {
      "POST credentials": () => ({ credential: controls.newCredential() }),
      "POST revoke-credential": withBody(revocation, ({ credential }) => controls.revokeCredential(credential)),
      "POST revoke-tokens": tokens.revokeAll,
      "POST settings": withBody(settings, controls.settings),
    },
  });
  return { ...peer, ...controls, isValid: tokens.isValid };
}

/** RFC 6749 section 5.2 */
const refused = (error: "invalid_request" | "invalid_grant", error_description: string): HttpAnswer => ({
  status: 400,
  headers: { "cache-control": "no-store" },
  body: { error, error_description },
});
