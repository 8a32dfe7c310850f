import * as z from "zod";
import { readIdpFile } from "../../../lib/connector/idp/idp-file.ts";
import { type IdpConfigurations, type IdpSettings, idpSettings } from "../../../lib/connector/idp/kinds.ts";
import { secretHostProblems, withoutLoopback } from "../../../lib/connector/idp/secret-hosts.ts";
import { type IdpVariable, idpVariables } from "../../../lib/connector/idp-variables.ts";
import { type ConnectorSettings, connectorSettings } from "../../../lib/connector/settings.ts";
import { deploymentSettings } from "../../../lib/deployment-settings.ts";
import type { Problem } from "../../../lib/fault.ts";
import { BadSettings, type Environment, isLocalHost, validSettings } from "../../../lib/settings.ts";
import { type IdpFilePlace, idpFilePlace, readAtStart } from "./idp-file.ts";

/** What a deployment is told of its IdPs. */
export interface IdpPlan {
  /** Absent where the file is yet to be read. */
  readonly known?: IdpConfigurations;
  /** Absent where there is one IdP, by the environment. */
  readonly place?: IdpFilePlace;
  /** Hosts that secrets of IdPs may be sent to. */
  readonly secretHosts: readonly string[];
}

/**
 * The IdPs of a deployment, as far as they are to be told at the start (decision C13). Reads of the environment what is well set,
 * whatever else is wrong with it. Throws BadSettings that names the variables, and the keys of the file.
 */
export function idpPlan(environment: Environment): IdpPlan {
  const told = validSettings(connectorSettings, environment);
  const { CLOUD_TENANT_ID, CLOUD_STORAGE_BLOB_ENDPOINT } = validSettings(deploymentSettings, environment);
  const { IDP_SECRET_HOSTS = [] } = told;
  const secretHosts = isLocalHost(environment) ? IDP_SECRET_HOSTS : withoutLoopback(IDP_SECRET_HOSTS);
  if (told.IDP_ENABLE_MULTI_IDP === undefined) return { secretHosts };
  if (told.IDP_ENABLE_MULTI_IDP) return { ...severalIdps(told, secretHosts, CLOUD_STORAGE_BLOB_ENDPOINT), secretHosts };
  const type = kindOf(environment);
  const tenant = type === "entra" ? { "tenant-id": CLOUD_TENANT_ID } : {};
  const given = Object.entries(idpVariables[type])
    .map(([name, variable]) => [name, told[variable]] as const)
    .filter(([, value]) => value !== undefined);
  const result = idpSettings.safeParse({ type, ...tenant, ...Object.fromEntries(given) });
  if (result.success) {
    const problems = secretHostProblems(result.data, secretHosts);
    if (problems.length === 0) return { known: new Map([[told.IDP_DEFAULT ?? "", result.data]]), secretHosts };
    const variables = idpVariables[type];
    throw new BadSettings(problems.map(({ path, reason }) => ({ path: variables[path] ?? path, reason })));
  }
  throw new BadSettings(result.error.issues.flatMap(issue => problemsOf(issue, type, environment)));
}

function severalIdps(
  told: Partial<ConnectorSettings>,
  secretHosts: readonly string[],
  blobEndpoint: string | undefined,
): Omit<IdpPlan, "secretHosts"> {
  const { IDP_CONFIGURATION_PATH: path, IDP_DEFAULT: defaultId } = told;
  const wrong = (reason: string) => new BadSettings([{ path: "IDP_CONFIGURATION_PATH", reason }]);
  if (path === undefined) throw wrong("must be set with IDP_ENABLE_MULTI_IDP");
  const place = idpFilePlace(path, blobEndpoint);
  if (place === undefined) throw wrong("must be a path, or a blob's address under CLOUD_STORAGE_BLOB_ENDPOINT");
  if ("blob" in place || defaultId === undefined) return { place };
  const bytes = readAtStart(place.path);
  if (bytes === undefined) return { place };
  if (typeof bytes === "string") throw wrong(bytes);
  const { idps, problems } = readIdpFile(bytes, defaultId, secretHosts);
  if (problems !== undefined) throw new BadSettings(problems);
  return { known: idps, place };
}

/** A variable that is set, and yet was not to be read, is told with all the others. */
function problemsOf(issue: z.core.$ZodIssue, type: IdpSettings["type"], environment: Environment): readonly Problem[] {
  const path = idpVariables[type][String(issue.path[0])] ?? "IDP_DEFAULT";
  const missing = issue.code === "invalid_type" || issue.message === "must be set";
  if (!missing) return [{ path, reason: issue.message }];
  return isSet(environment, path) ? [] : [{ path, reason: "must be set" }];
}

/** The one kind of which anything is set; kind B where nothing is. A default says nothing. */
function kindOf(environment: Environment): IdpSettings["type"] {
  const tells = (variable: IdpVariable) =>
    isSet(environment, variable) && !(connectorSettings.shape[variable] instanceof z.ZodPrefault);
  const types = Object.keys(idpVariables) as IdpSettings["type"][];
  const [type = "entra", ...others] = types.filter(each => Object.values(idpVariables[each]).some(tells));
  if (others.length === 0) return type;
  const reason = `must be true for several identity providers: ${[type, ...others].join(", ")} are set`;
  throw new BadSettings([{ path: "IDP_ENABLE_MULTI_IDP", reason }]);
}

const isSet = (environment: Environment, variable: string): boolean => Boolean(environment[variable]?.trim());
