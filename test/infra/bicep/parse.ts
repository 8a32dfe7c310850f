import { BicepFault, type BicepFile, type Declaration, type Decorator, type Expression } from "./ast.ts";
import { lex } from "./lex.ts";
import { createExpressions } from "./parse-expression.ts";
import { createTypes } from "./parse-type.ts";
import { tokenReader } from "./token-reader.ts";

/** Parses a template: the part of the language that the templates use. Throws BicepFault with path and line. */
export function parseBicep(path: string, source: string): BicepFile {
  const reader = tokenReader(lex(source, path), path);
  const expression = createExpressions(path, reader, () => resource([]));
  const type = createTypes(reader, expression);
  const { expect, peek, skipNewlines, word } = reader;

  /** Text without a hole. */
  const plainText = (): string => {
    const token = expect("text");
    const [text] = token.parts;
    if (token.parts.length !== 1 || typeof text !== "string") throw reader.fault("a text without a hole is wanted");
    return text;
  };

  const decorators = (): readonly Decorator[] => {
    const found: Decorator[] = [];
    while (reader.accept("@")) {
      const { line } = peek();
      const call = expression();
      if (call.kind !== "call") throw reader.fault("a decorator is a call");
      found.push({ name: call.name, args: call.args, line });
      skipNewlines();
    }
    return found;
  };

  const conditional = (): { condition: Expression | undefined; body: Expression } => {
    if (!reader.acceptWord("if")) return { condition: undefined, body: expression() };
    expect("(");
    const condition = expression();
    expect(")");
    return { condition, body: expression() };
  };

  const resource = (decorated: readonly Decorator[]): Declaration & { kind: "resource" } => {
    const { line } = peek();
    const name = word();
    const [type = "", version = ""] = plainText().split("@");
    const existing = reader.acceptWord("existing");
    expect("=");
    return { kind: "resource", name, decorators: decorated, line, type, version, existing, ...conditional() };
  };

  const declaration = (): Declaration => {
    const decorated = decorators();
    const { line } = peek();
    const keyword = word();
    const declared = (name: string) => ({ name, decorators: decorated, line });
    switch (keyword) {
      case "targetScope":
        expect("=");
        return { kind: "targetScope", ...declared("targetScope"), value: expression() };
      case "metadata": {
        const name = word();
        expect("=");
        return { kind: "metadata", ...declared(name), value: expression() };
      }
      case "param": {
        const name = word();
        const typed = type();
        const given = reader.accept("=") ? expression() : undefined;
        return { kind: "param", ...declared(name), type: typed, default: given };
      }
      case "var": {
        const name = word();
        expect("=");
        return { kind: "var", ...declared(name), value: expression() };
      }
      case "output": {
        const name = word();
        const typed = type();
        expect("=");
        return { kind: "output", ...declared(name), type: typed, value: expression() };
      }
      case "resource":
        return resource(decorated);
      case "module": {
        const name = word();
        const path = plainText();
        expect("=");
        return { kind: "module", ...declared(name), path, ...conditional() };
      }
      default:
        throw reader.fault(`${keyword} begins no declaration`);
    }
  };

  const declarations: Declaration[] = [];
  for (skipNewlines(); peek().kind !== "end"; skipNewlines()) {
    declarations.push(declaration());
    expect("newline");
  }
  const names = declarations.filter(({ kind }) => kind !== "output" && kind !== "metadata").map(({ name }) => name);
  const twice = names.find((name, position) => names.indexOf(name) !== position);
  if (twice !== undefined) throw new BicepFault(`${path}: ${twice} is declared twice`);
  return { path, source, declarations };
}
