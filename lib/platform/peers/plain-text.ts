/** The maximum length of a peer's message that is stored or logged. */
const longestMessage = 500;

/**
 * Returns a peer's text on one line, without control and direction characters, cut to `longest` characters, for
 * storage, logs, error bodies and mails. Returns undefined if nothing is left.
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
