import type { Problem } from "../../platform/fault.ts";
import { readTexts } from "../../platform/settings/read-settings.ts";
import { setting } from "../../platform/settings/setting.ts";
import { aic } from "./aic/aic.ts";
import type { AicSettings } from "./aic/settings.ts";
import { entra } from "./entra/entra.ts";
import type { EntraSettings } from "./entra/settings.ts";
import type { IdpKind, IdpVariable } from "./kind.ts";
import { pingone } from "./pingone/pingone.ts";
import type { PingOneSettings } from "./pingone/settings.ts";

/** Every kind of IdP by its `type`. The first one is assumed if the environment describes no IdP. */
const kinds = { entra, pingone, aic };

/** The settings of one IdP, by the specification's names. `type` names the kind. */
export type IdpSettings = EntraSettings | PingOneSettings | AicSettings;

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
  return Object.entries(kind.settings.shape).flatMap(([key, { variable, defaultText, isOptional }]) =>
    variable === undefined
      ? []
      : [{ ...variable, key, defaultText, isRequired: !isOptional && defaultText === undefined }],
  );
}

/** Returns the settings of an IdP of this kind from their texts, or every problem with them by its key. */
export function readIdp(
  kind: AnyIdpKind,
  texts: Readonly<Record<string, string | undefined>>,
): IdpSettings | Problem[] {
  const { values, problems } = readTexts(kind.settings, texts);
  if (problems.length > 0) return problems;
  const settings = { type: kind.type, ...values } as IdpSettings;
  return kind.complete?.(settings) ?? settings;
}

/**
 * The environment variables of all kinds, as strings: the settings of the kind that is in use check the values. They
 * have no static type, because no code names one of them.
 */
export const idpVariableSettings: object = Object.fromEntries(
  idpKinds.flatMap(kind =>
    variablesOf(kind).map(({ name, description, defaultText }) => {
      const text = setting.text(`Kind ${kind.letter}: ${description}`);
      return [name, defaultText === undefined ? text.optional() : text.withDefault(defaultText)];
    }),
  ),
);
