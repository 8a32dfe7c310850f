import * as z from "zod";
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
      return [name, defaultText === undefined ? text.optional() : text.withDefault(defaultText)];
    }),
  ),
);
