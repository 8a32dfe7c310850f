/**
 * Returns the text without the repeated character at its end. A pattern such as `/=+$/` takes a time that grows with the square of
 * the text.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}
