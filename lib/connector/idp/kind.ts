import type * as z from "zod";
import type { PeerTools } from "../../platform/call-peer.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import type { SettingsSchema } from "../../platform/settings/read-settings.ts";
import { type Setting, setting } from "../../platform/settings/setting.ts";
import { trimEnd } from "../../platform/text.ts";
import type { Challenge } from "../model/webauthn.ts";
import type { Idp } from "./contract.ts";

/** The dependencies of the client of an IdP. */
export interface IdpDeps extends PeerTools {
  /** The time limit of each call of the contract, including token and repetitions. */
  readonly timeLimitMs: number;
  /** Returns the client secret, or PEM text with private key and certificate. */
  readonly secret: () => Promise<string>;
  /** Returns an access token of the app's own identity. */
  readonly managedIdentityToken: (scope: string) => Promise<string>;
}

/** The maximum length of an IdP's response, in bytes. The list of a user's keys is the longest one. */
export const maxIdpResponseBytes = 256 * 1024;

/**
 * A kind of IdP. The file of a kind is all that deployed code needs, besides its entry in `kinds.ts`: environment
 * variables, status answers and the documentation of the settings are derived from it. Simulation, tests and pages:
 * see CONTRIBUTING.md.
 */
export interface IdpKind<Settings extends { readonly type: string }, Key extends string = keyof Settings & string> {
  readonly type: Settings["type"];
  /**
   * The specification's letter, which a file may have as `type`. The specification swaps A and B in the variables
   * (`IDPA_` is kind B, `IDPB_` kind A, C13).
   */
  readonly letter: string;
  /**
   * Every key but `type` has its environment variable (`withVariable`), or none has: then only the IdP file configures
   * the kind. All values are texts.
   */
  readonly settings: SettingsSchema<Readonly<Record<string, IdpSetting<unknown>>>>;
  /** Sets the defaults that depend on other settings. */
  complete?(settings: Settings): Settings;
  /** The keys that status shows. */
  readonly statusKeys: readonly Key[];
  /** The keys that status shows in version 1, if they are others. */
  readonly statusKeysV1?: readonly Key[];
  /** Those of them that are numbers without a default. They are absent if not set, any other is an empty text. */
  readonly statusNumbers: readonly Key[];
  /** The vendor's own hosts, to which secrets may be sent by default. */
  readonly vendorHosts: readonly string[];
  /** Returns the keys with the addresses to which a client secret, an assertion or an access token is sent. */
  secretAddresses(settings: Settings): readonly Key[];
  /** Creates the client of one IdP, without any call. */
  connect(id: string, settings: Settings, deps: IdpDeps): Idp;
}

/** Returns the stored state of a registration. Throws PeerFailure `refused` if it is that of another kind of IdP. */
export function readIdpState<T>(
  schema: z.ZodType<T>,
  stored: Challenge["idpState"],
  peer: string,
  operation: string,
): T {
  const { success, data } = schema.safeParse(stored);
  if (success) return data;
  const detail = "The stored state for the identity provider is not that of its kind.";
  throw new PeerFailure(peer, operation, "refused", { detail });
}

/** The environment variable of a setting, for deployments with one IdP. */
export interface IdpVariable {
  readonly name: string;
  /** What the setting means, without the kind. */
  readonly description: string;
  /** The setting of the deployment whose value counts if the variable is not set. */
  readonly fallback?: "CLOUD_TENANT_ID";
  /** Whether an optional setting shows that its kind is in use, if it is set to another value than its default. */
  readonly identifiesKind?: true;
}

/** A setting of a kind, by the specification's name. */
export type IdpSetting<T> = Setting<T> & { readonly variable?: IdpVariable };

/** Returns the setting with its environment variable, which has the description. */
export const withVariable = <T>(given: Setting<T>, variable: IdpVariable): IdpSetting<T> => ({ ...given, variable });

const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * An https address without query, or http on the loopback. It is parsed to the form that a URL writes, without a slash
 * at the end, so that the host that is checked is the host that is called.
 */
export const endpointUrl = setting
  .text("")
  .refine(isEndpoint, "must be an https address without credentials, query and fragment")
  .transform(address => trimEnd(new URL(address).href, "/"));

/** A text with at least one character. */
export const nonEmpty = setting.text("").refine(text => text !== "", "must not be empty");

function isEndpoint(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || /[?#]/.test(address) || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && loopback.has(url.hostname));
}

/** Whether a text can be the id of an IdP, which is part of a secret's name in Key Vault: at most 127 characters. */
export const isIdpId = (id: string): boolean => /^[A-Za-z0-9-]{1,109}$/.test(id);

/** The reason why a text is no id of an IdP. */
export const idpIdReason = "must have 1 to 109 letters, digits and hyphens: it is part of a secret's name";

/** Returns the name of an IdP's secret in Key Vault. */
export const idpSecretName = (id: string): string => `idp-${id}-client-secret`;

/** The maximum length of a domain name in characters (RFC 1035 section 2.3.4). */
const longestDomain = 253;

/** Labels of letters, digits and inner hyphens (RFC 1123 section 2.1). A number at the end is an IP address. */
const labels = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The reason why a text is no relying party id. */
export const relyingPartyReason =
  "must be a domain in lower case, without scheme, port and path; the relying party is no domain";

/**
 * A relying party id: a domain in the form in which browsers compare and hash it, that is ASCII (IDNA) in lower case,
 * without scheme, port and path (WebAuthn Level 3 section 4). The key maker computes the origin from it.
 */
export const relyingPartyId = setting.text("").refine(isRelyingPartyId, relyingPartyReason);

/** Whether a text is a relying party id. */
export function isRelyingPartyId(text: string): boolean {
  if (text.length > longestDomain || !labels.test(text)) return false;
  // The parser recognises IP addresses in every spelling, such as 0x7f.
  return URL.parse(`https://${text}`)?.hostname === text;
}

/** The maximum size of an IdP file, in bytes. Separate from its parser, which is loaded only if a file is read. */
export const longestIdpFile = 256 * 1024;
