import { BicepFault } from "./ast.ts";
import type { Token } from "./lex.ts";

/** Walks over tokens. What is not there as expected is a BicepFault with path and line. */
export function tokenReader(tokens: readonly Token[], path: string) {
  let at = 0;
  const end: Token = { kind: "end", text: "", line: tokens.at(-1)?.line ?? 1, parts: [] };
  const peek = (ahead = 0): Token => tokens[at + ahead] ?? end;
  const fault = (message: string): BicepFault =>
    new BicepFault(`${path}:${peek().line}: ${message}, not ${JSON.stringify(peek().text || peek().kind)}`);

  const is = (wanted: string, token = peek()): boolean =>
    wanted === "newline" || wanted === "text" || wanted === "number" || wanted === "end"
      ? token.kind === wanted
      : token.kind === "sign" && token.text === wanted;

  const accept = (wanted: string): boolean => {
    if (!is(wanted)) return false;
    at++;
    return true;
  };

  return {
    peek,
    is,
    fault,
    accept,
    acceptWord(wanted: string): boolean {
      if (peek().kind !== "word" || peek().text !== wanted) return false;
      at++;
      return true;
    },
    expect(wanted: string): Token {
      const token = peek();
      if (!accept(wanted)) throw fault(`${wanted} is wanted`);
      return token;
    },
    word(): string {
      const token = peek();
      if (token.kind !== "word") throw fault("a name is wanted");
      at++;
      return token.text;
    },
    skipNewlines(): void {
      while (peek().kind === "newline") at++;
    },
    /** Whether the next token that is no newline is the wanted one; then the newlines before it are skipped. */
    onNextLine(wanted: string): boolean {
      let ahead = 0;
      while (peek(ahead).kind === "newline") ahead++;
      if (!is(wanted, peek(ahead))) return false;
      at += ahead;
      return true;
    },
  };
}

export type TokenReader = ReturnType<typeof tokenReader>;
