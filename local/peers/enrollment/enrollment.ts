import { randomBytes } from "node:crypto";
import * as z from "zod";
import { withControlBody } from "../control-body.ts";
import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";

/** The tenant whose credential the local system has. */
export const OWN_TENANT = "local";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

/** The enrollment service: exchanges a tenant's credential for access tokens of the pre-registration API (docs/peers/enrollment.md). */
export interface Enrollment extends Peer, EnrollmentControls {
  /** Returns the tenant of a valid token. */
  tenantOf(token: string): string | undefined;
}

/** What a test or a user of the local system can do with the service, also by calls under `/_control/`. */
interface EnrollmentControls {
  /** Adds a credential of the local system's tenant or of another one. The other credentials stay valid. */
  newCredential(tenant?: string): string;
  /** Revokes a credential. Its tokens stay valid. */
  revokeCredential(credential: string): void;
  /** Revokes every issued access token. */
  revokeTokens(): void;
  settings(changed: z.input<typeof settings>): void;
}

export interface EnrollmentOptions {
  readonly port?: number | undefined;
  readonly statePath?: string | undefined;
  /** The first valid credential of the local system's tenant. */
  readonly credential: string;
}

interface EnrollmentState {
  readonly credentials: Record<string, { readonly tenant: string; revoked: boolean }>;
  /** `end` in ms since 1970. */
  readonly tokens: Record<string, { readonly tenant: string; readonly end: number }>;
}

const settings = z.strictObject({
  /** Lifetime of new access tokens in seconds. */
  expiresIn: z.int().nonnegative(),
});
const newCredential = z.strictObject({ tenant: z.string().min(1).default(OWN_TENANT) });
const revocation = z.strictObject({ credential: z.string() });

/** Starts the enrollment service. */
export async function startEnrollment({ port, statePath, credential }: EnrollmentOptions): Promise<Enrollment> {
  const file = openState<EnrollmentState>(statePath, { credentials: {}, tokens: {} });
  const { credentials, tokens } = file.value;
  credentials[credential] ??= { tenant: OWN_TENANT, revoked: false };
  let expiresIn = 900;

  const grant = (tenant: string): HttpAnswer => {
    for (const [old, { end }] of Object.entries(tokens)) if (end <= Date.now()) delete tokens[old];
    const token = randomBytes(32).toString("base64url");
    tokens[token] = { tenant, end: Date.now() + expiresIn * 1000 };
    file.save();
    const body = { access_token: token, issued_token_type: ACCESS_TOKEN, token_type: "Bearer", expires_in: expiresIn };
    return { status: 200, headers: { "cache-control": "no-store" }, body };
  };

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
    return grant(known.tenant);
  };

  const controls: EnrollmentControls = {
    newCredential: (tenant = OWN_TENANT) => {
      const made = randomBytes(32).toString("base64url");
      credentials[made] = { tenant, revoked: false };
      file.save();
      return made;
    },
    revokeCredential: revoked => {
      const known = credentials[revoked];
      if (known !== undefined) known.revoked = true;
      file.save();
    },
    revokeTokens: () => {
      for (const token of Object.keys(tokens)) delete tokens[token];
      file.save();
    },
    settings: changed => {
      expiresIn = settings.parse(changed).expiresIn;
    },
  };
  const peer = await startPeer("enrollment", {
    port,
    handle: call => (call.method === "POST" && call.path === "/v1/token" ? exchange(call) : undefined),
    control: call => enrollmentControlRoutes(controls, call),
  });
  return {
    ...peer,
    ...controls,
    tenantOf: token => {
      const known = Object.hasOwn(tokens, token) ? tokens[token] : undefined;
      return known !== undefined && known.end > Date.now() ? known.tenant : undefined;
    },
  };
}

function enrollmentControlRoutes(
  controls: EnrollmentControls,
  { method, path, body }: HttpCall,
): HttpAnswer | undefined | Promise<HttpAnswer> {
  const done = { status: 204 };
  switch (`${method} ${path}`) {
    case "POST /_control/credentials":
      return withControlBody(newCredential, body, ({ tenant }) => ({
        status: 201,
        body: { credential: controls.newCredential(tenant) },
      }));
    case "POST /_control/revoke-credential":
      return withControlBody(revocation, body, ({ credential }) => {
        controls.revokeCredential(credential);
        return done;
      });
    case "POST /_control/revoke-tokens":
      controls.revokeTokens();
      return done;
    case "POST /_control/settings":
      return withControlBody(settings, body, changed => {
        controls.settings(changed);
        return done;
      });
    default:
      return undefined;
  }
}

/** RFC 6749 section 5.2 */
const refused = (error: "invalid_request" | "invalid_grant", error_description: string): HttpAnswer => ({
  status: 400,
  headers: { "cache-control": "no-store" },
  body: { error, error_description },
});
