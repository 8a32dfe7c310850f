import * as z from "zod";
import { aic } from "./aic/aic.ts";
import type { Idp } from "./contract.ts";
import { entra } from "./entra/entra.ts";
import type { IdpDeps, IdpKind } from "./kind.ts";
import { pingone } from "./pingone/pingone.ts";

/** Every kind of IdP by its `type` (decision C13). */
const kinds = { pingone, entra, aic };

/** The settings of one IdP, by the specification's names; `type` names the kind. */
export const idpSettings = z.discriminatedUnion("type", [pingone.settings, entra.settings, aic.settings]);
export type IdpSettings = z.output<typeof idpSettings>;

/** Every configured IdP by its id. */
export type IdpConfigurations = ReadonlyMap<string, IdpSettings>;

/** Part of the name of a secret in the vault, which has 127 letters, digits and hyphens. */
export const idpId = z.string().regex(/^[A-Za-z0-9-]{1,109}$/, {
  error: "must have 1 to 109 letters, digits and hyphens: it is part of a secret's name",
});

/** The name of an IdP's secret in the vault (decision C13). */
export const idpSecretName = (id: string): string => `idp-${id}-client-secret`;

/** Connects the client of one IdP; nothing is called yet. */
export function connectIdp(id: string, settings: IdpSettings, deps: IdpDeps): Idp {
  const kind: IdpKind<IdpSettings> = kinds[settings.type];
  return kind.connect(id, settings, deps);
}
