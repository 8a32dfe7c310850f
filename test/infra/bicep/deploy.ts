import { posix } from "node:path";
import { BicepFault, type BicepFile, type Declaration, type Expression, type Module, type Resource } from "./ast.ts";
import { misfit, outOfBounds } from "./conforms.ts";
import { evaluate, loopNames, type Scope, withNames } from "./evaluate.ts";
import { groupFunctions, isObject, pathOf, place } from "./functions.ts";

type Values = Readonly<Record<string, unknown>>;

/** A resource as it would be sent to Azure. */
export interface Deployed {
  readonly file: string;
  readonly line: number;
  readonly symbol: string;
  readonly type: string;
  readonly version: string;
  /** Names of all levels, joined by slashes. */
  readonly name: string;
  readonly id: string;
  /** Without parent, scope and dependsOn. */
  readonly body: Values;
  readonly existing: boolean;
  readonly onlyIfNotExists: boolean;
  /** The modules that lead to it, from main. */
  readonly way: readonly string[];
}

export interface Deployment {
  readonly resources: readonly Deployed[];
  readonly outputs: Values;
}

export interface Azure {
  /** Every template by its path. */
  readonly files: ReadonlyMap<string, BicepFile>;
  /** Other files that templates load. */
  readonly text: (path: string) => string;
  /** Returns what Azure adds to a deployed resource: `properties` and more. */
  readonly propertiesOnceDeployed: (resource: Omit<Deployed, "body"> & { readonly body: Values }) => Values;
}

/**
 * Works a template out with its modules: every resource and output for these parameters. Throws BicepFault.
 * @param group id of the resource group
 */
