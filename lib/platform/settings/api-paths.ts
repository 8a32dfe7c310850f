import * as z from "zod";
import { trimEnd } from "../text.ts";
import type { Environment } from "./read-settings.ts";

export const apiNames = ["core", "client", "connector"] as const;

/** The name of one group of endpoints (G1). */
export type ApiName = (typeof apiNames)[number];

/**
 * Returns the APIs that `SERVICE_APIS` enables. Ignores unknown names, so that it also works while other settings are
 * invalid.
 */
export const enabledApis = (environment: Environment): readonly ApiName[] => {
  const names = (environment.SERVICE_APIS ?? "").split(",").map(name => name.trim());
  return apiNames.filter(api => names.includes(api));
};

const path = z
  .string()
  .transform(text => trimEnd(text.replace(/^\/+/, ""), "/"))
  .refine(text => /^[A-Za-z0-9._~-]*(\/[A-Za-z0-9._~-]+)*$/.test(text), {
    error: "must be path segments of letters, digits, . _ ~ -",
    abort: true,
  })
  .refine(text => !text.split("/").some(segment => segment === "." || segment === ".."), {
    error: "must not have . or .. as a segment: a URL removes it",
  })
  .refine(text => !/^(?:admin|runtime)/i.test(text), {
    error: "must not begin with admin or runtime: the Functions host reserves these routes",
  });

/** Returns the schema of a path prefix: segments without slashes at the ends, empty for no prefix (G2). */
export const pathSetting = (description: string) => path.meta({ description });

const pathNames = { core: "CORE_PATH", client: "CLIENT_PATH", connector: "CONNECTOR_PATH" } as const;

interface PathSettings {
  readonly SERVICE_APIS?: readonly ApiName[];
  readonly CORE_PATH?: string;
  readonly CLIENT_PATH?: string;
  readonly CONNECTOR_PATH?: string;
}

/**
 * Returns the problems of the paths of served APIs: two that clash, and one that begins as routes of another API do.
 */
export const pathProblems = (
  settings: PathSettings,
): readonly { readonly name: string; readonly message: string }[] => [
  ...clashingPaths(settings).map(([name, other]) => ({
    name,
    message: `must not equal, contain or be contained in ${other}`,
  })),
  ...pathsBelowRoutes(settings).map(([name, segment, other]) => ({
    name,
    message: `must not begin with ${segment}: routes of ${other} do`,
  })),
];

/** Returns the path settings of served APIs, without letter case, as the host compares them. */
const servedPaths = ({ SERVICE_APIS = [], ...settings }: PathSettings) =>
  apiNames
    .filter(api => SERVICE_APIS.includes(api))
    .map(api => ({ api, name: pathNames[api], path: (settings[pathNames[api]] ?? "").toLowerCase() }));

/** Returns pairs of path settings (later, earlier) of served APIs whose paths are equal or nested in each other. */
function clashingPaths(settings: PathSettings): (readonly [string, string])[] {
  const paths = servedPaths(settings);
  const clash = (a: string, b: string) =>
    a === b || (a !== "" && b !== "" && (`${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`)));
  return paths.flatMap(({ name, path }, index) =>
    paths.slice(0, index).flatMap(earlier => (clash(path, earlier.path) ? [[name, earlier.name] as const] : [])),
  );
}

/**
 * First segments of routes with several segments: without a path prefix, another API below one of them could have the
 * same routes.
 */
const firstSegments: Readonly<Record<ApiName, readonly string[]>> = {
  core: ["users", "user", "otpkeys", "api-tokens"],
  client: [],
  connector: ["v1", "v2", "api-tokens"],
};

/**
 * Returns path settings that begin as routes of an API without a path prefix do, with the segment and the setting of
 * that API.
 */
function pathsBelowRoutes(settings: PathSettings): (readonly [string, string, string])[] {
  const paths = servedPaths(settings);
  const atRoot = paths.filter(({ path }) => path === "");
  return paths.flatMap(({ name, path }) => {
    const [first = ""] = path.split("/");
    return atRoot
      .filter(({ api }) => firstSegments[api].includes(first))
      .map(root => [name, first, root.name] as const);
  });
}
