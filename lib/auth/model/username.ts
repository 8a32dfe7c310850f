import { accepted, type Parsed, refused } from "./parsed.ts";

/** A name as it is shown, and as it is looked up (decision A3). */
export interface Username {
  readonly name: string;
  readonly folded: string;
}

/** A user as a path segment names it (decision A3). */
export type UserReference =
  | { readonly by: "id"; readonly id: number }
  | { readonly by: "name"; readonly folded: string };

const usernameMaxCodePoints = 128;
/** The most code points that NFC puts together to one (U+1F82). */
const composedOf = 4;

/**
 * The form in which names are unique and looked up: NFC, locale-free lower case, NFC (decision A3). Two names are one where
 * their folded forms are equal.
 */
export const foldUsername = (name: string): string => name.normalize("NFC").toLowerCase().normalize("NFC");

/** What the Functions host leaves encoded in a path, so that `%2F` and `%252F` arrive as the same text (decision A3). */
const leftEncoded = /%(?:2f|[89a-f][0-9a-f])/i;

/** A username by the rules of decision A3; surrounding white space is dropped. */
export function parseUsername(text: string): Parsed<Username> {
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  const given = text.trim();
  const name = tooLongToNormalize(given, usernameMaxCodePoints) ? undefined : given.normalize("NFC");
  if (name === "") return refused("must not be empty");
  if (name === undefined || longerThan(name, usernameMaxCodePoints)) {
    return refused(`must have at most ${usernameMaxCodePoints} characters`);
  }
  if (/\p{Cc}/u.test(name)) return refused("must not contain control characters");
  if (/[/\\?#]/.test(name)) return refused("must not contain / \\ ? or #");
  if (name === "." || name === "..") return refused("must not be . or ..");
  if (leftEncoded.test(name)) return refused("must not contain %2F or %80 to %FF: a path cannot carry them");
  if (/^[0-9]+$/.test(name)) return refused("must have a character that is not a digit: digits alone are an id");
  return accepted({ name, folded: foldUsername(name) });
}

/** A user's id: a positive integer below 2^53, in digits without leading zeros (decision A3). Undefined for anything else. */
export function parseUserId(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Digits alone are an id, anything else a name (decision A3). Undefined for a segment that can name no user. */
export function parseUserReference(segment: string): UserReference | undefined {
  if (/^[0-9]+$/.test(segment)) {
    const id = parseUserId(segment);
    return id === undefined ? undefined : { by: "id", id };
  }
  const username = parseUsername(segment);
  return username.ok ? { by: "name", folded: username.value.folded } : undefined;
}

/** Whether a text has more code points than that; the text is not walked where its length tells already. */
export function longerThan(text: string, codePoints: number): boolean {
  return text.length > codePoints && (text.length > codePoints * 2 || [...text].length > codePoints);
}

/**
 * Whether a text has more code points than that in every normal form. Such a one must not be normalised: the time that takes grows
 * with the square of the marks in a row, to minutes for a megabyte.
 */
export const tooLongToNormalize = (text: string, codePoints: number): boolean =>
  longerThan(text, codePoints * composedOf);
