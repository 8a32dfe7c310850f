import type { BicepFile, Declaration } from "./bicep/ast.ts";
import { namesIn, propertyOf } from "./bicep/walk.ts";

type Files = ReadonlyMap<string, BicepFile>;

/**
 * Returns a sentence for each parameter that ends in a secret of a vault and is not secure: the compiler knows secrets only by the
 * sound of their names. A parameter that is not secure is kept in the history of deployments for every reader.
 */
export function secretFaults(files: Files): readonly string[] {
  const faults = new Set<string>();
  for (const [path, file] of files)
    for (const name of secretParams(file, path, files)) {
      const param = file.declarations.find(each => each.kind === "param" && each.name === name);
      if (!param?.decorators.some(each => each.name === "secure")) faults.add(`${path}: ${name} is not secure`);
    }
  return [...faults];
}

/** Returns the parameters of a template that become the value of a secret, there or in a module of it. */
function secretParams(file: BicepFile, path: string, files: Files): readonly string[] {
  const isParam = (name: string) => file.declarations.some(each => each.kind === "param" && each.name === name);
  return file.declarations.flatMap(each => secretNames(each, path, files)).filter(isParam);
}

function secretNames(declaration: Declaration, path: string, files: Files): readonly string[] {
  if (declaration.kind === "resource" && declaration.type === "Microsoft.KeyVault/vaults/secrets") {
    const properties = propertyOf(declaration.body, "properties");
    const value = properties && propertyOf(properties, "value");
    return value === undefined ? [] : namesIn(value, declaration);
  }
  if (declaration.kind !== "module") return [];
  const target = path.includes("/") ? `modules/${declaration.path}` : declaration.path;
  const module = files.get(target);
  const params = propertyOf(declaration.body, "params");
  if (module === undefined || params === undefined) return [];
  return secretParams(module, target, files).flatMap(name => {
    const given = propertyOf(params, name);
    return given === undefined ? [] : namesIn(given, declaration);
  });
}
