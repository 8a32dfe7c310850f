import * as z from "zod";
import type { Problem } from "./fault.ts";
import { isNcrontab } from "./ncrontab.ts";
import { trimEnd } from "./trim-end.ts";

/** The environment as the platform gives it: strings, where an empty one counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Schemas of single settings. Each takes the words of an environment variable and says what it expects. */
export const setting = {
  text: (description: string) => z.string().meta({ description }),
  oneOf: <const T extends readonly [string, ...string[]]>(values: T, description: string) =>
    z.enum(values, { error: `must be one of ${values.join(", ")}` }).meta({ description }),
  flag: (description: string) =>
    z
      .enum(["true", "false"], { error: "must be true or false" })
      .transform(text => text === "true")
      .meta({ description }),
  /** A comma list; blanks around the entries are dropped. */
  list: (description: string) =>
    z
      .string()
      .transform(text => entriesOf(text))
      .meta({ description }),
  integer: (least: number, most: number, description: string) =>
    z
      .string()
      .regex(/^\d{1,15}$/, { error: `must be a whole number from ${least} to ${most}`, abort: true })
      .transform(Number)
      .refine(value => value >= least && value <= most, { error: `must be a whole number from ${least} to ${most}` })
      .meta({ description }),
  /** Fractions allowed. A parsed setting keeps the unit of its name; `seconds` and `days` of lib/time.ts convert it where it is used. */
  seconds: (description: string) => duration("seconds", description),
  days: (description: string) => duration("days", description),
  /** An absolute address: https, or http on the loopback in a local run, which `readSettings` checks. No credentials, no fragment. */
  address: (description: string) =>
    z
      .string()
      .refine(isAddress, { error: "must be an https address (http only on the loopback), without credentials" })
      .transform(text => trimEnd(text, "/"))
      .meta({ description }),
  /** Six-field NCRONTAB, as timers take it (decision C17). */
  schedule: (description: string) =>
    z
      .string()
      .refine(isNcrontab, { error: "must be a cron expression of six fields, seconds first" })
      .transform(text => text.trim().split(/\s+/).join(" "))
      .meta({ description }),
};

const entriesOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map(entry => entry.trim())
    .filter(entry => entry !== "");

const duration = (unit: "seconds" | "days", description: string) =>
  z
    .string()
    .regex(/^\d{1,9}(\.\d{1,3})?$/, { error: `must be a number of ${unit}` })
    .transform(Number)
    .meta({ description });

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const scheme = url.protocol === "https:" || isLoopback(text);
  return scheme && url.username === "" && url.password === "" && url.hash === "";
}

/** Whether a text is an http address on the loopback, also as `http://127.1` or in another form that a URL rewrites. */
function isLoopback(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "http:" && ["127.0.0.1", "localhost"].includes(url.hostname);
}

/** All wrong settings of one start, in one message (decision G14). */
export class BadSettings extends Error {
  override readonly name = "BadSettings";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(["Settings are wrong:", ...problems.map(({ path, reason }) => `  ${path}: ${reason}`)].join("\n"));
    this.problems = problems;
  }
}

/** Whether the host is local: storage is reached by account key there, in Azure by managed identity. */
export const isLocalHost = (environment: Environment): boolean =>
  Boolean(environment.CLOUD_STORAGE_CONNECTION_STRING?.trim());

/**
 * Parses the environment by a schema whose keys are names of variables. Where the host is not local, an address on the loopback is wrong
 * too (decision C13). Throws BadSettings; values are never in it.
 */
export function readSettings<T extends z.ZodObject>(schema: T, environment: Environment): z.output<T> {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ""),
  );
  const result = schema.safeParse(given);
  const issues = result.error?.issues ?? [];
  const problems = [
    ...issues.map(issue => ({
      path: issue.path.join("."),
      reason: issue.code === "invalid_type" ? "must be set" : issue.message,
    })),
    ...(isLocalHost(environment) ? [] : loopbackProblems(schema, environment)),
  ];
  if (!result.success || problems.length > 0) throw new BadSettings(problems);
  return result.data;
}

/** Origins of pages that call the app may be a developer's machine; every other address is one that the app calls or names. */
const callers = ["CLIENT_ALLOWED_ORIGINS"];

const loopbackProblems = (schema: z.ZodObject, environment: Environment): readonly Problem[] =>
  Object.keys(schema.shape)
    .filter(name => !callers.includes(name) && entriesOf(environment[name] ?? "").some(isLoopback))
    .map(path => ({ path, reason: "must be an https address: http on the loopback is for local runs" }));

/** Every setting that is well set on its own, whatever is wrong with the others. */
export function validSettings<T extends z.ZodObject>(schema: T, environment: Environment): Partial<z.output<T>> {
  const read = Object.entries(schema.shape).map(([name, field]) => {
    const text = environment[name]?.trim() ? environment[name] : undefined;
    return [name, z.safeParse(field, text)] as const;
  });
  const well = read.flatMap(([name, { data, success }]) => (success && data !== undefined ? [[name, data]] : []));
  return Object.fromEntries(well) as Partial<z.output<T>>;
}

/** Joins the problems of several readings into one message. What one reading found wrong, a later one does not report again. */
export function readAll<T extends readonly (() => unknown)[]>(
  ...readings: T
): { [K in keyof T]: T[K] extends () => infer R ? R : never } {
  const problems: Problem[] = [];
  const values = readings.map(read => {
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

/** What an administrator is told of one setting. */
export interface SettingText {
  readonly name: string;
  readonly description: string;
  /** The words that stand for an unset one; undefined where it has no default. */
  readonly defaultText: string | undefined;
  readonly required: boolean;
}

/** Every setting of a schema, in its order. */
export function settingTexts(schema: z.ZodObject): readonly SettingText[] {
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    description: descriptionOf(field),
    defaultText: field instanceof z.ZodPrefault ? String(field.def.defaultValue) : undefined,
    required: !z.safeParse(field, undefined).success,
  }));
}

/** The description of a schema or of the one that it is made from: refining and transforming make new ones without. */
function descriptionOf(schema: z.core.$ZodType): string {
  const { description } = z.globalRegistry.get(schema) ?? {};
  if (description !== undefined) return description;
  if (schema instanceof z.ZodPipe) return descriptionOf(schema.def.in);
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? descriptionOf(schema.def.innerType) : "";
}

/** The words of every setting as they are in force: given, else the default, else empty. */
export function effectiveSettings(schema: z.ZodObject, environment: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    settingTexts(schema).map(({ name, defaultText = "" }) => [name, environment[name]?.trim() || defaultText]),
  );
}