export function deploy(
  path: string,
  given: Values,
  azure: Azure,
  way: readonly string[] = [],
  group = place.group,
): Deployment {
  const file = fileAt(path, azure);
  const named = new Map(
    file.declarations.filter(({ kind }) => kind !== "output" && kind !== "metadata").map(each => [each.name, each]),
  );
  const resources: Deployed[] = [];
  const known = new Map<string, unknown>();
  const open: string[] = [];
  const fault = (line: number, message: string) => new BicepFault(`${path}:${line}: ${message}`);

  const loaded = (name: unknown) => azure.text(posix.join(posix.dirname(path), String(name)));
  const scope: Scope = {
    path,
    functions: {
      ...groupFunctions(group),
      loadTextContent: name => loaded(name),
      loadJsonContent: name => JSON.parse(loaded(name)),
    },
    lookup(name) {
      if (known.has(name)) return known.get(name);
      const declaration = named.get(name);
      if (declaration === undefined) throw new Error(`${name} is declared nowhere`);
      if (open.includes(name)) throw new Error(`a circle: ${[...open, name].join(" -> ")}`);
      open.push(name);
      const value = resultOf(declaration);
      open.pop();
      known.set(name, value);
      return value;
    },
  };

  const resultOf = (declaration: Declaration): unknown => {
    switch (declaration.kind) {
      case "param":
        return paramValue(declaration);
      case "var":
        return evaluate(declaration.value, scope);
      case "resource":
        return each(declaration.body, scope, (body, inside) => placed(declaration, body, inside, undefined));
      case "module":
        return each(declaration.body, scope, (body, inside, at) => moduleOf(declaration, body, inside, at));
      default:
        throw new Error(`${declaration.name} has no value`);
    }
  };

  const paramValue = (declaration: Declaration & { kind: "param" }): unknown => {
    const { name, line, type } = declaration;
    const value = Object.hasOwn(given, name)
      ? given[name]
      : declaration.default !== undefined
        ? evaluate(declaration.default, scope)
        : type.kind === "maybe"
          ? null
          : missing(line, name);
    const wrong = misfit(value, type) ?? outOfBounds(value, declaration);
    if (wrong !== undefined) throw fault(line, `parameter ${name}: ${wrong}`);
    return value;
  };

  const missing = (line: number, name: string): never => {
    throw fault(line, `parameter ${name} is not given`);
  };

  /** A resource or module, or one for each item of its loop. */
  const each = (
    body: Expression,
    inside: Scope,
    make: (body: Expression, inside: Scope, at: number | undefined) => unknown,
  ): unknown => {
    if (body.kind !== "loop") return make(body, inside, undefined);
    const over = evaluate(body.over, inside);
    if (!Array.isArray(over)) throw fault(body.line, "a loop goes over an array");
    return over.map((item, at) => make(body.body, withNames(inside, loopNames(body, item, at)), at));
  };

  const placed = (declared: Resource, body: Expression, inside: Scope, outer: Deployed | undefined): unknown => {
    if (body.kind !== "object") throw fault(declared.line, "a resource is an object");
    const wanted = declared.condition === undefined || evaluate(declared.condition, inside) === true;
    const { parent: named, scope: on, dependsOn, ...written } = propertiesOf(body, inside);
    void dependsOn;
    const parent = outer ?? (isObject(named) ? (named["::self"] as Deployed) : undefined);
    if (typeof written.name !== "string") throw fault(declared.line, `${declared.name} has no name`);
    const type = outer === undefined ? declared.type : `${outer.type}/${declared.type}`;
    if (parent !== undefined && outer === undefined && !type.startsWith(`${parent.type}/`)) {
      throw fault(declared.line, `${declared.name} is no child of ${parent.type}`);
    }
    const name = parent === undefined ? written.name : `${parent.name}/${written.name}`;
    const holder = isObject(on) && typeof on.id === "string" ? on.id : group;
    const made: Deployed = {
      file: path,
      line: declared.line,
      symbol: declared.name,
      type,
      version: declared.version || (outer?.version ?? ""),
      name,
      id: `${holder}/providers/${pathOf(type, name.split("/"))}`,
      body: written,
      existing: declared.existing,
      onlyIfNotExists: declared.decorators.some(decorator => decorator.name === "onlyIfNotExists"),
      way,
    };
    if (wanted) resources.push(made);
    const nested = body.resources.map(inner => [
      `::${inner.name}`,
      each(inner.body, inside, (its, within) => placed(inner, its, within, made)),
    ]);
    const seen = azure.propertiesOnceDeployed(made);
    const properties = {
      ...(isObject(written.properties) && written.properties),
      ...(isObject(seen.properties) && seen.properties),
    };
    return {
      ...written,
      ...seen,
      properties,
      id: made.id,
      type,
      apiVersion: made.version,
      name: written.name,
      "::self": made,
      ...Object.fromEntries(nested),
    };
  };

  const propertiesOf = (body: Expression, inside: Scope): Values => {
    const value = evaluate(body, inside);
    if (!isObject(value)) throw fault(body.line, "an object is wanted");
    return value;
  };

  const moduleOf = (declared: Module, body: Expression, inside: Scope, at: number | undefined): unknown => {
    if (declared.condition !== undefined && evaluate(declared.condition, inside) !== true) return null;
    const target = posix.join(posix.dirname(path), declared.path);
    const { params = {}, dependsOn, scope: on, ...others } = propertiesOf(body, inside);
    void dependsOn;
    const unknown = Object.keys(others).find(name => name !== "name");
    if (unknown !== undefined) throw fault(declared.line, `a module has no ${unknown}`);
    if (!isObject(params)) throw fault(declared.line, "params is an object");
    const its = fileAt(target, azure).declarations.filter(({ kind }) => kind === "param");
    const undeclared = Object.keys(params).find(name => !its.some(param => param.name === name));
    if (undeclared !== undefined) throw fault(declared.line, `${target} has no parameter ${undeclared}`);
    const step = at === undefined ? declared.name : `${declared.name}[${at}]`;
    const inner = deploy(target, params, azure, [...way, step], isObject(on) ? String(on.id) : group);
    resources.push(...inner.resources);
    return { name: step, outputs: inner.outputs };
  };

  const outputs: Record<string, unknown> = {};
  for (const declaration of file.declarations) {
    if (declaration.kind === "output") {
      const value = evaluate(declaration.value, scope);
      const wrong = misfit(value, declaration.type);
      if (wrong !== undefined) throw fault(declaration.line, `output ${declaration.name}: ${wrong}`);
      outputs[declaration.name] = value;
    } else if (named.has(declaration.name) && declaration.kind !== "targetScope") scope.lookup(declaration.name);
  }
  const unknown = Object.keys(given).find(name => named.get(name)?.kind !== "param");
  if (unknown !== undefined) throw fault(1, `there is no parameter ${unknown}`);
  return { resources, outputs };
}

function fileAt(path: string, { files }: Azure): BicepFile {
  const file = files.get(path);
  if (file === undefined) throw new BicepFault(`${path} is not there`);
  return file;
}
