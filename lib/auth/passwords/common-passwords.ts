import { comparableText } from "./comparable-text.ts";
import { repeatedUnit } from "./repetition.ts";
import { isRun, type Keyboard } from "./run.ts";

/** Units of at most this length are short: repeated, they make no password. A longer unit must be common itself. */
const shortUnit = 4;

interface Known {
  readonly passwords: ReadonlySet<string>;
  readonly keyboards: readonly Keyboard[];
}

let known: Promise<Known> | undefined;

/**
 * Whether a password is on a list of some 49,000 common ones, a repetition of a short or common unit, or a run (decision A4). Its
 * time grows with the length alone; the caller limits that. The list is loaded at the first question: sign-ins never ask.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  known ??= load();
  const { passwords, keyboards } = await known;
  const isKnown = (characters: readonly string[]): boolean =>
    passwords.has(characters.join("")) || isRun(characters, keyboards);
  const characters = [...comparableText(password)];
  const unit = repeatedUnit(characters);
  return isKnown(characters) || (unit !== undefined && (unit.length <= shortUnit || isKnown(unit)));
}

async function load(): Promise<Known> {
  const { dictionary, adjacencyGraphs } = await import("@zxcvbn-ts/language-common");
  return { passwords: new Set(dictionary["passwords-common"]), keyboards: Object.values(adjacencyGraphs) };
}
