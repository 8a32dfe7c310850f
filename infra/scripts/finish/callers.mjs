// Callers: the APIs in Entra, who has their roles, and the permission of the connector's identity.
import { ensurePasskeyPermission, hasPasskeyPermission } from "../entra-application.mjs";
import { applicationName, connectToGraph, isObjectId, registerApi } from "../register.mjs";

/** Returns the object id of a person who is given by it or by the name of a user. Throws for anything else. */
export function principalOf(az, text) {
  const id = isObjectId(text) ? text : text.includes("@") && az("ad", "user", "show", "--id", text, "--query", "id");
  if (!id) throw new Error(`"${text}" is no object id, and no user of this tenant has that name.`);
  return id;
}

export function callersLeft({ environment, options }) {
  if (options.coreAdmins.length + options.connectorCallers.length > 0) return "give the roles that you named";
  return environment.CALLER_AUDIENCES
    ? undefined
    : "register the APIs with Entra: no caller may use Core or the connector yet";
}

export async function register({ az, environment, options, tell, keep }) {
  const { coreAdmins, connectorCallers, graphAddress } = options;
  const isNamed = coreAdmins.length > 0 && connectorCallers.length > 0;
  const own = isNamed ? undefined : az("ad", "signed-in-user", "show", "--query", "id");
  if (!isNamed && !own)
    return "name callers by --core-admin and --connector-caller: the Azure CLI is signed in with no person";
  const callers = {
    coreAdmins: coreAdmins.length > 0 ? coreAdmins : [own],
    connectorCallers: connectorCallers.length > 0 ? connectorCallers : [own],
    forPeople: !isNamed,
  };
  const name = applicationName(environment);
  const { appId } = await advised(
    () => registerApi({ name, ...callers, graphAddress, tell }),
    "An Application Administrator runs the first of these commands, you the second with the id that it prints:",
    commandOf(
      ...["--name", name],
      ...callers.coreAdmins.flatMap(id => ["--core-admin", id]),
      ...callers.connectorCallers.flatMap(id => ["--connector-caller", id]),
      ...(callers.forPeople ? ["--people"] : []),
      ...graphOption(graphAddress),
    ),
    "azd env set CALLER_AUDIENCES <application id>",
  );
  const audiences = (environment.CALLER_AUDIENCES ?? "").split(",").filter(each => each);
  if (!audiences.includes(appId)) keep({ CALLER_AUDIENCES: [...audiences, appId].join(",") });
  return undefined;
}

const usesOwnIdentity = ({ IDPA_MANAGED_IDENTITY, IDP_ENABLE_MULTI_IDP }) =>
  IDPA_MANAGED_IDENTITY === "true" && IDP_ENABLE_MULTI_IDP !== "true";

export async function passkeysLeft(context) {
  if (!usesOwnIdentity(context.environment)) return undefined;
  const isAllowed = await onPasskeys(context, hasPasskeyPermission);
  return isAllowed
    ? undefined
    : "the connector's identity may not register passkeys yet: it needs a Privileged Role Administrator";
}

export async function allowPasskeys(context) {
  const { tell } = context;
  await onPasskeys(context, (graph, id) => ensurePasskeyPermission(graph, id, { broad: false, checks: false, tell }));
  return undefined;
}

function onPasskeys({ environment: { CONNECTOR_PRINCIPAL_ID: id }, options: { graphAddress } }, work) {
  return advised(
    () => work(connectToGraph(graphAddress), id),
    "A Privileged Role Administrator runs this command:",
    commandOf("--passkeys", id, ...graphOption(graphAddress)),
  );
}

const commandOf = (...parameters) => ["node infra/scripts/register-api.mjs", ...parameters].join(" ");
const graphOption = address => (address === "https://graph.microsoft.com" ? [] : ["--graph", address]);

/** Does work in Entra. Where Entra refuses the account, the error names what a person with the right runs. */
async function advised(work, ...advice) {
  try {
    return await work();
  } catch (error) {
    if (error.status !== 401 && error.status !== 403) throw error;
    throw new Error([error.message, ...advice].join("\n    "));
  }
}
