import { BicepFault } from "./ast.ts";

export interface Token {
  readonly kind: "word" | "number" | "text" | "sign" | "newline" | "end";
  readonly text: string;
  readonly line: number;
  /** Of a text: what stands between the holes, and the tokens in them. */
  readonly parts: readonly (string | readonly Token[])[];
}

const signs = ["::", "??", ".?", "&&", "||", "==", "!=", "=~", "!~", "<=", ">=", "=>", ..."{}[]().,:=?!<>+-*/%|@"];
const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "'": "'", "\\": "\\", $: "$" };

/** The tokens of a template, newlines among them because they end what stands on a line. Throws BicepFault. */
export function lex(source: string, path: string): readonly Token[] {
  let at = 0;
  let line = 1;
  const fault = (message: string) => new BicepFault(`${path}:${line}: ${message}`);

  const token = (kind: Token["kind"], text: string, parts: Token["parts"] = []): Token => ({ kind, text, line, parts });

  /** @param inHole ends at the brace that closes a hole in a text */
  const tokens = (inHole: boolean): readonly Token[] => {
    const found: Token[] = [];
    let open = 0;
    while (at < source.length) {
      const rest = source.slice(at, at + 3);
      const char = rest.charAt(0);
      if (char === "\n") {
        found.push(token("newline", "\n"));
        at++;
        line++;
      } else if (/\s/.test(char)) {
        at++;
      } else if (rest.startsWith("//")) {
        while (at < source.length && source[at] !== "\n") at++;
      } else if (rest.startsWith("/*")) {
        const end = source.indexOf("*/", at + 2);
        if (end < 0) throw fault("a comment has no end");
        line += source.slice(at, end).split("\n").length - 1;
        at = end + 2;
      } else if (rest === "'''") {
        found.push(multiLine());
      } else if (char === "'") {
        found.push(text());
      } else if (/[A-Za-z_]/.test(char)) {
        found.push(token("word", take(/[A-Za-z0-9_]+/y)));
      } else if (/[0-9]/.test(char)) {
        found.push(token("number", take(/[0-9]+/y)));
      } else {
        const sign = signs.find(each => rest.startsWith(each));
        if (sign === undefined) throw fault(`${char} is no sign of the language`);
        if (sign === "{") open++;
        if (sign === "}" && inHole && open-- === 0) return found;
        found.push(token("sign", sign));
        at += sign.length;
      }
    }
    if (inHole) throw fault("a hole in a text has no end");
    return [...found, token("newline", "\n"), token("end", "")];
  };

  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [taken = ""] = pattern.exec(source) ?? [];
    at += taken.length;
    return taken;
  };

  const multiLine = (): Token => {
    const end = source.indexOf("'''", at + 3);
    if (end < 0) throw fault("a text of several lines has no end");
    const inside = source.slice(at + 3, end);
    const made = token("text", "'''", [inside.replace(/^\r?\n/, "")]);
    line += inside.split("\n").length - 1;
    at = end + 3;
    return made;
  };

  const text = (): Token => {
    const parts: (string | readonly Token[])[] = [];
    let plain = "";
    at++;
    for (;;) {
      const char = source.charAt(at);
      if (char === "" || char === "\n") throw fault("a text has no end");
      if (char === "'") break;
      if (char === "\\") {
        const escaped = escapes[source.charAt(at + 1)];
        if (escaped === undefined) throw fault(`\\${source.charAt(at + 1)} means nothing in a text`);
        plain += escaped;
        at += 2;
      } else if (char === "$" && source.charAt(at + 1) === "{") {
        at += 2;
        parts.push(plain, tokens(true));
        plain = "";
        at++;
      } else {
        plain += char;
        at++;
      }
    }
    at++;
    return token("text", "'", [...parts, plain]);
  };

  return tokens(false);
}
