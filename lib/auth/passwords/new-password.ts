import { accepted, type Parsed, refused } from "../../platform/fault.ts";
import { isLongerThan } from "../users/username.ts";
import { normalPassword, passwordMaxCodePoints } from "./password-hash.ts";

/**
 * Parses a new password by the rules (A4). Returns it in NFC. The reason names the rule and quotes nothing of the
 * password. An empty text is too short: a caller for whom it means "no password" does not parse it.
 * @param username undefined if it is not known: then the password is not compared with it
 * @param minLength minimum number of code points
 */
export async function parseNewPassword(
  text: string,
  username: string | undefined,
  minLength: number,
): Promise<Parsed<string>> {
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const password = normalPassword(text);
  if (isLongerThan(password, passwordMaxCodePoints))
    return refused(`must have at most ${passwordMaxCodePoints} characters`);
  if (!isLongerThan(password, minLength - 1)) return refused(`must have at least ${minLength} characters`);
  if (username !== undefined && comparableText(password) === comparableText(username))
    return refused("must not be the username");
  if (await isCommonPassword(password)) {
    return refused("must not be a common password, a repetition, or a run such as abcdefgh");
  }
  return accepted(password);
}

/** Maximum length of a unit whose repetition is always refused. A longer unit must be common itself. */
const shortUnitLength = 4;

interface Known {
  readonly passwords: ReadonlySet<string>;
  readonly keyboards: readonly Keyboard[];
}

let known: Promise<Known> | undefined;

/**
 * Returns whether a password is on a list of about 49,000 common ones, or is a repetition of a short or common unit, or
 * a run (A4). Takes time in proportion to the length, which the caller limits. Loads the list at the first call,
 * because sign-ins do not need it.
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

/** More than NFKC makes of the longest username: it expands one character to at most 18. */
const maxLength = 4096;

/**
 * Returns the form in which a new password is compared with the username and with common passwords: NFKC, lower case,
 * without invisible characters and outer white space, and truncated if it is much longer than any password (A4).
 */
const comparableText = (text: string): string =>
  text
    .normalize("NFKC")
    .slice(0, maxLength)
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]+/gu, "")
    .trim()
    .toLowerCase()
    .normalize("NFKC");

/** The neighbours of each key of a keyboard by direction. A key is named by its characters without and with shift. */
type Keyboard = Readonly<Record<string, readonly (string | null)[] | undefined>>;

/**
 * Returns whether each character follows the one before it in the same way: up or down by one, also around the end of
 * the digits and of the alphabet (`89012`, `yzabc`), or to the next key in one direction of a keyboard.
 */
const isRun = (characters: readonly string[], keyboards: readonly Keyboard[]): boolean =>
  isSequence(characters) || isSequence(characters.toReversed()) || keyboards.some(keys => isLine(characters, keys));

const isSequence = (characters: readonly string[]): boolean =>
  characters.every((to, index) => index === 0 || followingCode(characters[index - 1] ?? "") === to.codePointAt(0));

const ends: Readonly<Record<string, number>> = { "9": 0x30, z: 0x61 };
const followingCode = (character: string): number => ends[character] ?? (character.codePointAt(0) ?? 0) + 1;

const isLine = ([first = "", ...others]: readonly string[], keys: Keyboard): boolean => {
  let from = first;
  let directions = [...(keys[first] ?? []).keys()];
  return others.every(to => {
    directions = directions.filter(direction => keys[from]?.[direction]?.includes(to));
    from = to;
    return directions.length > 0;
  });
};

/**
 * Returns the shortest unit that a text repeats at least twice, the last time perhaps in part: `1234` of `123412341`.
 * Returns undefined if there is none. Takes time in proportion to the length (the failure function of Knuth, Morris and
 * Pratt).
 */
function repeatedUnit(characters: readonly string[]): readonly string[] | undefined {
  const borders = [0];
  let border = 0;
  for (let end = 1; end < characters.length; end++) {
    while (border > 0 && characters[border] !== characters[end]) border = borders[border - 1] ?? 0;
    if (characters[border] === characters[end]) border += 1;
    borders[end] = border;
  }
  const period = characters.length - border;
  return period * 2 <= characters.length ? characters.slice(0, period) : undefined;
}
