import { accepted, type Parsed, refused } from "../../platform/fault.ts";
import type { KeyedHash } from "../keyed-hash.ts";

/** A username as it is shown, and folded as it is looked up (A3). */
export interface Username {
  readonly name: string;
  readonly folded: string;
}

/** A reference to a user from a path segment. */
export type UserRef = { readonly by: "id"; readonly id: number } | { readonly by: "name"; readonly folded: string };

export const usernameMaxCodePoints = 128;
/** Maximum number of code points that NFC composes to one (U+1F82). */
const maxComposedCodePoints = 4;

/**
 * Returns the form in which usernames are unique and looked up: NFC, locale-independent lower case, NFC. Two usernames
 * with the same folded form are the same. All forms of sigma are equal: lower case writes one at the end of a word
 * differently, so that the beginning of a folded name would not be the folded beginning.
 */
export const foldUsername = (name: string): string =>
  name.normalize("NFC").toLowerCase().replaceAll("ς", "σ").normalize("NFC");

/** Escapes that the Functions host does not decode in a path: `%2F` and `%252F` arrive as the same text. */
const undecodedEscape = /%(?:2f|[89a-f][0-9a-f])/i;

/**
 * Characters that no name can have, because it would look like another one (RFC 8265 section 3.3, RFC 8264 section 9):
 * among them the joiners U+200C and U+200D, every space but U+0020, and U+2800, the Braille pattern without dots. Two
 * spaces in a row look like one on a page.
 */
const unwritable = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]| {2}/u;

/** Parses a username. Removes surrounding white space. */
export function parseUsername(text: string): Parsed<Username> {
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const trimmed = text.trim();
  const name = isTooLongToNormalize(trimmed, usernameMaxCodePoints) ? undefined : trimmed.normalize("NFC");
  if (name === "") return refused("must not be empty");
  if (name === undefined || isLongerThan(name, usernameMaxCodePoints)) {
    return refused(`must have at most ${usernameMaxCodePoints} characters`);
  }
  if (unwritable.test(name))
    return refused(
      "must not contain control, invisible, direction or unassigned characters, two spaces in a row, or a space other than U+0020",
    );
  if (/[/\\?#]/.test(name)) return refused("must not contain / \\ ? or #");
  if (name === "." || name === "..") return refused("must not be . or ..");
  if (undecodedEscape.test(name)) return refused("must not contain %2F or %80 to %FF: a path cannot carry them");
  if (/^[0-9]+$/.test(name)) return refused("must have a character that is not a digit: digits alone are an id");
  return accepted({ name, folded: foldUsername(name) });
}

/** Parses a user id: a positive integer below 2^53 without leading zeros. Returns undefined for any other text. */
export function parseUserId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

/**
 * Parses a path segment: digits only are an id, any other text is a username. Returns undefined if it can be neither.
 */
export function parseUserReference(segment: string): UserRef | undefined {
  if (/^[0-9]+$/.test(segment)) {
    const id = parseUserId(segment);
    return id === undefined ? undefined : { by: "id", id };
  }
  const username = parseUsername(segment);
  return username.ok ? { by: "name", folded: username.value.folded } : undefined;
}

/**
 * Returns whether a text has more than `codePoints` code points. Counts them only if the text's length leaves it open.
 */
export function isLongerThan(text: string, codePoints: number): boolean {
  return text.length > codePoints && (text.length > codePoints * 2 || [...text].length > codePoints);
}

/**
 * Returns whether a text has more than `codePoints` code points in every normal form. Such a text must not be
 * normalised: the time grows with the square of the number of combining marks in a row, to minutes for a megabyte.
 */
export const isTooLongToNormalize = (text: string, codePoints: number): boolean =>
  isLongerThan(text, codePoints * maxComposedCodePoints);

const hashLength = 22;

/**
 * Returns the keyed hash by which the log names an unknown username, the same for all its spellings (G10); undefined
 * while the pepper cannot be read.
 */
export async function hashUsernameForLog(
  username: string,
  { keyedHash }: { readonly keyedHash: KeyedHash },
): Promise<string | undefined> {
  const parsed = parseUsername(username);
  const hash = await keyedHash("username in the log", parsed.ok ? parsed.value.folded : username).catch(
    () => undefined,
  );
  return hash?.slice(0, hashLength);
}
