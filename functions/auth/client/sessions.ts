import * as z from "zod";
import { type LiveSession, rememberDevice } from "../../../lib/auth/sessions/manage-sessions.ts";
import { changeRequired, invalidCredentials } from "../../../lib/auth/sign-in/change-password.ts";
import { signIn } from "../../../lib/auth/sign-in/sign-in.ts";
import { type Cookie, ok } from "../../../lib/platform/http/call.ts";
import { endpoint } from "../../../lib/platform/http/endpoint.ts";
import type { Instant } from "../../../lib/platform/time.ts";
import type { AuthContext } from "../context.ts";
import { deviceHeader, optionalFlag, signInFields } from "../inputs.ts";

const loginFields = z.lazy(() =>
  z
    .object({ ...signInFields(), remember_device: optionalFlag("Whether to return a device token. Default: false.") })
    .meta({ id: "LoginFields" }),
);

/**
 * Signs in and creates a session. Only a successful login ends the session that the request carries (specification
 * sections 3 and 4).
 */
export const login = endpoint({
  routes: ["POST /login", "GET /login"],
  access: "open",
  tag: "Sessions",
  summary: "Sign in and create a session",
  description:
    "Signs the user in with password, OTP or both, as the deployment requires. A user with an OTP key needs an " +
    "OTP. The session is returned in the body, for programs, which send it as `X-Service-Session`, and as a " +
    "cookie, for browsers. A successful login ends the session that the request carries, if any.\n\nWith " +
    "`remember_device=true` the response also has a device token, in the body and as a cookie. Send it with the next " +
    "login, as `X-Service-Device` or as the cookie: failed logins with the token are counted apart, so that callers " +
    "who guess passwords do not lock this device out. It ends with every change of the user's credentials.\n\nIf all " +
    "credentials are right, but the user must change the password first, the answer is 401 with the `reason` " +
    "`password_change_required`, and a `token` for `POST /password` that sets the new one. The OTP is used up.",
  headers: deviceHeader,
  body: loginFields,
  answers: {
    200: {
      description: "The session. The response also sets it as a cookie.",
      headers: ["set-cookie"],
      schema: z.lazy(() =>
        z
          .object({
            session: z.string().describe("The session, for `X-Service-Session`."),
            device: z.string().optional().describe("The device token, if `remember_device` is true."),
          })
          .meta({ id: "Session" }),
      ),
    },
  },
  refusals: ["unauthenticated", "throttled"],
  handle: async ({ body }, context: AuthContext, { call, address }) => {
    const { secureCookie, deviceMs } = context.rules;
    const deviceToken = readPresented("Device", call.headers, secureCookie);
    const { user, session, mustChange } = await signIn(body, context, {
      address,
      deviceToken,
      newSession: { replaces: readPresented("Session", call.headers, secureCookie) },
    });
    if (mustChange) throw await changeRequired(mustChange, context);
    if (user === undefined || session === undefined) throw invalidCredentials();
    const device = body.remember_device ? await rememberDevice(user.value, deviceToken, context) : undefined;
    const cookies = [cookieOf("Session", session, secureCookie)];
    if (device !== undefined) cookies.push(cookieOf("Device", device, secureCookie, deviceMs));
    return { status: 200, body: { session, device }, cookies };
  },
});

const statusBody = z.lazy(() =>
  z
    .object({
      username: z.string().describe("The username as it was created."),
      user_id: z.int().min(1).describe("The numeric id of the user."),
      prefix: z.string().nullable().describe("Prefix of the otpkey whose OTP was used at the login, or null."),
      _accessed_time: z.number().describe("Time of this request in Unix seconds."),
      _creation_time: z.number().describe("Time of the login in Unix seconds."),
    })
    .meta({ id: "SessionStatus" }),
);

const unixSeconds = (time: Instant): number => Date.parse(time) / 1000;

/** Returns the user of the session and its times (specification sections 2 and 4). */
export const getStatus = endpoint({
  routes: ["GET /status", "POST /status"],
  access: "session",
  tag: "Sessions",
  summary: "Inspect the session",
  description:
    "Returns the user of the session and the times of the sign-in and of this call. The call extends the session.",
  answers: { 200: { description: "The session.", schema: statusBody } },
  handle: async (_, context: AuthContext, { session: { session, user } }: { session: LiveSession }) => {
    return ok({
      username: user.value.name,
      user_id: user.value.id,
      prefix: session.value.prefix ?? null,
      _accessed_time: unixSeconds(context.now()),
      _creation_time: unixSeconds(session.value.createdAt),
    });
  },
});

/** Ends the session (specification sections 3 and 4). */
export const logout = endpoint({
  routes: ["POST /logout", "GET /logout"],
  access: "session_without_refresh",
  tag: "Sessions",
  summary: "End the session",
  description: "Ends the session and deletes the session cookie. The device token stays valid.",
  answers: { 200: { description: "The session has ended.", headers: ["set-cookie"], schema: z.literal(true) } },
  handle: async (_, { sessions, rules }: AuthContext, { session }: { session: LiveSession }) => {
    await sessions.end(session.key);
    return { status: 200, body: true, cookies: [cookieOf("Session", "", rules.secureCookie, 0)] };
  },
});

/** What a caller presents: a session, or the token of a device. */
type Kind = "Session" | "Device";

/** Returns the cookie's name. The prefix `__Host-` keeps other hosts and paths from setting the cookie (A15). */
const cookieName = (kind: Kind, secure: boolean): string => `${secure ? "__Host-" : ""}Service-${kind}`;

/**
 * Returns a cookie (A15, A23).
 * @param secure false only in a local run without TLS (`SESSION_COOKIE_SECURE`)
 * @param maxAgeMs absent: until the browser ends; 0: deletes the cookie
 */
export const cookieOf = (kind: Kind, value: string, secure: boolean, maxAgeMs?: number): Cookie => ({
  name: cookieName(kind, secure),
  value,
  path: "/",
  httpOnly: true,
  secure,
  sameSite: "Strict",
  ...(maxAgeMs !== undefined && { maxAge: Math.floor(maxAgeMs / 1000) }),
});

/**
 * Returns the session value, or the device token, of a request: from the header, else from the cookie. An empty value
 * counts as absent.
 */
export function readPresented(kind: Kind, headers: Pick<Headers, "get">, secure: boolean): string | undefined {
  const cookies = headers.get("cookie");
  return (
    headers.get(`x-service-${kind.toLowerCase()}`)?.trim() ||
    (cookies ? cookieValue(cookies, cookieName(kind, secure)) : undefined)
  );
}

/**
 * Returns the value of a cookie; undefined if it is absent or empty. The Functions host and some proxies join several
 * `Cookie` lines with a comma. A comma can also be part of another cookie's value, which other hosts of the domain may
 * have set, so a pair after a semicolon counts before one after a comma.
 */
function cookieValue(header: string, name: string): string | undefined {
  const parts = header.split(";").map(part => part.split(","));
  const pair = [...parts.map(([first = ""]) => first), ...parts.flatMap(([, ...more]) => more)]
    .map(text => text.trim())
    .find(text => text.startsWith(`${name}=`));
  return pair?.slice(name.length + 1) || undefined;
}
