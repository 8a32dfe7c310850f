import * as z from "zod";
import { type ApiToken, apiRoles, type Caller, callerRoles, hasRole, type RoleApi } from "../caller.ts";
import { omitUndefined } from "../collections.ts";
import { Fault } from "../fault.ts";
import type { Log } from "../log.ts";
import { hasControlCharacters, hasHiddenCharacters } from "../text.ts";
import type { Now } from "../time.ts";
import { noContent, ok } from "./call.ts";
import { endpoint, type RoleEndpoint } from "./endpoint.ts";
import { timeField } from "./time-field.ts";

/** The dependencies of the endpoints for static API tokens. */
export interface ApiTokenContext {
  readonly apiTokens: {
    list(): Promise<readonly ApiToken[]>;
    create(name: string, limits: Pick<ApiToken, "expiresAt" | "role">): Promise<{ token: string; stored: ApiToken }>;
    revoke(id: string): Promise<void>;
  };
  readonly log: Log;
  readonly now: Now;
}

// An empty text is refused: a script whose variable is not set must not create a token that never expires, or that may
// do everything.
const expiry = () =>
  z
    .preprocess(value => value ?? undefined, timeField.optional())
    .meta({ description: "The token is accepted before this time, ISO 8601; default: until it is revoked." });
const roleTexts = {
  core:
    "What the token may do: `read`, `support` (also unlock, disable users and OTP keys, issue temporary codes, end " +
    "sessions), `import` (also import OTP keys), `admin` (everything, the default).",
  connector:
    "What the token may do: `read`, `support` (also send PIN emails again, cancel, revoke, offboard), `call` (everything, " +
    "the default).",
};
const roleField = (api: RoleApi) =>
  z.preprocess(value => value ?? undefined, z.enum(apiRoles[api]).optional()).meta({ description: roleTexts[api] });

const viewOf = ({ id, name, createdAt, expiresAt, role, lastUsedOn }: ApiToken) =>
  omitUndefined({ id, name, created_at: createdAt, expires_at: expiresAt, role, last_used_on: lastUsedOn });

const tokenFields = () => ({
  id: z.string().describe("Names the token, for example to revoke it."),
  name: z.string().describe("Name of the application that uses the token."),
  created_at: z.string().describe("When the token was created, ISO 8601."),
  expires_at: z.string().optional().describe("The token is accepted before this time. Absent: until it is revoked."),
  role: z.enum(callerRoles).optional().describe("What the token may do. Absent: everything."),
  last_used_on: z
    .string()
    .optional()
    .describe("The last day, in UTC, on which the token was accepted. Absent: it was never used."),
});
/** One line: the command that lists tokens prints names in a terminal. */
const nameField = () =>
  z
    .string()
    .trim()
    .min(1, { error: "must not be blank" })
    .max(100)
    .refine(value => !hasControlCharacters(value), { error: "must not contain control characters" })
    .refine(value => !hasHiddenCharacters(value), { error: "must not contain invisible or direction characters" })
    .describe("Name of the application that will use the token.");
const tokenSchema = z.lazy(() => z.object(tokenFields()).meta({ id: "ApiToken" }));
const newTokenSchema = z.lazy(() =>
  z
    .object({ ...tokenFields(), token: z.string().describe("The token. It is shown only once.") })
    .meta({ id: "NewApiToken" }),
);
const callerView = z.lazy(() =>
  z
    .object({
      kind: z.enum(["tenant", "api_token"]).describe("Whether the token is of the tenant, or a static API token."),
      application: z.string().describe("Id of the application, or of the static API token."),
      subject: z.string().optional().describe("Whom the token of the tenant was issued for."),
      roles: z.array(z.enum(callerRoles)).describe("What the token may do, with the roles that a role includes."),
    })
    .meta({ id: "Caller" }),
);
/**
 * Returns the endpoints that create, list and revoke static API tokens, and the one that shows a caller its roles (G3).
 */
