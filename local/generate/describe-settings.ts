import type { SettingsSchema } from "../../lib/platform/settings/read-settings.ts";

/** The documentation of one setting. */
interface SettingDescription {
  readonly name: string;
  readonly description: string;
  /** The default as text; undefined if there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
}

/** Returns the documentation of every setting of a schema, in order. */
export const describeSettings = ({ shape }: SettingsSchema): readonly SettingDescription[] =>
  Object.entries(shape).map(([name, { description, defaultText, isOptional = false }]) => ({
    name,
    description,
    defaultText,
    required: defaultText === undefined && !isOptional,
  }));
