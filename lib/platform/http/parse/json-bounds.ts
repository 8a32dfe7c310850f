import { Fault } from "../../fault.ts";

/** The longest valid request of the connector has about 1,000 values. */
export const maxJsonValues = 10_000;
export const maxJsonDepth = 64;

const quote = '"'.charCodeAt(0);
const backslash = "\\".charCodeAt(0);
const comma = ",".charCodeAt(0);
const [openList, closeList] = ["[".charCodeAt(0), "]".charCodeAt(0)];
const [openObject, closeObject] = ["{".charCodeAt(0), "}".charCodeAt(0)];

/**
 * Throws Fault `too_large` for a JSON text with too many values or too deep nesting. Counts them before anything is
 * parsed, because a body of small values costs far more than one of the same length with few: 40 to 80 ms of the event
 * loop for 1 MiB, against 5 ms. A text that is not JSON may pass.
 */
export function refuseHugeJson(text: string): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === closeList || code === closeObject) depth -= 1;
    else if (code === comma || code === openList || code === openObject) {
      values += 1;
      if (code !== comma) depth += 1;
      if (depth > maxJsonDepth) throw tooLarge(`be nested deeper than ${maxJsonDepth} levels`);
      if (values > maxJsonValues) throw tooLarge(`have more than ${maxJsonValues} values`);
    }
  }
}

const tooLarge = (what: string): Fault => new Fault("too_large", `The body must not ${what}.`);

/** Returns the position of the quotation mark that ends a string; at least the length of the text if there is none. */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== quote && at < text.length; code = text.charCodeAt(at)) {
    at += code === backslash ? 2 : 1;
  }
  return at;
}
