import { readFileSync } from "node:fs";
import * as z from "zod";
import { describeSettings } from "../generate/describe-settings.ts";
import { settingSchemas } from "../generate/settings-files.ts";

const settingsFile = z.object({
  Values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).default({}),
});

/**
 * Returns the settings in `local.settings.json`; none if there is no such file. Leaves out empty values and defaults, so that a
 * copy of the sample replaces no setting of the local system. Throws if the file is not a settings file.
 */
export function ownSettings(path: string): Readonly<Record<string, string>> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const read = settingsFile.safeParse(parsed(text));
  if (!read.success) throw new Error(`${path} is not a settings file: it must be {"Values": {"NAME": "value"}}.`);
  const defaults = new Map(
    Object.values(settingSchemas)
      .flatMap(describeSettings)
      .map(({ name, defaultText }) => [name, defaultText]),
  );
  return Object.fromEntries(
    Object.entries(read.data.Values).filter(([name, value]) => value.trim() !== "" && value !== defaults.get(name)),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

/** Sets each variable that is not set yet. Returns the names of those that have another value. */
export function fillEnvironment(values: Readonly<Record<string, string>>): readonly string[] {
  const differing: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (!process.env[name]?.trim()) process.env[name] = value;
    else if (process.env[name] !== value) differing.push(name);
  }
  return differing;
}
