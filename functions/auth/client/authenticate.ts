import * as z from "zod";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { ok } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { credentials } from "./credentials.ts";

/** Checks credentials without creating a session. Both results are 200 (specification section 4, A2). */
export const authenticate = endpoint({
  routes: ["GET /authenticate", "POST /authenticate"],
  access: "open",
  summary: "Check whether credentials are valid and sufficient",
  body: credentials,
  answers: { 200: { description: "True if they are valid and sufficient.", schema: z.boolean() } },
  refusals: ["throttled"],
  handle: async ({ body }, context: AuthContext, { call }) =>
    ok((await signIn(body, context, { address: context.callerAddress(call) })).granted),
});
