import type { Expression, Type } from "./ast.ts";
import type { TokenReader } from "./token-reader.ts";

const primitives = new Set(["string", "int", "bool", "object", "array"]);

/** Parses types: primitives, literal values, `a | b`, `t[]`, `t?`, names. */
export function createTypes(reader: TokenReader, expression: () => Expression): () => Type {
  const single = (): Type => {
    const token = reader.peek();
    if (token.kind === "word" && !["true", "false", "null"].includes(token.text)) {
      const name = reader.word();
      return primitives.has(name) ? { kind: "primitive", name } : { kind: "named", name };
    }
    if (reader.accept("(")) {
      const inner = type();
      reader.expect(")");
      return inner;
    }
    const value = expression();
    if (value.kind === "literal") return { kind: "value", value: value.value };
    if (value.kind === "text" && value.parts.every(part => typeof part === "string")) {
      return { kind: "value", value: value.parts.join("") };
    }
    throw reader.fault("a type is wanted");
  };

  const suffixed = (): Type => {
    let found = single();
    for (;;) {
      if (reader.is("[") && reader.is("]", reader.peek(1))) {
        reader.expect("[");
        reader.expect("]");
        found = { kind: "list", of: found };
      } else if (reader.accept("?")) found = { kind: "maybe", of: found };
      else return found;
    }
  };

  const type = (): Type => {
    const types = [suffixed()];
    while (reader.accept("|")) types.push(suffixed());
    const [only] = types;
    return types.length === 1 && only !== undefined ? only : { kind: "either", types };
  };
  return type;
}
