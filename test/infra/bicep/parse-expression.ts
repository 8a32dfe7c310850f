import type { Expression, Property, Resource } from "./ast.ts";
import type { Token } from "./lex.ts";
import { type TokenReader, tokenReader } from "./token-reader.ts";

/** Binary operators by how tightly they bind, loosest first. */
const levels = [["??"], ["||"], ["&&"], ["==", "!=", "=~", "!~"], ["<", ">", "<=", ">="], ["+", "-"], ["*", "/", "%"]];

/** Parses expressions. @param resource parses a resource inside of a resource, after its keyword */
export function createExpressions(path: string, reader: TokenReader, resource: () => Resource): () => Expression {
  const { accept, expect, peek, skipNewlines, word } = reader;

  const expression = (): Expression => {
    const { line } = peek();
    const condition = binary(0);
    if (!reader.onNextLine("?")) return condition;
    expect("?");
    skipNewlines();
    const chosen = expression();
    skipNewlines();
    expect(":");
    skipNewlines();
    return { kind: "choice", line, condition, yes: chosen, no: expression() };
  };

  const binary = (level: number): Expression => {
    const operators = levels[level];
    if (operators === undefined) return unary();
    let left = binary(level + 1);
    for (;;) {
      const { line } = peek();
      const operator = operators.find(each => accept(each));
      if (operator === undefined) return left;
      skipNewlines();
      left = { kind: "binary", line, operator, left, right: binary(level + 1) };
    }
  };

  const unary = (): Expression => {
    const { line } = peek();
    for (const operator of ["!", "-", "+"]) {
      if (accept(operator)) return { kind: "unary", line, operator, of: unary() };
    }
    return suffixed(primary());
  };

  const suffixed = (start: Expression): Expression => {
    let of = start;
    for (;;) {
      const { line } = peek();
      if (accept(".")) {
        const name = word();
        // A function of a namespace, as in sys.guid().
        if (reader.is("(") && of.kind === "name") of = { kind: "call", line, name: `${of.name}.${name}`, args: args() };
        else of = { kind: "member", line, of, name, safe: false };
      } else if (accept(".?")) of = { kind: "member", line, of, name: word(), safe: true };
      else if (accept("::")) of = { kind: "nested", line, of, name: word() };
      else if (accept("!")) of = { kind: "surely", line, of };
      else if (accept("[")) {
        const index = expression();
        expect("]");
        of = { kind: "index", line, of, index };
      } else return of;
    }
  };

  const args = (): readonly Expression[] => {
    const found: Expression[] = [];
    expect("(");
    for (skipNewlines(); !accept(")"); skipNewlines()) {
      found.push(expression());
      skipNewlines();
      if (!reader.is(")")) expect(",");
    }
    return found;
  };

  const primary = (): Expression => {
    const token = peek();
    const { line } = token;
    if (token.kind === "number") return { kind: "literal", line, value: Number(expect("number").text) };
    if (token.kind === "text") return textOf(expect("text"));
    if (accept("(")) return lambdaOrGroup(line);
    if (accept("[")) return arrayOrLoop(line);
    if (accept("{")) return object(line);
    const name = word();
    if (name === "true" || name === "false") return { kind: "literal", line, value: name === "true" };
    if (name === "null") return { kind: "literal", line, value: null };
    if (accept("=>")) return { kind: "lambda", line, params: [name], body: expression() };
    if (reader.is("(")) return { kind: "call", line, name, args: args() };
    return { kind: "name", line, name };
  };

  /** After the parenthesis: `(a, b) => …` or `(…)`. */
  const lambdaOrGroup = (line: number): Expression => {
    let ahead = 0;
    while (peek(ahead).kind === "word" || reader.is(",", peek(ahead))) ahead++;
    if (reader.is(")", peek(ahead)) && reader.is("=>", peek(ahead + 1))) {
      const params: string[] = [];
      while (!accept(")")) {
        params.push(word());
        accept(",");
      }
      expect("=>");
      return { kind: "lambda", line, params, body: expression() };
    }
    skipNewlines();
    const inner = expression();
    skipNewlines();
    expect(")");
    return inner;
  };

  const arrayOrLoop = (line: number): Expression => {
    skipNewlines();
    if (reader.acceptWord("for")) {
      const paired = accept("(");
      const item = word();
      const position = paired && accept(",") ? word() : undefined;
      if (paired) expect(")");
      if (word() !== "in") throw reader.fault("`in` is wanted");
      const over = expression();
      expect(":");
      const body = expression();
      skipNewlines();
      expect("]");
      return { kind: "loop", line, item, position, over, body };
    }
    const items: Expression[] = [];
    while (!accept("]")) {
      items.push(expression());
      if (!accept(",") && !reader.is("]")) expect("newline");
      skipNewlines();
    }
    return { kind: "array", line, items };
  };

  const object = (line: number): Expression => {
    const properties: Property[] = [];
    const resources: Resource[] = [];
    for (skipNewlines(); !accept("}"); skipNewlines()) {
      if (peek().kind === "word" && peek().text === "resource" && peek(1).kind === "word") {
        word();
        resources.push(resource());
      } else {
        properties.push(property());
      }
      if (!accept(",") && !reader.is("}")) expect("newline");
    }
    const keys = properties.map(({ key }) => key).filter(key => typeof key === "string");
    const twice = keys.find((key, position) => keys.indexOf(key) !== position);
    if (twice !== undefined) throw reader.fault(`${twice} is given twice`);
    return { kind: "object", line, properties, resources };
  };

  const property = (): Property => {
    const { kind, line } = peek();
    const quoted = kind === "text";
    const text = quoted ? textOf(expect("text")) : undefined;
    const [first] = text?.kind === "text" ? text.parts : [];
    const plain = text?.kind === "text" && text.parts.length === 1 && typeof first === "string" ? first : undefined;
    const key = text === undefined ? word() : (plain ?? text);
    expect(":");
    return { key, quoted, line, value: expression() };
  };

  const textOf = (token: Token): Expression => ({
    kind: "text",
    line: token.line,
    multiLine: token.text === "'''",
    parts: token.parts
      .filter((part, position) => part !== "" || (position === 0 && token.parts.length === 1))
      .map(part => {
        if (typeof part === "string") return part;
        const inner = tokenReader(part, path);
        const value = createExpressions(path, inner, resource)();
        inner.expect("end");
        return value;
      }),
  });

  return expression;
}
