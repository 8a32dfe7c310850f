import type * as z from "zod";
import { aic } from "./aic/aic.ts";
import { entra } from "./entra/entra.ts";
import type { IdpKind } from "./kind.ts";
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
