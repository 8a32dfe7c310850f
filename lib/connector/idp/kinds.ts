import * as z from "zod";
import type { Problem } from "../../platform/fault.ts";
import { setting } from "../../platform/settings/setting.ts";
import { aic } from "./aic/aic.ts";
import { entra } from "./entra/entra.ts";
import { type IdpKind, type IdpVariable, variableOf } from "./kind.ts";
import { pingone } from "./pingone/pingone.ts";

/** Every kind of IdP by its `type`. The first one is assumed if the environment describes no IdP. */
const kinds = { entra, pingone, aic };

/** The settings of one IdP, by the specification's names. `type` names the kind. */
export type IdpSettings = z.output<(typeof kinds)[keyof typeof kinds]["settings"]>;

/** Every configured IdP by its id. */
export type IdpConfigurations = ReadonlyMap<string, IdpSettings>;

/** What all kinds have in common. */
export type AnyIdpKind = IdpKind<IdpSettings, string>;

const kindsByType: Readonly<Record<IdpSettings["type"], AnyIdpKind>> = kinds;

export const idpKinds = Object.values(kindsByType) as [AnyIdpKind, ...AnyIdpKind[]];

export const kindOf = ({ type }: Pick<IdpSettings, "type">): AnyIdpKind => kindsByType[type];

/** The environment variable of one setting of a kind. */
interface KindVariable extends IdpVariable {
  /** The specification's name of the setting. */
  readonly key: string;
  /** The default of the setting as text; undefined if it has none. */
  readonly defaultText: string | undefined;
  readonly isRequired: boolean;
}

/**
 * Returns the environment variables of a kind, in the order of its settings; none for a kind that only the IdP file
 * configures.
 */
export function variablesOf(kind: AnyIdpKind): readonly KindVariable[] {
  return Object.entries(shapeOf(kind.settings)).flatMap(([key, field]) => {
    const variable = variableOf(field);
    if (variable === undefined) return [];
    const defaultText = field instanceof z.ZodDefault ? String(field.def.defaultValue) : undefined;
    const isRequired = !(field instanceof z.ZodOptional || field instanceof z.ZodDefault);
    return [{ ...variable, key, defaultText, isRequired }];
  });
}

/** Returns the schemas of a kind's settings by their keys. */
export function shapeOf(settings: z.core.$ZodType): z.core.$ZodShape {
  if (settings instanceof z.ZodObject) return settings.shape;
  return settings instanceof z.ZodPipe ? shapeOf(settings.def.in) : {};
}

/**
 * The environment variables of all kinds, as strings: the settings of the kind that is in use check the values. They
 * have no static type, because no code names one of them.
 */
export const idpVariableSettings: object = Object.fromEntries(
  idpKinds.flatMap(kind =>
    variablesOf(kind).map(({ name, description, defaultText }) => {
      const text = setting.text(`Kind ${kind.letter}: ${description}`);
      return [name, defaultText === undefined ? text.optional() : text.prefault(defaultText)];
    }),
  ),
);

/** The vendors' own hosts, the default of `IDP_SECRET_HOSTS`. */
export const vendorHosts: readonly string[] = idpKinds.flatMap(kind => kind.vendorHosts);

/**
 * Returns whether an entry is a host as a URL writes it: in lower case, with a port other than 443. `*.` before a
 * domain of at least two labels is a wildcard for one label.
 */
export function isHostEntry(entry: string): boolean {
  const host = entry.replace(/^\*\./, "");
  const isNamed = URL.parse(`https://${host}`)?.host === host && !host.includes("*");
  return isNamed && (host === entry || host.includes("."));
}

/** Returns the entries without the loopback. In Azure, no IdP is on the same machine. */
export const withoutLoopback = (entries: readonly string[]): readonly string[] =>
  entries.filter(entry => !/^(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?$/.test(entry));

/** Returns whether the host of an address, including its port, is one of the entries. */
export function isSecretHost(address: string, entries: readonly string[]): boolean {
  const host = URL.parse(address)?.host ?? "";
  return entries.includes(host) || entries.includes(host.replace(/^[^.]+(?=\.)/, "*"));
}

/** Returns a problem for each address of an IdP to which its secrets must not be sent. The path is the key. */
export function secretHostProblems(settings: IdpSettings, entries: readonly string[]): readonly Problem[] {
  const values: Readonly<Record<string, unknown>> = settings;
  return kindOf(settings)
    .secretAddresses(settings)
    .filter(key => !isSecretHost(String(values[key]), entries))
    .map(path => ({ path, reason: "must be on a host that IDP_SECRET_HOSTS names: the IdP's secrets are sent there" }));
}

/** Returns a `fetch` that rejects every call to a host that is not among the entries, before anything is sent. */
export function fetchFromSecretHosts(fetch: typeof globalThis.fetch, entries: readonly string[]): typeof fetch {
  return async (input, init) => {
    if (!isSecretHost(input instanceof Request ? input.url : String(input), entries)) throw new SecretHostError();
    return fetch(input, init);
  };
}

class SecretHostError extends Error {
  override readonly name = "SecretHostError";
  /** As in the system's own errors before a connection exists: nothing was sent. */
  readonly syscall = "connect";
  constructor() {
    super("The host is not among IDP_SECRET_HOSTS.");
  }
}
