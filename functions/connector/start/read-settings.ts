import type { readIdpFile } from "../../../lib/connector/idp/idp-file.ts";
import {
  type AnyIdpKind,
  type IdpConfigurations,
  idpKinds,
  readIdp,
  variablesOf,
} from "../../../lib/connector/idp/kinds.ts";
import { secretHostProblems, withoutLoopback } from "../../../lib/connector/idp/secret-hosts.ts";
import { type ConnectorSettings, connectorSettings } from "../../../lib/connector/settings.ts";
import type { Problem } from "../../../lib/platform/fault.ts";
import { deploymentSettings } from "../../../lib/platform/settings/deployment-settings.ts";
import {
  BadSettings,
  combineReads,
  type Environment,
  effectiveSettings,
  isLocalHost,
  readSettings,
  validSettings,
} from "../../../lib/platform/settings/read-settings.ts";
import { type IdpFileLocation, locateIdpFile, readAtStart } from "./idp-file.ts";

/** The configuration of the connector. */
export interface ConnectorStart {
  readonly settings: ConnectorSettings;
  /** The effective settings as text, for status. */
  readonly settingTexts: Readonly<Record<string, string>>;
  readonly idps: IdpSettingsAtStart;
}

/**
 * Parses the settings of the connector. Throws BadSettings with every problem.
 * @param parseFile required if a file names the IdPs
 */
export function readConnectorSettings(environment: Environment, parseFile?: IdpFileParser): ConnectorStart {
  const [settings, idps] = combineReads(
    () => readSettings(connectorSettings, environment),
    () => readIdpSettings(environment, parseFile),
  );
  const settingTexts = {
    ...effectiveSettings(deploymentSettings, environment),
    ...effectiveSettings(connectorSettings, environment),
  };
  return { settings, settingTexts, idps };
}

/** The configuration of the IdPs as far as it is known at the start. */
export interface IdpSettingsAtStart {
  /** Absent until the file has been read. */
  readonly known?: IdpConfigurations;
  /** Absent if the environment describes the only IdP. */
  readonly file?: IdpFileLocation;
  /** The hosts to which secrets of IdPs may be sent. */
  readonly secretHosts: readonly string[];
}

/** The parser of IdP files. */
type IdpFileParser = typeof readIdpFile;

/** Returns whether a file names the IdPs, so that its parser is needed. */
export const usesIdpFile = (environment: Environment): boolean =>
  validSettings(connectorSettings, environment).IDP_ENABLE_MULTI_IDP === true;

/**
 * Reads the IdPs from the environment, or from the file that it names (C13). Other settings may be invalid: their
 * problems are reported elsewhere. Throws BadSettings with every wrong variable, or every wrong key of the file.
 * @param parseFile required if a file names the IdPs
 */
function readIdpSettings(environment: Environment, parseFile: IdpFileParser | undefined): IdpSettingsAtStart {
  const settings = validSettings(connectorSettings, environment);
  const { CLOUD_STORAGE_BLOB_ENDPOINT } = validSettings(deploymentSettings, environment);
  const { IDP_SECRET_HOSTS: hosts, IDP_ENABLE_MULTI_IDP, IDP_DEFAULT = "" } = settings;
  // Without hosts, the hosts of the IdPs are not checked: the problem is that of the setting.
  const checked = hosts && !isLocalHost(environment) ? withoutLoopback(hosts) : hosts;
  const secretHosts = checked ?? [];
  if (IDP_ENABLE_MULTI_IDP === undefined) return { secretHosts };
  if (IDP_ENABLE_MULTI_IDP) {
    if (parseFile === undefined) throw new TypeError("The parser of IdP files is not loaded.");
    return {
      ...readSeveral(settings, checked, { blobEndpoint: CLOUD_STORAGE_BLOB_ENDPOINT, parseFile }),
      secretHosts,
    };
  }
  return { known: new Map([[IDP_DEFAULT, readOne(environment, checked)]]), secretHosts };
}

/** Reads the only IdP from its environment variables. */
function readOne(environment: Environment, secretHosts: readonly string[] | undefined) {
  const kind = kindIn(environment);
  const variables = variablesOf(kind);
  const given = variables.map(({ key, name, fallback = name }) => [
    key,
    textOf(environment, name) ?? textOf(environment, fallback),
  ]);
  const read = readIdp(kind, Object.fromEntries(given));
  const problems = "type" in read ? (secretHosts ? secretHostProblems(read, secretHosts) : []) : read;
  const nameOf = (key: string) => variables.find(variable => variable.key === key)?.name ?? key;
  if (!("type" in read) || problems.length > 0)
    throw new BadSettings(problems.map(({ path, reason }) => ({ path: nameOf(path), reason })));
  return read;
}

/**
 * Returns the only kind that is in use: a variable is set that the kind requires or that identifies it. Others do not
 * count, because a copied `local.settings.sample.json` sets those with a default.
 */
function kindIn(environment: Environment): AnyIdpKind {
  const isUsed = (kind: AnyIdpKind) =>
    variablesOf(kind).some(
      ({ name, defaultText, isRequired, identifiesKind }) =>
        (isRequired || identifiesKind === true) && ![undefined, defaultText].includes(textOf(environment, name)),
    );
  const [kind = idpKinds[0], ...others] = idpKinds.filter(isUsed);
  if (others.length === 0) return kind;
  const types = [kind, ...others].map(({ type }) => type).join(", ");
  const reason = `must be true for several identity providers: ${types} are set`;
  throw new BadSettings([{ path: "IDP_ENABLE_MULTI_IDP", reason }]);
}

const textOf = (environment: Environment, name: string): string | undefined => environment[name]?.trim() || undefined;

function readSeveral(
  settings: Partial<Pick<ConnectorSettings, "IDP_CONFIGURATION_PATH" | "IDP_DEFAULT">>,
  secretHosts: readonly string[] | undefined,
  { blobEndpoint, parseFile }: { readonly blobEndpoint: string | undefined; readonly parseFile: IdpFileParser },
): Omit<IdpSettingsAtStart, "secretHosts"> {
  const { IDP_CONFIGURATION_PATH: path, IDP_DEFAULT: defaultId } = settings;
  const wrong = (reason: string): readonly Problem[] => [{ path: "IDP_CONFIGURATION_PATH", reason }];
  if (path === undefined) throw new BadSettings(wrong("must be set with IDP_ENABLE_MULTI_IDP"));
  const file = locateIdpFile(path, blobEndpoint);
  if (file === undefined)
    throw new BadSettings(wrong("must be a path, or the address of a blob under CLOUD_STORAGE_BLOB_ENDPOINT"));
  if ("blob" in file || defaultId === undefined || secretHosts === undefined) return { file };
  const bytes = readAtStart(file.path);
  if (bytes === undefined) return { file };
  if (typeof bytes === "string") throw new BadSettings(wrong(bytes));
  const { idps, problems } = parseFile(bytes, defaultId, secretHosts);
  if (problems !== undefined) throw new BadSettings(problems);
  return { known: idps, file };
}
