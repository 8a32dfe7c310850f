import type { Parsed, Problem } from "../fault.ts";
import { isHttpOnLoopback, type Setting, splitList } from "./setting.ts";

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

/** The settings of one owner by the names of their variables. */
export type SettingShape = Readonly<Record<string, Setting<unknown>>>;

/** Settings of one owner, and the rules between them. */
export interface SettingsSchema<S extends SettingShape = SettingShape> {
  readonly shape: S;
  /**
   * Returns the problems that no setting has by itself. The value of a wrong setting is undefined, a setting that is
   * not set is absent. Problems of settings that are wrong by themselves are left out.
   */
  check?(settings: Partial<SettingValues<S>>): readonly Problem[];
}

type Optional<S> = {
  [K in keyof S]: S[K] extends Setting<infer T> ? (undefined extends T ? K : never) : never;
}[keyof S];
type ValueOf<F> = F extends Setting<infer T> ? T : never;

/** The parsed settings of a schema. */
export type SettingValues<S> = { [K in Exclude<keyof S, Optional<S>>]: ValueOf<S[K]> } & {
  [K in Optional<S>]?: ValueOf<S[K]>;
};

/** Returns the schema. It only infers the type. */
export const settingsSchema = <S extends SettingShape>(
  shape: S,
  check?: (settings: Partial<SettingValues<S>>) => readonly Problem[],
): SettingsSchema<S> => ({ shape, ...(check && { check }) });

const mustBeSet = "must be set";

/** Parses texts by the names of their settings. Returns the values, and every problem without the text. */
export function readTexts<S extends SettingShape>(
  { shape, check }: SettingsSchema<S>,
  texts: Readonly<Record<string, string | undefined>>,
): { readonly values: SettingValues<S>; readonly problems: Problem[] } {
  const values: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [name, setting] of Object.entries(shape)) {
    const read = readSetting(setting, texts[name]);
    if (read !== undefined) values[name] = read.ok ? read.value : undefined;
    if (read?.ok === false) problems.push({ path: name, reason: read.reason });
    if (read === undefined && !setting.isOptional) problems.push({ path: name, reason: mustBeSet });
  }
  const wrong = new Set(problems.map(({ path }) => path));
  const further = check?.(values as Partial<SettingValues<S>>) ?? [];
  problems.push(...further.filter(({ path }) => !wrong.has(path)));
  return { values: values as SettingValues<S>, problems };
}

/**
 * Parses the environment. Except in local runs, loopback addresses are invalid. Throws BadSettings, which contains no
 * values.
 */
export function readSettings<S extends SettingShape>(
  schema: SettingsSchema<S>,
  environment: Environment,
): SettingValues<S> {
  const { values, problems } = readTexts(schema, setVariables(environment));
  const all = problems.map(({ path, reason }) => ({
    path,
    reason: reason === mustBeSet ? missing(path, schema, environment) : reason,
  }));
  if (!isLocalHost(environment)) all.push(...findLoopbackProblems(schema, environment));
  if (all.length > 0) throw new BadSettings(all);
  return values;
}

/** Returns the variables that are not blank. */
const setVariables = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()));

/** Parses a text, or the default. Returns undefined if there is neither. */
function readSetting<T>(setting: Setting<T>, given: string | undefined): Parsed<T> | undefined {
  const text = given ?? setting.defaultText;
  return text === undefined ? undefined : setting.parse(text);
}

function missing(name: string, schema: SettingsSchema, environment: Environment): string {
  const misspelt = misspeltSettings([schema], environment).find(({ nearest }) => nearest === name);
  return misspelt === undefined ? mustBeSet : `${mustBeSet}; ${misspelt.setting} is set, but is not a setting`;
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
  schemas: readonly SettingsSchema[],
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

const findLoopbackProblems = (schema: SettingsSchema, environment: Environment): readonly Problem[] =>
  Object.keys(schema.shape)
    .filter(name => !inboundAddresses.includes(name) && splitList(environment[name] ?? "").some(isHttpOnLoopback))
    .map(path => ({ path, reason: "must be an https address: http on the loopback is allowed in local runs only" }));

/** Returns those of the named settings whose own value is valid, also if other settings are invalid. */
export function validSettings<S extends SettingShape, Name extends keyof S & string>(
  { shape }: SettingsSchema<S>,
  environment: Environment,
  names: readonly Name[],
): Partial<Pick<SettingValues<S>, Name & keyof SettingValues<S>>> {
  const set = setVariables(environment);
  const valid = names.flatMap(name => {
    const read = readSetting(shape[name] as Setting<unknown>, set[name]);
    return read?.ok ? [[name, read.value]] : [];
  });
  return Object.fromEntries(valid);
}

/** Returns the text of every setting: the given value, else the default, else an empty text. */
export const effectiveSettings = (
  { shape }: SettingsSchema,
  environment: Environment,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(shape).map(([name, { defaultText = "" }]) => [name, environment[name]?.trim() || defaultText]),
  );

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
  const candidates = known.map(candidate => {
    const letters = lettersOf(candidate);
    return { candidate, letters, bits: bitsOf(letters) };
  });
  return name => {
    const letters = lettersOf(name);
    const bits = bitsOf(letters);
    const limit = Math.min(2, Math.floor(letters.length / 6));
    const near = candidates
      .filter(other => countBits(bits ^ other.bits) <= 2 * limit)
      .map(({ candidate, letters: other }) => ({ candidate, distance: editDistance(letters, other, limit) }))
      .filter(({ distance }) => distance <= limit);
    return near.toSorted((a, b) => a.distance - b.distance)[0]?.candidate;
  };
}

/** Returns a set of the letters of a name. An edit adds and removes at most one each. */
const bitsOf = (letters: string): number =>
  [...letters].reduce((bits, letter) => bits | (1 << letter.charCodeAt(0)), 0);

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

const lettersOf = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]/g, "");

/**
 * Returns the number of edits between two texts: insert, delete or replace a character, or swap two neighbours. Returns
 * infinity for more than `limit`. Edits only where the texts differ and gives up after `limit` edits.
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
