import * as z from "zod";
import { trimEnd } from "../../trim-end.ts";
import type { PeerAccess, PeerTools } from "../http/call.ts";
import type { Idp } from "./contract.ts";

/** What every kind of IdP needs to be connected. */
export interface IdpDeps extends PeerTools, Pick<PeerAccess, "patience"> {
  /** For each call of the contract with everything in it. */
  readonly timeLimitMs: number;
  /** The client's secret, or PEM text with its private key and certificate (decision C13: `idp-<id>-client-secret`). */
  readonly secret: () => Promise<string>;
  /** Where there is one, it takes the place of the secret at an IdP of kind B (decision C13). */
  readonly managedIdentityToken?: ((scope: string) => Promise<string>) | undefined;
}

/** Bytes of the longest answer of an IdP: the list of a user's keys is the longest that is read. */
export const longestIdpAnswer = 256 * 1024;

/** A kind of IdP: the settings it reads, by the specification's names, and how to connect one. */
export interface IdpKind<Settings> {
  readonly settings: z.ZodType<Settings>;
  connect(id: string, settings: Settings, deps: IdpDeps): Idp;
}

const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * An address of an IdP: https, but for loopback; nothing but origin and path (decision C13). Returned as a URL writes it, without a
 * slash at the end, so that the host that is checked is the host that is called.
 */
export const endpointUrl = z
  .string()
  .refine(isEndpoint, "must be an https address without credentials, query and fragment")
  .transform(address => trimEnd(new URL(address).href, "/"));

/** A whole number of a setting; a file and the environment have it as text. */
export function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  const text = z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number);
  return z.union([z.int(), text], { error }).pipe(z.int({ error }).min(least, { error }).max(most, { error }));
}

/** A relying party id (WebAuthn Level 3 section 4). */
export const domain = z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, "must be a domain in lower case");

/** A text that is there. */
export const nonEmpty = z.string().min(1, { error: "must not be empty" });

function isEndpoint(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || /[?#]/.test(address) || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && loopback.has(url.hostname));
}
