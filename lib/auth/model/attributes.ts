import { accepted, type Parsed, refused } from "./parsed.ts";

/** Limits of attributes; sizes are in UTF-16 code units and include the keys (A14). */
export const attributeLimits = { keyLength: 128, valueSize: 32_768, count: 200, size: 262_144 };

/** Number and total size of an owner's attributes, stored in the attribute-head row (A20). */
export interface AttributeHead {
  readonly count: number;
  readonly size: number;
}

export const noAttributes: AttributeHead = { count: 0, size: 0 };

/** Parses an attribute's key. */
export function parseAttributeKey(text: string): Parsed<string> {
  if (text === "") return refused("must not be empty");
  if (text.length > attributeLimits.keyLength)
    return refused(`must have at most ${attributeLimits.keyLength} characters`);
  if (!/^[A-Za-z0-9\-_.:@]*$/.test(text)) return refused("must have ASCII letters, digits and - _ . : @ only");
  if (text === "." || text === "..") return refused("must not be . or .., which a URL cannot carry");
  return accepted(text);
}

/** Parses an attribute's value: any well-formed text up to the limit, or an empty one. */
export function parseAttributeValue(text: string): Parsed<string> {
  if (!text.isWellFormed()) return refused("must be well-formed Unicode");
  if (text.length > attributeLimits.valueSize)
    return refused(`must have at most ${attributeLimits.valueSize} characters`);
  return accepted(text);
}

/**
 * Returns the head after an attribute is set.
 * @param was the previous value, undefined if there was none
 */
export function withAttribute(
  head: AttributeHead,
  key: string,
  was: string | undefined,
  value: string,
): Parsed<AttributeHead> {
  const without = withoutAttribute(head, key, was);
  const next = { count: without.count + 1, size: without.size + key.length + value.length };
  if (next.count > attributeLimits.count) return refused(`would be more than ${attributeLimits.count} attributes`);
  if (next.size > attributeLimits.size) {
    return refused(`would make more than ${attributeLimits.size} characters of attributes, keys counted`);
  }
  return accepted(next);
}

/** Returns the head after an attribute is deleted. */
export function withoutAttribute(head: AttributeHead, key: string, was: string | undefined): AttributeHead {
  if (was === undefined) return head;
  return { count: head.count - 1, size: head.size - key.length - was.length };
}
