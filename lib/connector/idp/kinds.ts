import * as z from "zod";
import { aic } from "./aic.ts";
import type { Idp } from "./contract.ts";
import { entra } from "./entra.ts";
import type { IdpDeps, IdpKind } from "./kind.ts";
import { pingone } from "./pingone.ts";

/** Every kind of IdP by its `type` (decision C13). */
const kinds = { pingone, entra, aic };

/** The settings of one IdP, by the specification's names; `type` names the kind. */
export const idpSettings = z.discriminatedUnion("type", [pingone.settings, entra.settings, aic.settings]);
export type IdpSettings = z.output<typeof idpSettings>;

/** Connects the client of one IdP; nothing is called yet. */
export function connectIdp(id: string, settings: IdpSettings, deps: IdpDeps): Idp {
  const kind: IdpKind<IdpSettings> = kinds[settings.type];
  return kind.connect(id, settings, deps);
}
