/** Longest prefix of a key (decision A9). */
export const prefixMaxLength = 32;

/**
 * Upper case of ASCII folded, nothing else (decision A9): Unicode's own folding would turn other signs into letters of a prefix.
 */
export const foldPrefix = (text: string): string => text.replace(/[A-Z]/g, letter => letter.toLowerCase());

/** Whether a folded text is a prefix: 1 to 32 lower-case letters and digits (decision A9). */
export const isPrefix = (text: string): boolean => /^[a-z0-9]{1,32}$/.test(text);

/** A key's prefix as a path segment, a filter or an import names it. Undefined for one that no key can have. */
export function parsePrefix(text: string): string | undefined {
  if (text.length > prefixMaxLength) return undefined;
  const prefix = foldPrefix(text);
  return isPrefix(prefix) ? prefix : undefined;
}
