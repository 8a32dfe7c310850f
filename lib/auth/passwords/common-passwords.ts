import { comparableText } from "./comparable-text.ts";
import { isRun, type Keyboard } from "./is-run.ts";
import { repeatedUnit } from "./repeated-unit.ts";

/** Maximum length of a unit whose repetition is always refused. A longer unit must be common itself. */
const shortUnitLength = 4;

interface Known {
  readonly passwords: ReadonlySet<string>;
  readonly keyboards: readonly Keyboard[];
}

let known: Promise<Known> | undefined;

/**
 * Returns whether a password is on a list of about 49,000 common ones, or is a repetition of a short or common unit, or a run (A4).
 * Takes time in proportion to the length, which the caller limits. Loads the list at the first call, because sign-ins do not need it.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  known ??= load();
  const { passwords, keyboards } = await known;
  const isKnown = (characters: readonly string[]): boolean =>
    passwords.has(characters.join("")) || isRun(characters, keyboards);
  const characters = [...comparableText(password)];
  const unit = repeatedUnit(characters);
  return isKnown(characters) || (unit !== undefined && (unit.length <= shortUnitLength || isKnown(unit)));
}

async function load(): Promise<Known> {
  const { dictionary, adjacencyGraphs } = await import("@zxcvbn-ts/language-common");
  return { passwords: new Set(dictionary["passwords-common"]), keyboards: Object.values(adjacencyGraphs) };
}
