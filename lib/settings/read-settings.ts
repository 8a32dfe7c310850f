import * as z from "zod";
import type { Problem } from "../fault.ts";
import { isNcrontab } from "./ncrontab.ts";
import { nearestName } from "./nearest-name.ts";
import { trimEnd } from "../trim-end.ts";

/** Environment variables. An empty or blank value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Schemas of single settings. Each parses the text of an environment variable. */
export const setting = {
  text: (description: string) => z.string().meta({ description }),
  oneOf: <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
    z.enum(values, { error: `must be one of ${values.join(", ")}` }).meta({ description }),
  flag: (description: string) =>
    z
      .enum(["true", "false"], { error: "must be true or false" })
      .transform(text => text === "true")
      .meta({ description }),
  /** A comma-separated list. Blanks around entries and empty entries are dropped. */
  list: (description: string) =>
    z
      .string()
      .transform(text => splitList(text))
      .meta({ description }),
  integer: (min: number, max: number, description: string) =>
    z
      .string()
      .regex(/^\d{1,15}$/, { error: `must be a whole number from ${min} to ${max}`, abort: true })
      .transform(Number)
      .refine(value => value >= min && value <= max, { error: `must be a whole number from ${min} to ${max}` })
      .meta({ description }),
  /** Fractions are allowed. The parsed value stays in seconds; convert it to milliseconds with lib/time.ts. */
  seconds: (description: string) => durationSetting("seconds", description),
  days: (description: string) => durationSetting("days", description),
  /** An absolute https URL without credentials or fragment. `readSettings` allows http on the loopback in local runs only. */
  address: (description: string) =>
    z
      .string()
      .refine(isAddress, { error: "must be an https address (http only on the loopback), without credentials" })
      .transform(text => trimEnd(text, "/"))
      .meta({ description }),
  /** A six-field NCRONTAB expression, as the host's timers use. */
  schedule: (description: string) =>
    z
      .string()
      .refine(isNcrontab, { error: "must be a cron expression of six fields, seconds first" })
      .transform(text => text.trim().split(/\s+/).join(" "))
      .meta({ description }),
};

const splitList = (text: string): readonly string[] =>
  text
    .split(",")
    .map(entry => entry.trim())
    .filter(entry => entry !== "");

const durationSetting = (unit: "seconds" | "days", description: string) =>
  z
    .string()
    .regex(/^\d{1,9}(\.\d{1,3})?$/, { error: `must be a number of ${unit}` })
    .transform(Number)
    .meta({ description });

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isSchemeAllowed = url.protocol === "https:" || isLoopback(text);
  return isSchemeAllowed && url.username === "" && url.password === "" && url.hash === "";
}

/** Returns whether a text is an http URL on the loopback, also in a form that URL parsing normalizes, such as `http://127.1`. */
function isLoopback(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "http:" && ["127.0.0.1", "localhost"].includes(url.hostname);
}

/** Thrown for invalid settings. The message lists all of them (G14). */
export class BadSettings extends Error {
  override readonly name = "BadSettings";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(["Invalid settings:", ...problems.map(({ path, reason }) => `  ${path}: ${reason}`)].join("\n"));
    this.problems = problems;
  }
}

/** Returns whether this is a local run: only local runs use a storage connection string. */
export const isLocalHost = (environment: Environment): boolean =>
  Boolean(environment.CLOUD_STORAGE_CONNECTION_STRING?.trim());

/**
 * Parses the environment with a schema whose keys are names of variables. Except in local runs, loopback addresses are invalid.
 * Throws BadSettings, which contains no values.
 */
export function readSettings<T extends z.ZodObject>(schema: T, environment: Environment): z.output<T> {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ""),
  );
  const result = schema.safeParse(set);
  const issues = result.error?.issues ?? [];
  const problems = [
    ...issues.map(issue => ({
      path: issue.path.join("."),
      reason: issue.code === "invalid_type" ? missing(issue.path.join("."), schema, environment) : issue.message,
    })),
    ...(isLocalHost(environment) ? [] : findLoopbackProblems(schema, environment)),
  ];
  if (!result.success || problems.length > 0) throw new BadSettings(problems);
  return result.data;
}

