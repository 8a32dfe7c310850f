/** Longest message of a peer that is kept or logged (decision G10). */
const longestMessage = 500;

/**
 * Returns a peer's text on one line, without control and direction characters, cut to `longest` characters: fit for storage, logs,
 * error bodies and mails. Undefined where nothing is left.
 */
export function plainText(value: unknown, longest = longestMessage): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value
    .slice(0, longest)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .toWellFormed()
    .trim();
  return text === "" ? undefined : text;
}

/** Returns a serial number or firmware version as a peer reports it, cut to 64 characters. */
export const plainIdentifier = (value: unknown): string | undefined => plainText(value, 64);
