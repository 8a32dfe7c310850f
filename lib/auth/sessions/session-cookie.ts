const headerName = "x-service-session";

/** The cookie's name: with `Secure` one that no other host or path can set (decision A15). */
const sessionCookieName = (secure: boolean): string => (secure ? "__Host-Service-Session" : "Service-Session");

/** @param secure false in a local run without TLS only (`SESSION_COOKIE_SECURE`) */
export const sessionCookie = (value: string, secure: boolean) =>
  ({ name: sessionCookieName(secure), value, path: "/", httpOnly: true, secure, sameSite: "Strict" }) as const;

/** Takes the cookie away. */
export const clearedSessionCookie = (secure: boolean) => ({ ...sessionCookie("", secure), maxAge: 0 }) as const;

/** The session value that a request presents: the header's before the cookie's; an empty one is none (decision A15). */
export function presentedSession(headers: Headers, secure: boolean): string | undefined {
  return headers.get(headerName)?.trim() || cookieValue(headers.get("cookie") ?? "", sessionCookieName(secure));
}

function cookieValue(header: string, name: string): string | undefined {
  const pair = header
    .split(";")
    .map(text => text.trim())
    .find(text => text.startsWith(`${name}=`));
  return pair?.slice(name.length + 1) || undefined;
}
