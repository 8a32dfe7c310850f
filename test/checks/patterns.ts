import { parseSync, Visitor } from "oxc-parser";

export interface Pattern {
  readonly source: string;
  readonly flags: string;
}

/** Returns every regular expression of a module. One that is built from text has no `source` before it runs: it is `undefined`. */
export function patternsIn(path: string, module: string): readonly (Pattern | undefined)[] {
  const { program } = parseSync(path, module);
  const found: (Pattern | undefined)[] = [];
  const built = ({ callee }: { readonly callee: object }) => {
    if ("name" in callee && callee.name === "RegExp") found.push(undefined);
  };
  new Visitor({
    Literal(node) {
      if ("regex" in node) found.push({ source: node.regex.pattern, flags: node.regex.flags });
    },
    NewExpression: built,
    CallExpression: built,
  }).visit(program);
  return found;
}
