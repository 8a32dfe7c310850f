import { expressionsOf, inside, namesIn, propertyOf, resourcesOf } from "../bicep/walk.ts";
import { at, type Rule } from "./rule.ts";

const used = (file: Parameters<Rule>[0]): ReadonlySet<string> =>
  new Set(
    [...expressionsOf(file)].flatMap(({ expression, bound }) =>
      expression.kind === "name" && !bound.includes(expression.name) ? [expression.name] : [],
    ),
  );

/** Rules on what is declared, and by which name. */
export const nameRules: Readonly<Record<string, Rule>> = {
  "no-unused-params": file => {
    const names = used(file);
    return file.declarations
      .filter(({ kind, name }) => kind === "param" && !names.has(name))
      .map(each => at(each, `the parameter ${each.name} is never used`));
  },

  "no-unused-vars": file => {
    const names = used(file);
    return file.declarations
      .filter(each => each.kind === "var" && !names.has(each.name))
      .map(each => at(each, `${each.name} is never used`));
  },

  "no-unused-existing-resources": file => {
    const names = used(file);
    return file.declarations
      .filter(each => each.kind === "resource" && each.existing && !names.has(each.name))
      .map(each => at(each, `the existing resource ${each.name} is never used`));
  },

  /** Ours: an administrator reads nothing else of a parameter. */
  described: file => {
    const wanted = ({ kind }: { kind: string }) => kind === "param" || kind === "output";
    return file.declarations
      .filter(each => wanted(each) && !each.decorators.some(({ name }) => name === "description"))
      .map(each => at(each, `${each.name} has no description`));
  },

  "no-conflicting-metadata": file =>
    file.declarations
      .filter(({ decorators }) => decorators.some(({ name }) => name === "description"))
      .filter(({ decorators }) =>
        decorators.some(
          ({ name, args: [given] }) =>
            name === "metadata" && given !== undefined && propertyOf(given, "description") !== undefined,
        ),
      )
      .map(each => at(each, `${each.name} is described twice`)),

  "use-parent-property": file =>
    resourcesOf(file).flatMap(each => {
      const name = propertyOf(each.body, "name");
      const slashed = name?.kind === "text" && name.parts.some(part => typeof part === "string" && part.includes("/"));
      return slashed ? [at(each, `${each.name} names its parent in its name`)] : [];
    }),

  /** BCP179: each turn of a loop would make the same resource. */
  "loop-names": file =>
    [...resourcesOf(file)].flatMap(each => {
      const { body } = each;
      if (body.kind !== "loop") return [];
      const places = ["name", "parent", "scope"].flatMap(name => propertyOf(body, name) ?? []);
      const names = new Set(places.flatMap(place => namesIn(place, each)));
      const own = [body.item, body.position].filter(name => name !== undefined);
      return own.some(name => names.has(name)) ? [] : [at(each, `${each.name} does not name the item of its loop`)];
    }),

  "no-unnecessary-dependson": file =>
    file.declarations.flatMap(each => {
      if (each.kind !== "resource" && each.kind !== "module") return [];
      const body = each.body.kind === "loop" ? each.body.body : each.body;
      const listed = propertyOf(body, "dependsOn");
      if (body.kind !== "object" || listed?.kind !== "array") return [];
      const others = body.properties
        .filter(({ key }) => key !== "dependsOn")
        .flatMap(({ value }) => namesIn(value, each));
      return listed.items
        .filter(item => item.kind === "name" && others.includes(item.name))
        .map(item => at(item, `${each.name} depends on it anyway`));
    }),

  "max-declarations": file => {
    const most = { param: 256, var: 512, output: 64, resource: 800 } as const;
    return Object.entries(most).flatMap(([kind, limit]) => {
      const count = file.declarations.filter(each => each.kind === kind).length;
      return count > limit ? [`1: ${count} of ${kind}, at most ${limit}`] : [];
    });
  },

  "no-deployments-resources": file =>
    resourcesOf(file)
      .filter(({ type }) => type === "Microsoft.Resources/deployments")
      .map(each => at(each, `${each.name} is a deployment; use a module`)),

  /** BCP318: what a condition left out has no outputs. */
  "conditional-access": file => {
    const conditional = new Set(
      file.declarations
        .filter(each => (each.kind === "module" || each.kind === "resource") && each.condition !== undefined)
        .map(({ name }) => name),
    );
    return [...expressionsOf(file)].flatMap(({ expression, bound }) =>
      expression.kind === "member" &&
      !expression.safe &&
      expression.of.kind === "name" &&
      !bound.includes(expression.of.name) &&
      conditional.has(expression.of.name)
        ? [at(expression, `${expression.of.name} may not be there`)]
        : [],
    );
  },

  /** BCP247: a lambda cannot choose among resources. */
  "lambda-index": file => {
    const loops = new Set(
      file.declarations
        .filter(each => (each.kind === "module" || each.kind === "resource") && each.body.kind === "loop")
        .map(({ name }) => name),
    );
    return [...expressionsOf(file)].flatMap(met => {
      if (met.expression.kind !== "lambda") return [];
      const { params, body } = met.expression;
      return [...inside(body, { ...met, bound: [] })].flatMap(({ expression }) =>
        expression.kind === "index" &&
        expression.of.kind === "name" &&
        loops.has(expression.of.name) &&
        namesIn(expression.index, met.declaration).some(name => params.includes(name))
          ? [at(expression, `a lambda chooses among ${expression.of.name}`)]
          : [],
      );
    });
  },
};
