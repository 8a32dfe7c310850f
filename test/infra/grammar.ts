import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Language, type Node, Parser } from "web-tree-sitter";

/**
 * Finds syntax faults by a grammar that is not ours: a second opinion beside the parser of these tests. It is asked nothing else, because
 * it reads `a == b.c` as `(a == b).c`.
 */
export async function openGrammar(): Promise<(source: string) => readonly string[]> {
  await Parser.init();
  const home = dirname(createRequire(import.meta.url).resolve("tree-sitter-bicep/package.json"));
  const parser = new Parser();
  parser.setLanguage(await Language.load(join(home, "tree-sitter-bicep.wasm")));
  return source => {
    const tree = parser.parse(source);
    if (tree === null) return ["nothing was parsed"];
    const faults = faultsIn(tree.rootNode);
    tree.delete();
    return faults;
  };
}

function faultsIn(node: Node): readonly string[] {
  if (!node.hasError) return [];
  const here = node.isError || node.isMissing ? [`${node.startPosition.row + 1}: ${node.text.slice(0, 60)}`] : [];
  return [...here, ...node.children.flatMap(child => (child === null ? [] : faultsIn(child)))];
}
