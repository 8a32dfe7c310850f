import * as z from "zod";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { ok } from "../../../lib/http/call.ts";
import { endpoint } from "../../../lib/http/endpoint.ts";
import type { AuthContext } from "../context.ts";
import { credentials } from "./credentials.ts";

/** A question: both answers are 200 (specification section 4, decision A2). */
export const authenticate = endpoint({
  routes: ["GET /authenticate", "POST /authenticate"],
  access: "open",
  summary: "Tell whether credentials are valid and sufficient",
  body: credentials,
  answers: { 200: { description: "Whether they are.", schema: z.boolean() } },
  refusals: ["throttled"],
  handle: async ({ body }, context: AuthContext, { call }) =>
    ok((await signIn(body, context, { address: context.callerAddress(call) })).granted),
});
