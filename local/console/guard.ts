import type { PeerAnswer, PeerCall } from "../peers/http-exchange.ts";

/** The page's scripts send it with every call. A foreign page can not, without a preflight that nobody here answers. */
const scriptHeader = "x-console";

/**
 * The refusal of a call that the console's own page has not made: by a foreign name of this machine (DNS rebinding), from a
 * foreign page, or without the page's scripts. The page's files may be opened from everywhere; they tell nothing.
 * @param url the console's own address
 */
export function refusal({ headers, path }: PeerCall, url: string): PeerAnswer | undefined {
  const { port } = new URL(url);
  const origin = [`127.0.0.1:${port}`, `localhost:${port}`].find(name => name === headers.host);
  if (origin === undefined) return refused("The console does not go by that name.");
  if (headers.origin !== undefined && headers.origin !== `http://${origin}`) return refused("Another page asks.");
  if (isFile(path)) return undefined;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return refused("Another page asks.");
  if (path.startsWith("/api/") && headers[scriptHeader] === undefined) return refused("The page's scripts do not ask.");
  return undefined;
}

const isFile = (path: string): boolean => !path.startsWith("/api/") && !path.startsWith("/mails/");

const refused = (error: string): PeerAnswer => ({ status: 403, body: { error } });
