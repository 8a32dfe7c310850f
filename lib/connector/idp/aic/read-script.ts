import { tokenizeScript } from "./tokenize-script.ts";

/**
 * Returns the value of a JavaScript literal in one of AM's scripts; nothing is run. An array of bytes is the list or the text that it
 * is made from. Returns undefined for anything but a literal.
 */
export const readLiteral = (literal: string): unknown => read(literal, 0, true);

/** Returns the options that a registration script passes to the browser: the object that it names `publicKey`. */
export function readScript(script: string): unknown {
  const assignment = /\bpublicKey\s*=\s*(?=\{)/.exec(script);
  return assignment === null ? undefined : read(script, assignment.index + assignment[0].length, false);
}

/** @param whole whether nothing may follow the value */
function read(script: string, from: number, whole: boolean): unknown {
  const source = tokenizeScript(script, from);
  let next = source.next().value;
  const tokens: Tokens = {
    peek: () => next,
    take: () => {
      const taken = next;
      if (taken === undefined) throw new NoLiteral();
      next = source.next().value;
      return taken;
    },
  };
  try {
    const value = readValue(tokens, 0);
    return whole && next !== undefined ? undefined : value;
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

interface Tokens {
  peek(): string | undefined;
  /** Throws NoLiteral at the end. */
  take(): string;
}

class NoLiteral extends Error {}

const deepest = 20;
const constants: ReadonlyMap<string, unknown> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

function readValue(tokens: Tokens, depth: number): unknown {
  const token = tokens.take();
  if (depth > deepest) throw new NoLiteral();
  if (token.startsWith('"')) return textOf(token);
  if (/^-?\d/.test(token)) return numberOf(token);
  if (token === "[") return [...elements(tokens, "]", () => readValue(tokens, depth + 1))];
  if (token === "{") return Object.fromEntries(elements(tokens, "}", () => memberOf(tokens, depth + 1)));
  if (token === "new") return newArray(tokens, depth);
  if (token === "Uint8Array") return arrayFrom(tokens, depth);
  if (constants.has(token)) return constants.get(token);
  throw new NoLiteral();
}

function* elements<T>(tokens: Tokens, end: string, element: () => T): Generator<T> {
  while (tokens.peek() !== end) {
    yield element();
    if (tokens.peek() !== end) expect(tokens, ",");
  }
  tokens.take();
}

function memberOf(tokens: Tokens, depth: number): [string, unknown] {
  const token = tokens.take();
  if (!/^["\w$]/.test(token)) throw new NoLiteral();
  expect(tokens, ":");
  return [token.startsWith('"') ? textOf(token) : token, readValue(tokens, depth)];
}

/** `new Int8Array([…])`, with or without `.buffer`. */
function newArray(tokens: Tokens, depth: number): unknown {
  if (!["Int8Array", "Uint8Array"].includes(tokens.take())) throw new NoLiteral();
  expect(tokens, "(");
  const value = readValue(tokens, depth + 1);
  expect(tokens, ")");
  if (tokens.peek() === ".") expect(tokens, ".", "buffer");
  return value;
}

/** `Uint8Array.from("…", function (c) { … })`: the function is skipped. */
function arrayFrom(tokens: Tokens, depth: number): unknown {
  expect(tokens, ".", "from", "(");
  const value = readValue(tokens, depth + 1);
  for (let open = 1; open > 0; ) {
    const token = tokens.take();
    if ("({[".includes(token)) open++;
    if (")}]".includes(token)) open--;
  }
  return value;
}

function expect(tokens: Tokens, ...expected: readonly string[]): void {
  for (const each of expected) if (tokens.take() !== each) throw new NoLiteral();
}

function numberOf(token: string): number {
  const value = Number(token);
  if (!Number.isFinite(value)) throw new NoLiteral();
  return value;
}

/** JavaScript escapes more than JSON knows. */
function textOf(token: string): string {
  const json = token.replace(/\\(x[0-9A-Fa-f]{2}|.)/g, (escaped, rest: string) => {
    if (rest.length === 3) return `\\u00${rest.slice(1)}`;
    return rest === "'" ? "'" : escaped;
  });
  try {
    return JSON.parse(json);
  } catch {
    throw new NoLiteral();
  }
}
