import type { BicepFile, Declaration } from "./ast.ts";
import { namesIn } from "./walk.ts";

/**
 * Returns what each resource and module of a template waits for, itself excluded: what it names, by variables too, what `dependsOn`
 * lists, and what these wait for.
 */
export function dependenciesOf(file: BicepFile): ReadonlyMap<string, ReadonlySet<string>> {
  const declared = new Map(file.declarations.filter(({ kind }) => kind !== "output").map(each => [each.name, each]));
  const deployed = [...declared.values()].filter(({ kind }) => kind === "resource" || kind === "module");
  return new Map(
    deployed.map(({ name }) => {
      const found = new Set<string>();
      const open = [name];
      for (let next = open.pop(); next !== undefined; next = open.pop()) {
        const names = namedBy(declared.get(next)).filter(each => declared.has(each) && !found.has(each));
        for (const each of names) found.add(each);
        open.push(...names);
      }
      return [name, new Set([...found].filter(each => each !== name && deployed.some(other => other.name === each)))];
    }),
  );
}

function namedBy(declaration: Declaration | undefined): readonly string[] {
  switch (declaration?.kind) {
    case "var":
      return namesIn(declaration.value, declaration);
    case "resource":
    case "module": {
      const { body, condition } = declaration;
      return [body, ...(condition === undefined ? [] : [condition])].flatMap(each => namesIn(each, declaration));
    }
    default:
      return [];
  }
}
