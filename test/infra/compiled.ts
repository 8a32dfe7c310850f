import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { Compiler } from "../../local/checks/bicep-compiler.ts";
import { azdParameters } from "./azd/parameters.ts";
import { byHand, type CaseName, cases, sample } from "./cases.ts";
import { isObject, type Json, patchOf, write } from "./json.ts";

/** Names of all snapshots. */
export const snapshotNames = [
  ...(Object.keys(cases) as CaseName[]),
  ...(Object.keys(byHand) as (keyof typeof byHand)[]),
];

/** The variables of a stage. */
export const stageVariables = (path: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...readFileSync(path, "utf8").matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(([, name = "", value = ""]) => [
      name,
      value,
    ]),
  );

/**
 * Returns the texts of the snapshots by name: what the compiler says that Azure would be sent. The snapshot `base` has every
 * resource by its id, the others of main.bicep the JSON Merge Patch from that one.
 */
export async function snapshotTexts(compiler: Compiler): Promise<ReadonlyMap<string, string>> {
  const { parameters: declarations } = JSON.parse((await compiler.compile("infra/main.bicep")).template);
  const directory = mkdtempSync(join(tmpdir(), "snapshots-"));
  const snapshotOf = async (template: string, parameters: Json) => {
    const path = join(directory, "parameters.bicepparam");
    const lines = Object.entries(parameters).map(
      ([name, value]) => `param ${name} = json('${quoted(JSON.stringify(value))}')`,
    );
    const using = relative(directory, join("infra", template)).replaceAll("\\", "/");
    writeFileSync(path, [`using '${using}'`, ...lines, ""].join("\n"));
    const { predictedResources, outputs } = JSON.parse(await compiler.snapshot(path));
    const resources = (predictedResources as readonly Json[]).map(({ id, ...resource }) => [id, resource]);
    // The compiler writes outputs in another order in each run.
    return { resources: Object.fromEntries(resources), outputs: Object.fromEntries(Object.entries(outputs).sort()) };
  };
  try {
    const texts = new Map<string, string>();
    let base: Json | undefined;
    for (const [name, more] of Object.entries(cases)) {
      const variables = typeof more === "string" ? stageVariables(more) : more;
      const snapshot = await snapshotOf("main.bicep", azdParameters({ ...sample, ...variables }, declarations));
      texts.set(name, text(base === undefined ? snapshot : patchOf(base, snapshot)));
      base ??= snapshot;
    }
    for (const [template, parameters] of Object.entries(byHand)) {
      texts.set(template, text(await snapshotOf(template, parameters)));
    }
    return texts;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const text = (snapshot: unknown): string => `${write(snapshot, 2_000)}\n`;

const quoted = (value: string): string =>
  value
    .replaceAll("\\", "\\\\")
    .replaceAll("'", "\\'")
    .replaceAll("$" + "{", "\\$" + "{");

/**
 * Returns what a snapshot lacks, from the compiled templates: parameters and outputs by template, and for every resource and module,
 * by the way to it, what it waits for and how its loop runs. The rest of a compiled template is in the snapshots as well.
 */
export function outlineText(compiled: ReadonlyMap<string, string>): string {
  const templates = [...compiled].map(([name, source]) => [name, JSON.parse(source)] as const);
  const outline = Object.fromEntries(
    templates.map(([name, { parameters = {}, outputs = {}, ...template }]) => [
      name,
      {
        parameters: mapped(parameters, withoutMetadata),
        outputs: mapped(outputs, ({ type }) => type),
        secure: secureParameters(template),
        order: orderOf(template),
      },
    ]),
  );
  return `${write(outline, 160)}\n`;
}

const mapped = (object: Json, change: (value: Json) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value as Json)]));

const withoutMetadata = ({ metadata: _, ...rest }: Json): Json => rest;

/** The templates of modules by the way to them. */
const modulesOf = (template: Json, way = ""): readonly (readonly [string, Json])[] =>
  Object.entries(template.resources as Json).flatMap(([name, resource]) => {
    const properties = isObject(resource) && isObject(resource.properties) ? resource.properties : {};
    if (!isObject(properties.template)) return [];
    return [[way + name, properties.template] as const, ...modulesOf(properties.template, `${way}${name}/`)];
  });

const secureParameters = (template: Json): Json =>
  Object.fromEntries(
    modulesOf(template).flatMap(([way, { parameters = {} }]) => {
      const names = Object.entries(parameters as Json)
        .filter(([, value]) => isSecure(value))
        .map(([name]) => name);
      return names.length === 0 ? [] : [[way, names]];
    }),
  );

const isSecure = (parameter: unknown): boolean => isObject(parameter) && /^secure/i.test(String(parameter.type));

function orderOf(template: Json): Json {
  const parts = [["", template] as const, ...modulesOf(template).map(([way, inner]) => [`${way}/`, inner] as const)];
  return Object.fromEntries(
    parts.flatMap(([way, { resources }]) =>
      Object.entries(resources as Readonly<Record<string, Json>>)
        .filter(([, { existing }]) => existing !== true)
        .map(([symbol, { type, name, dependsOn, copy, "@options": options }]) => [
          way + symbol,
          {
            type,
            name: type === "Microsoft.Resources/deployments" ? name : undefined,
            dependsOn: Array.isArray(dependsOn) ? dependsOn.toSorted() : undefined,
            loop: isObject(copy) ? { mode: copy.mode, batchSize: copy.batchSize } : undefined,
            options,
          },
        ]),
    ),
  );
}
