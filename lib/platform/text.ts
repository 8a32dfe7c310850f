/**
 * Characters that show nothing: direction controls, zero-width characters and fillers. Two texts that differ in them
 * look alike, and a direction override shows a text in another order. Joiners and variation selectors are left out,
 * because Indic and Persian words and emoji need them (Unicode Standard, section 23).
 */
const hidden = /(?![\p{Join_Control}\p{Variation_Selector}])[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB]/gu;

/** What is left of a text that shows nothing. U+2800 is the Braille pattern without dots. */
const blank = /^[\s\u2800\p{Join_Control}\p{Variation_Selector}]*$/u;

/** Whether a text has control characters or line ends. */
export const hasControlCharacters = (text: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);

/** Whether a text has invisible or direction characters. */
export const hasHiddenCharacters = (text: string): boolean => text.search(hidden) !== -1;

/** Returns a text without invisible and direction characters; an empty one if nothing of it shows. */
export function withoutHiddenCharacters(text: string): string {
  const shown = text.replace(hidden, "");
  return blank.test(shown) ? "" : shown;
}

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

/**
 * Returns the text without repetitions of a character at its end. A regular expression such as `/=+$/` would take
 * quadratic time.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
