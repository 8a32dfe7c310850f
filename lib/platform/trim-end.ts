/**
 * Returns the text without repetitions of a character at its end. A regular expression such as `/=+$/` would take
 * quadratic time.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
