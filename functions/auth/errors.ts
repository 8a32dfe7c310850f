import * as z from "zod";
import type { Fault } from "../../lib/platform/fault.ts";
import { faultStatus, type Reply, retryAfterHeader } from "../../lib/platform/http/call.ts";

export const errorBody = z.lazy(() =>
  z
    .object({
      error: z.string().describe("What is wrong, for people."),
      reason: z
        .literal("password_change_required")
        .optional()
        .describe("Of a sign-in whose credentials are right: the user must change the password first."),
      token: z.string().optional().describe("Only with `reason`: sets the new password, once, within ten minutes."),
    })
    .meta({ id: "ErrorResponse" }),
);

/** Returns the response to a Fault in the Core API, whose callers need a bearer token. */
export const refuseCore = (fault: Fault): Reply => refuse(fault, { "www-authenticate": "Bearer" });

/**
 * Returns the response to a Fault in the Client API. A 401 must name a scheme (RFC 9110); for `Basic` and others that
 * browsers know, they would ask for a password in a dialog of their own.
 */
export const refuseClient = (fault: Fault): Reply => refuse(fault, { "www-authenticate": "Session" });

function refuse(fault: Fault, challenge: Readonly<Record<string, string>>): Reply {
  const status = faultStatus[fault.kind];
  const headers = { ...retryAfterHeader(fault), ...(status === 401 ? challenge : {}) };
  return { status, headers, body: { error: sentence(fault), ...fault.data } };
}

/** Returns the error text. Existing clients compare the text for missing parameters. */
function sentence({ message, problems }: Fault): string {
  if (problems.length === 0) return message;
  const missing = problems.filter(({ reason }) => reason === "is required").map(({ path }) => path);
  const others = problems
    .filter(({ reason }) => reason !== "is required")
    .map(({ path, reason }) => `${path === "" ? "The input" : path} ${reason}`);
  const sentences = missing.length === 0 ? [] : [`Missing required parameter(s)! ${missing.join(", ")}`];
  return [...sentences, ...others].join("; ");
}
