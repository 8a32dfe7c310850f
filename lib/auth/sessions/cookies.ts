/** What a caller presents: a session, or the token of a device. */
type Kind = "Session" | "Device";

/** Returns the cookie's name. The prefix `__Host-` keeps other hosts and paths from setting the cookie (A15). */
const cookieName = (kind: Kind, secure: boolean): string => `${secure ? "__Host-" : ""}Service-${kind}`;

/**
 * Returns the session cookie.
 * @param secure false only in a local run without TLS (`SESSION_COOKIE_SECURE`)
 */
export const sessionCookie = (value: string, secure: boolean) =>
  ({ name: cookieName("Session", secure), value, path: "/", httpOnly: true, secure, sameSite: "Strict" }) as const;

/** Returns the cookie that deletes the session cookie. */
export const clearedSessionCookie = (secure: boolean) => ({ ...sessionCookie("", secure), maxAge: 0 }) as const;

/** Returns the cookie of a device token (A23). `secure` is that of `sessionCookie`. */
export const deviceCookie = (value: string, secure: boolean, maxAgeMs: number) =>
  ({
    ...sessionCookie(value, secure),
    name: cookieName("Device", secure),
    maxAge: Math.floor(maxAgeMs / 1000),
  }) as const;

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
