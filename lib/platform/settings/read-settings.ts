import type { Parsed, Problem } from "../fault.ts";
import { nearestNameIn } from "./nearest-name.ts";
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
  check(settings: Partial<SettingValues<S>>): readonly Problem[];
}

/** The parsed settings of a schema; undefined for one that is not set. */
export type SettingValues<S> = { [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Returns the schema. It only infers the type. */
export const settingsSchema = <S extends SettingShape>(
  shape: S,
  check: SettingsSchema<S>["check"] = () => [],
): SettingsSchema<S> => ({ shape, check });

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
  const further = check(values as Partial<SettingValues<S>>);
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

/** Returns the reason of a missing setting, with the variable that is probably its misspelt name. */
function missing(name: string, schema: SettingsSchema, environment: Environment): string {
  const misspelt = misspeltSettings([schema], environment).find(({ nearest }) => nearest === name);
  return misspelt === undefined ? mustBeSet : `${mustBeSet}; ${misspelt.setting} is set, but is not a setting`;
}

/** Variables of the host, of Azure and of npm. Most variables in Azure are, and none of them is a setting. */
const platformVariable = /^(WEBSITE_|APPSETTING_|AzureWebJobs|FUNCTIONS_|npm_)/;

/**
 * Returns the variables whose names are probably misspelt names of settings in these schemas. They are no reason to
 * refuse the start, because the platform and other programs have variables of their own.
 */
export function misspeltSettings(
  schemas: readonly SettingsSchema[],
  environment: Environment,
): readonly { readonly setting: string; readonly nearest: string }[] {
  const known = schemas.flatMap(({ shape }) => Object.keys(shape));
  const nearestName = nearestNameIn(known);
  return Object.keys(setVariables(environment)).flatMap(setting => {
    if (known.includes(setting) || platformVariable.test(setting)) return [];
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

/** Returns the settings whose own value is valid, also if others are invalid or missing. */
export const validSettings = <S extends SettingShape>(
  schema: SettingsSchema<S>,
  environment: Environment,
): Partial<SettingValues<S>> => readTexts(schema, setVariables(environment)).values;

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
