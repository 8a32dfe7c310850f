import { accepted, type Parsed, refused } from "../../platform/fault.ts";

/** Values of attributes by their keys. */
export type Attributes = Readonly<Record<string, string>>;

/** Limits of attributes, in UTF-16 code units; `size` is that of all keys and values of one owner (A14). */
export const attributeLimits = { keyLength: 128, valueSize: 32_768, count: 200, size: 262_144 };

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

/** Returns why an owner cannot have these attributes together; undefined if nothing is wrong. */
export function limitProblem(attributes: Attributes): string | undefined {
  const entries = Object.entries(attributes);
  if (entries.length > attributeLimits.count) return `would exceed the limit of ${attributeLimits.count} attributes`;
  if (entries.reduce((size, [key, value]) => size + key.length + value.length, 0) > attributeLimits.size)
    return `would exceed the limit of ${attributeLimits.size} characters of all attributes, keys counted`;
  return undefined;
}

/** Returns the attributes after one is set. Refuses more than the limits allow. */
export function withAttribute(attributes: Attributes, key: string, value: string): Parsed<Attributes> {
  const next = { ...attributes, [key]: value };
  const problem = limitProblem(next);
  return problem === undefined ? accepted(next) : refused(problem);
}

/** Returns the attributes after one is deleted. */
export const withoutAttribute = (attributes: Attributes, key: string): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== key));

/** Returns the value of an attribute; undefined if it is not set. */
export const attributeOf = (attributes: Attributes, key: string): string | undefined =>
  Object.hasOwn(attributes, key) ? attributes[key] : undefined;
