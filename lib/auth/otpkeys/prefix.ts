/** Maximum length of an OTP key's prefix (A9). */
export const prefixMaxLength = 32;

/** Folds ASCII upper case only: Unicode folding would turn other characters into letters of a prefix. */
export const foldPrefix = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

/** Returns whether a folded text is a prefix: 1 to 32 lower-case letters and digits. */
export const isPrefix = (text: string): boolean => /^[a-z0-9]{1,32}$/.test(text);

/** Parses a prefix from a path segment, a filter or an import. Returns undefined if no OTP key can have it. */
export function parsePrefix(text: string): string | undefined {
  if (text.length > prefixMaxLength) return undefined;
  const prefix = foldPrefix(text);
  return isPrefix(prefix) ? prefix : undefined;
}
