import * as z from "zod";
import type { Problem } from "../fault.ts";
import { isHttpOnLoopback, splitList } from "./setting.ts";

/** Environment variables. An empty or blank value counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

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
 * Parses the environment with a schema whose keys are names of variables. Except in local runs, loopback addresses are
 * invalid. Throws BadSettings, which contains no values.
 */
export function readSettings<T extends z.ZodObject>(schema: T, environment: Environment): z.output<T> {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ""),
  );
  // Settings are parsed once, so compiling the schema would cost more than it saves.
  const result = schema.safeParse(set, { jitless: true });
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
  const misspelt = misspeltSettings([schema], environment).find(({ nearest }) => nearest === name);
  return misspelt === undefined ? "must be set" : `must be set; ${misspelt.setting} is set, but is not a setting`;
}

/** A variable that is not a setting, and the setting whose name is nearest to it. */
interface MisspeltSetting {
  readonly setting: string;
  readonly nearest: string;
}

/**
 * Returns the variables whose names are probably misspelt names of settings in these schemas. They are no reason to
 * refuse the start, because the platform and other programs have variables of their own.
 */
export function misspeltSettings(
  schemas: readonly z.ZodObject[],
  environment: Environment,
): readonly MisspeltSetting[] {
  const known = schemas.flatMap(schema => Object.keys(schema.shape));
  const nearestName = nearestNameIn(known);
  return Object.entries(environment).flatMap(([setting, value]) => {
    if (!value?.trim() || known.includes(setting)) return [];
    const nearest = nearestName(setting);
    return nearest === undefined ? [] : [{ setting, nearest }];
  });
}

/**
 * Settings with origins of pages that call the app. They may be on a developer's machine, unlike addresses that the app
 * calls.
 */
const inboundAddresses = ["CLIENT_ALLOWED_ORIGINS"];

const findLoopbackProblems = (schema: z.ZodObject, environment: Environment): readonly Problem[] =>
  Object.keys(schema.shape)
    .filter(name => !inboundAddresses.includes(name) && splitList(environment[name] ?? "").some(isHttpOnLoopback))
    .map(path => ({ path, reason: "must be an https address: http on the loopback is allowed in local runs only" }));

/** Returns those of the named settings whose own value is valid, also if other settings are invalid. */
export function validSettings<T extends z.ZodObject, Name extends keyof z.output<T> & string>(
  schema: T,
  environment: Environment,
  names: readonly Name[],
): Partial<Pick<z.output<T>, Name>> {
  const read = names.map(name => {
    const text = environment[name]?.trim() ? environment[name] : undefined;
    return [name, z.safeParse(schema.shape[name] as z.ZodType, text)] as const;
  });
  const valid = read.flatMap(([name, { data, success }]) => (success && data !== undefined ? [[name, data]] : []));
  return Object.fromEntries(valid) as Partial<Pick<z.output<T>, Name>>;
}

/** Returns the default of a setting as text; undefined if it has none. */
export const defaultTextOf = (field: z.core.$ZodType): string | undefined =>
  field instanceof z.ZodPrefault ? String(field.def.defaultValue) : undefined;

/** Returns the text of every setting: the given value, else the default, else an empty text. */
export function effectiveSettings(schema: z.ZodObject, environment: Environment): Readonly<Record<string, string>> {
  const textOf = (name: string, field: z.core.$ZodType) => environment[name]?.trim() || (defaultTextOf(field) ?? "");
  return Object.fromEntries(Object.entries(schema.shape).map(([name, field]) => [name, textOf(name, field)]));
}

/**
 * Runs several reads and returns their results. Throws one BadSettings with the problems of all; each setting is
 * reported once, by the first read.
 */
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

/**
 * Returns the function that finds the known name that a misspelt name most likely stands for; undefined if there is
 * none. Case and separators do not count; of the other characters one in six may differ, at most two.
 */
export function nearestNameIn(known: readonly string[]): (name: string) => string | undefined {
  const candidates = known.map(candidate => ({ candidate, letters: lettersOf(candidate) }));
  return name => {
    const letters = lettersOf(name);
    const limit = Math.min(2, Math.floor(letters.length / 6));
    const near = candidates
      .map(({ candidate, letters: other }) => ({ candidate, distance: editDistance(letters, other, limit) }))
      .filter(({ distance }) => distance <= limit);
    return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
  };
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

/**
 * Returns the number of edits between two texts: insert, delete or replace a character, or swap two neighbours. Returns
 * infinity for more than `limit`. Edits only where the texts differ and gives up after `limit` edits, because the start
 * of the app compares every unknown variable with every setting.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Number.POSITIVE_INFINITY;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  if (at === a.length || at === b.length) return Math.abs(a.length - b.length);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  const rest = (skipA: number, skipB: number) => editDistance(a.slice(at + skipA), b.slice(at + skipB), limit - 1);
  const isSwap = a[at] === b[at + 1] && a[at + 1] === b[at];
  return 1 + Math.min(rest(1, 1), rest(1, 0), rest(0, 1), isSwap ? rest(2, 2) : Number.POSITIVE_INFINITY);
}
