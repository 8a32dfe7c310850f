import * as z from "zod";
import type { Caller } from "../../caller.ts";
import { Fault } from "../../fault.ts";
import type { Log } from "../../log.ts";
import type { Now } from "../../time.ts";
import { noContent, ok } from "../call.ts";
import { type Endpoint, endpoint } from "../endpoint.ts";
import { createToken, revokeToken, type TokenHashes } from "./api-tokens.ts";

/** What the endpoints of static API tokens are given. */
export interface TokenContext {
  readonly tokenHashes: TokenHashes;
  readonly log: Log;
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
}

const shown = z.object({ id: z.string(), name: z.string(), created_at: z.string() });
const name = z.string().trim().min(1, { error: "must not be blank" }).max(100);

/** The endpoints behind the command that creates, lists and revokes static API tokens (decisions G3, G13). */
export function tokenEndpoints(surface: "core" | "connector"): Readonly<Record<string, Endpoint<TokenContext>>> {
  return {
    [`${surface}CreateApiToken`]: endpoint({
      routes: ["POST /api-tokens"],
      access: "caller",
      summary: "Create a static API token; it is shown once",
      body: z.object({ name: name.describe("Who is to use it.") }),
      answers: { 201: { description: "The token.", schema: shown.extend({ token: z.string() }) } },
      refusals: ["conflict"],
      handle: async ({ body }, { tokenHashes: hashes, log, now, random }: TokenContext, { caller }) => {
        requireTenantCaller(caller);
        const { token, hash } = await createToken(body.name, surface, { hashes, now, random });
        log.info("api_token_created", { surface, id: hash.id });
        return { status: 201, body: { id: hash.id, name: hash.name, created_at: hash.createdAt, token } };
      },
    }),
    [`${surface}ListApiTokens`]: endpoint({
      routes: ["GET /api-tokens"],
      access: "caller",
      summary: "List static API tokens",
      answers: { 200: { description: "Without the tokens themselves.", schema: z.array(shown) } },
      handle: async (_, { tokenHashes }: TokenContext) =>
        ok((await tokenHashes.read()).map(({ id, name, createdAt }) => ({ id, name, created_at: createdAt }))),
    }),
    [`${surface}RevokeApiToken`]: endpoint({
      routes: ["DELETE /api-tokens/{id}", "POST /api-tokens/{id}/delete"],
      access: "caller",
      summary: "Revoke a static API token",
      params: z.object({ id: z.string() }),
      answers: { 204: { description: "Revoked." } },
      handle: async ({ params }, { tokenHashes, log }: TokenContext, { caller }) => {
        requireTenantCaller(caller);
        await revokeToken(params.id, tokenHashes);
        log.info("api_token_revoked", { surface, id: params.id });
        return noContent;
      },
    }),
  };
}

/** A static token that leaks must not make others that outlive it. */
function requireTenantCaller({ kind }: Caller): void {
  if (kind === "tenant") return;
  throw new Fault("forbidden", "API tokens are managed with a token of the tenant.", { reason: "no_tenant_token" });
}
