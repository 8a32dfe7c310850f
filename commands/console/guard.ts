import { timingSafeEqual } from "node:crypto";
import type { HttpAnswer, HttpCall } from "../http-exchange.ts";

/** The page's scripts send it with every call. A foreign page cannot: its preflight is refused. */
const scriptHeader = "x-console";

/**
 * Returns the refusal of a call that does not come from the console's own page: with another host name (DNS rebinding),
 * from a foreign page, or without the header of the page's scripts. The page's files contain no data and can be loaded
 * from anywhere.
 * @param url the console's own address
 * @param secret what the header must have, if given: another user of this machine can send any header
 */
export function refusal({ headers, path }: HttpCall, url: string, secret?: string): HttpAnswer | undefined {
  const { port } = new URL(url);
  const origin = [`127.0.0.1:${port}`, `localhost:${port}`].find(name => name === headers.host);
  if (origin === undefined) return refused("The console has another host name.");
  if (headers.origin !== undefined && headers.origin !== `http://${origin}`)
    return refused("Calls of other pages are refused.");
  if (isFile(path)) return undefined;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return refused("Calls of other pages are refused.");
  const sent = headers[scriptHeader];
  if (path.startsWith("/api/") && sent === undefined) return refused("The header x-console is missing.");
  if (secret !== undefined && !isSame(String(sent), secret))
    return refused("Open the console at the address that it printed.");
  return undefined;
}

const isSame = (sent: string, secret: string): boolean =>
  sent.length === secret.length && timingSafeEqual(Buffer.from(sent), Buffer.from(secret));

const isFile = (path: string): boolean => !path.startsWith("/api/") && !path.startsWith("/mails/");

const refused = (error: string): HttpAnswer => ({ status: 403, body: { error } });