export function apiTokenEndpoints(api: RoleApi): Readonly<Record<string, RoleEndpoint<ApiTokenContext>>> {
  const all = api === "core" ? "admin" : "call";
  return {
    [`${api}CreateApiToken`]: endpoint({
      routes: ["POST /api-tokens"],
      access: "caller",
      role: all,
      tag: "API tokens",
      summary: "Create a static API token, which is shown only once",
      description:
        "Creates a static token for an application that cannot get tokens of the tenant. The token is shown only " +
        "in this response; the service keeps a hash. Requires a tenant token with the role of the API.",
      body: z.lazy(() => z.object({ name: nameField(), expires_at: expiry(), role: roleField(api) })),
      answers: { 201: { description: "The new token.", schema: newTokenSchema } },
      refusals: ["conflict"],
      check: ({ expires_at: expiresAt }, { now }: ApiTokenContext) =>
        expiresAt !== undefined && expiresAt <= now() ? [{ path: "expires_at", reason: "must be in the future" }] : [],
      handle: async ({ body }, { apiTokens, log }: ApiTokenContext, { caller }) => {
        requireTenantCaller(caller);
        const { name, expires_at: expiresAt, role } = body;
        const limits = omitUndefined({ expiresAt, role });
        const { token, stored } = await apiTokens.create(name, limits);
        log.info("api_token_created", { api, id: stored.id, ...limits });
        return { status: 201, body: { ...viewOf(stored), token } };
      },
    }),
    [`${api}ListApiTokens`]: endpoint({
      routes: ["GET /api-tokens"],
      access: "caller",
      role: all,
      tag: "API tokens",
      summary: "List static API tokens",
      description:
        "Returns id, name, creation time, expiry, role and the day of the last use of every static token that is not " +
        "revoked. The day is written in the background: it may be missing for a few minutes after the first call of a " +
        "day, and while Key Vault is not responding.",
      answers: { 200: { description: "The valid tokens, without the secret part.", schema: z.array(tokenSchema) } },
      handle: async (_, { apiTokens }: ApiTokenContext) => ok((await apiTokens.list()).map(viewOf)),
    }),
    [`${api}GetCaller`]: endpoint({
      routes: ["GET /caller"],
      access: "caller",
      role: "read",
      tag: "API tokens",
      summary: "View the caller and its roles",
      description:
        "Returns who the token of the call is, and what it may do: a user interface offers no more than that.",
      answers: { 200: { description: "The caller.", schema: callerView } },
      handle: async (_, __: ApiTokenContext, { caller }) => {
        const { kind, application, subject } = caller;
        const roles = apiRoles[api].filter(role => hasRole(caller, role));
        return ok({ kind, application, ...omitUndefined({ subject }), roles });
      },
    }),
    [`${api}RevokeApiToken`]: endpoint({
      routes: ["DELETE /api-tokens/{id}", "POST /api-tokens/{id}/delete"],
      access: "caller",
      role: all,
      tag: "API tokens",
      summary: "Revoke a static API token",
      description:
        "Revokes a static token. A process of the service that has the list in memory accepts the token for " +
        "five minutes at most, and while Key Vault is not available for one hour at most. Requires a " +
        "tenant token with the role of the API.",
      params: z.lazy(() => z.object({ id: z.string().describe("The id of the token, from the list.") })),
      answers: { 204: { description: "Done." } },
      handle: async ({ params }, { apiTokens, log }: ApiTokenContext, { caller }) => {
        requireTenantCaller(caller);
        await apiTokens.revoke(params.id);
        log.info("api_token_revoked", { api, id: params.id });
        return noContent;
      },
    }),
  };
}

/**
 * Requires a tenant token: a leaked static token must not be able to create tokens that stay valid after it is revoked.
 */
function requireTenantCaller({ kind }: Caller): void {
  if (kind === "tenant") return;
  throw new Fault("forbidden", "Managing API tokens requires a tenant token.", { reason: "no_tenant_token" });
}
