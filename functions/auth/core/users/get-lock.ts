import * as z from "zod";
import { readLock } from "../../../../lib/auth/users/view-user.ts";
import { ok } from "../../../../lib/platform/http/call.ts";
import { endpoint } from "../../../../lib/platform/http/endpoint.ts";
import { omitUndefined } from "../../../../lib/platform/omit-undefined.ts";
import type { AuthContext } from "../../context.ts";
import { userParams } from "../../inputs.ts";
import { lastRefusal, toLastRefusal } from "../../views.ts";

const lock = z
  .object({
    failures: z.int().min(0).describe("Number of failed sign-ins since the last successful one."),
    locked_until: z.iso.datetime().nullable().describe("Time until which every sign-in is refused, or null."),
    running_attempts: z.int().min(0).describe("Number of sign-ins that have not ended."),
    last_refusal: lastRefusal.optional(),
  })
  .meta({ id: "Lock" });

/** Returns the failed and the running attempts of a username. Unknown usernames can be locked too (A10). */
export const getLock = endpoint({
  routes: ["GET /users/{user}/lock"],
  access: "caller",
  role: "read",
  tag: "Users",
  summary: "View the failed attempts of a username",
  description:
    "Returns how often sign-ins with the username have failed, and until when the username is locked. Also accepts " +
    "an unknown username, because that can be locked too. `unlock` ends the lock.",
  params: userParams,
  answers: { 200: { description: "The failed and the running attempts.", schema: lock } },
  handle: async ({ params }, context: AuthContext, { caller }) => {
    const { failures, lockedUntil, runningAttempts, lastRefusal: last } = await readLock(params.user, context);
    return ok({
      failures,
      locked_until: lockedUntil ?? null,
      running_attempts: runningAttempts,
      ...omitUndefined({ last_refusal: toLastRefusal(last, caller) }),
    });
  },
});
