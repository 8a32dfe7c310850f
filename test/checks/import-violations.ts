import { posix } from "node:path";
import type { Zone } from "./import-table.ts";
import { layerViolations } from "./layers.ts";
import { type ModuleFacts, packageOf, readModule, type Taken } from "./read-module.ts";

export interface Rules {
  readonly table: readonly Zone[];
  /** The only deployed file that may read environment, clock or randomness. */
  readonly taking: Readonly<Record<Taken, string>>;
}

/**
 * Returns one sentence for each import that the table does not allow.
 * @param files source by path from the project's root
 */
export function importViolations(files: ReadonlyMap<string, string>, rules: Rules): string[] {
  const modules = new Map([...files].map(([path, source]) => [path, readModule(path, source)]));
  return [
    ...[...modules].flatMap(([path, facts]) => {
      const zone = zoneOf(path, rules.table);
      if (zone === undefined) return [`${path} belongs to no zone`];
      return [
        ...wrongImports(path, facts, zone, { files, table: rules.table }),
        ...wrongTakings(path, facts, zone, rules.taking),
      ];
    }),
    ...cycles(modules),
    ...layerViolations(targetsOf(modules)),
  ];
}

/** Returns the zone of a path; undefined if no zone contains it. */
export const zoneOf = (path: string, table: readonly Zone[]): Zone | undefined =>
  table.find(({ folder }) => {
    const [root = "", ending] = folder.split("/**/*");
    if (ending !== undefined) return path.startsWith(`${root}/`) && path.endsWith(ending);
    return folder.endsWith("/*.ts") ? posix.dirname(path) === posix.dirname(folder) : path.startsWith(`${folder}/`);
  });

function wrongImports(
  path: string,
  { imports }: ModuleFacts,
  zone: Zone,
  { files, table }: { files: ReadonlyMap<string, string>; table: readonly Zone[] },
): string[] {
  return imports.flatMap(specifier => {
    if (specifier === undefined) return zone.deployed ? [`${path} imports a name that is computed at run time`] : [];
    const target = resolved(path, specifier);
    if (target === undefined) {
      const name = packageOf(specifier);
      return zone.packages.some(allowed => matches(name, allowed))
        ? []
        : [`${path} (${zone.name}) imports package ${name}`];
    }
    if (target.endsWith(".json")) return zone.deployed ? [`${path} imports ${target}, which is not deployed`] : [];
    if (!files.has(target)) return [`${path} imports ${target}, which does not exist`];
    const other = zoneOf(target, table)?.name ?? "no zone";
    const allowed = other === zone.name || zone.zones.includes("*") || zone.zones.includes(other);
    return allowed ? [] : [`${path} (${zone.name}) imports ${target} (${other})`];
  });
}

const matches = (name: string, allowed: string): boolean =>
  allowed.endsWith("*") ? name.startsWith(allowed.slice(0, -1)) : name === allowed;

const wrongTakings = (path: string, { takes }: ModuleFacts, zone: Zone, taking: Rules["taking"]): string[] =>
  zone.deployed
    ? takes.filter(taken => taking[taken] !== path).map(taken => `${path} takes the ${taken}, which is passed in`)
    : [];

const targetsOf = (modules: ReadonlyMap<string, ModuleFacts>): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...modules].map(([path, { imports }]) => [
      path,
      imports.flatMap(specifier => (specifier === undefined ? undefined : resolved(path, specifier)) ?? []),
    ]),
  );

const resolved = (path: string, specifier: string): string | undefined =>
  specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined;

/** Returns each cycle of imports once, from the first file that was visited. */
function cycles(modules: ReadonlyMap<string, ModuleFacts>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    if (trail.includes(path)) found.push(`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(" -> ")}`);
    if (done.has(path)) return;
    done.add(path);
    trail.push(path);
    for (const specifier of modules.get(path)?.imports ?? []) {
      const target = specifier === undefined ? undefined : resolved(path, specifier);
      if (target !== undefined) visit(target);
    }
    trail.pop();
  };
  for (const path of modules.keys()) visit(path);
  return found;
}
