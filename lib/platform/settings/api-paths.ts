import type { Problem } from "../fault.ts";
import { trimEnd } from "../text.ts";
import type { Environment } from "./read-settings.ts";
import { type Setting, setting } from "./setting.ts";

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

/** Returns the setting of a path prefix: segments without slashes at the ends, empty for no prefix (G2). */
export const pathSetting = (description: string): Setting<string> =>
  setting
    .text(description)
    .transform(text => trimEnd(text.replace(/^\/+/, ""), "/"))
    .refine(
      text => /^[A-Za-z0-9._~-]*(\/[A-Za-z0-9._~-]+)*$/.test(text),
      "must be path segments of letters, digits, . _ ~ -",
    )
    .refine(
      text => !text.split("/").some(segment => segment === "." || segment === ".."),
      "must not have . or .. as a segment: a URL removes it",
    )
    .refine(
      text => !/^(?:admin|runtime)/i.test(text),
      "must not begin with admin or runtime: the Functions host reserves these routes",
    );

const pathNames = { core: "CORE_PATH", client: "CLIENT_PATH", connector: "CONNECTOR_PATH" } as const;

interface PathSettings {
  readonly SERVICE_APIS?: readonly ApiName[];
  readonly CORE_PATH?: string;
  readonly CLIENT_PATH?: string;
  readonly CONNECTOR_PATH?: string;
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
 * Returns the problems of the paths of served APIs: two that are equal or nested in each other, reported for the later
 * one, and one that begins as routes of another API without a path prefix do. Ignores letter case, as the host does.
 */
export function pathProblems({ SERVICE_APIS = [], ...settings }: PathSettings): readonly Problem[] {
  const paths = apiNames.flatMap(api => {
    const name = pathNames[api];
    const path = settings[name]?.toLowerCase();
    return path === undefined || !SERVICE_APIS.includes(api) ? [] : [{ api, name, path }];
  });
  const problem = (path: string, what: string) => [{ path, reason: `must not ${what}` }];
  const pairs = paths.flatMap((one, index) => paths.map((other, at) => ({ one, other, isLater: index > at })));
  return pairs.flatMap(({ one: { name, path }, other, isLater }) => {
    if (isLater && clash(path, other.path)) return problem(name, `equal, contain or be contained in ${other.name}`);
    const [first = ""] = path.split("/");
    const isBelow = other.path === "" && firstSegments[other.api].includes(first);
    return isBelow ? problem(name, `begin with ${first}: routes of ${other.name} do`) : [];
  });
}

const clash = (a: string, b: string): boolean =>
  a === b || (a !== "" && b !== "" && (`${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`)));