function missing(name: string, schema: z.ZodObject, environment: Environment): string {
  const misspelt = misspeltSettings(schema, environment).find(({ nearest }) => nearest === name);
  return misspelt === undefined ? "must be set" : `must be set; ${misspelt.setting} is set, but is not a setting`;
}

/** A variable that is not a setting, and the setting whose name is nearest to it. */
interface MisspeltSetting {
  readonly setting: string;
  readonly nearest: string;
}

/**
 * Returns the variables whose names are probably misspelt names of a schema's settings. They are no reason to refuse the start,
 * because the platform and other programs have variables of their own.
 */
export function misspeltSettings(schema: z.ZodObject, environment: Environment): readonly MisspeltSetting[] {
  const known = Object.keys(schema.shape);
  return Object.entries(environment).flatMap(([setting, value]) => {
    if (!value?.trim() || known.includes(setting)) return [];
    const nearest = nearestName(setting, known);
    return nearest === undefined ? [] : [{ setting, nearest }];
  });
}

/** Settings with origins of pages that call the app. They may be on a developer's machine, unlike addresses that the app calls. */
const inboundAddresses = ["CLIENT_ALLOWED_ORIGINS"];

const findLoopbackProblems = (schema: z.ZodObject, environment: Environment): readonly Problem[] =>
  Object.keys(schema.shape)
    .filter(name => !inboundAddresses.includes(name) && splitList(environment[name] ?? "").some(isLoopback))
    .map(path => ({ path, reason: "must be an https address: http on the loopback is allowed in local runs only" }));

/** Returns every setting whose own value is valid, also if other settings are invalid. */
export function validSettings<T extends z.ZodObject>(schema: T, environment: Environment): Partial<z.output<T>> {
  const read = Object.entries(schema.shape).map(([name, field]) => {
    const text = environment[name]?.trim() ? environment[name] : undefined;
    return [name, z.safeParse(field, text)] as const;
  });
  const valid = read.flatMap(([name, { data, success }]) => (success && data !== undefined ? [[name, data]] : []));
  return Object.fromEntries(valid) as Partial<z.output<T>>;
}

/** Runs several reads and returns their results. Throws one BadSettings with the problems of all; each setting is reported once, by the first read. */
export function combineReads<T extends readonly (() => unknown)[]>(
  ...reads: T
): { [K in keyof T]: T[K] extends () => infer R ? R : never } {
  const problems: Problem[] = [];
  const values = reads.map(read => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof BadSettings)) throw error;
      const found = new Set(problems.map(({ path }) => path));
      problems.push(...error.problems.filter(({ path }) => !found.has(path)));
      return undefined;
    }
  });
  if (problems.length > 0) throw new BadSettings(problems);
  return values as { [K in keyof T]: T[K] extends () => infer R ? R : never };
}

/** The documentation of one setting. */
export interface SettingDescription {
  readonly name: string;
  readonly description: string;
  /** The default as text; undefined if there is none. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
}

/** Returns the documentation of every setting of a schema, in order. */
export function describeSettings(schema: z.ZodObject): readonly SettingDescription[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    description: descriptionOf(field),
    defaultText: field instanceof z.ZodPrefault ? String(field.def.defaultValue) : undefined,
    required: !z.safeParse(field, undefined).success,
  }));
}

/** Returns the description of a schema or of its inner schema, because `refine` and `transform` create schemas without one. */
function descriptionOf(schema: z.core.$ZodType): string {
  const { description } = z.globalRegistry.get(schema) ?? {};
  if (description !== undefined) return description;
  if (schema instanceof z.ZodPipe) return descriptionOf(schema.def.in);
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? descriptionOf(schema.def.innerType) : "";
}

/** Returns the text of every setting: the given value, else the default, else an empty text. */
export function effectiveSettings(schema: z.ZodObject, environment: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    describeSettings(schema).map(({ name, defaultText = "" }) => [name, environment[name]?.trim() || defaultText]),
  );
}
