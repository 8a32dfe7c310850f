/** A token: white space, a comment to the end of the line, a string, a word, a number, or one other character. */
const token = /\s+|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|[A-Za-z_$][\w$]*|-?\d[\d.eE+-]*|[^"\s]/y;

/**
 * Yields the tokens of a script from a position on, without white space and comments. Ends at a text or comment that does not end:
 * the script is read once from front to back, so the time is proportional to its length.
 */
export function* tokenizeScript(script: string, from = 0): Generator<string, undefined> {
  let position = from;
  while (position < script.length) {
    if (script.startsWith("/*", position)) {
      const end = script.indexOf("*/", position + 2);
      if (end === -1) return;
      position = end + 2;
      continue;
    }
    token.lastIndex = position;
    const [found] = token.exec(script) ?? [];
    if (found === undefined) return;
    position += found.length;
    if (!/^\s|^\/\//.test(found)) yield found;
  }
}
