// The registration of the APIs with Entra, for the script of its own and for the end of a first deployment.
import { run } from "../hooks/command.mjs";
import { uniqueString } from "../hooks/names.mjs";
import { ensureApplication, ensureRole } from "./entra-application.mjs";
import { connectGraph } from "./graph.mjs";

/** Variables of the azd environment that the name of the application is made of. */
export const environmentVariables = ["AZURE_ENV_NAME", "AZURE_SUBSCRIPTION_ID", "AZURE_RESOURCE_GROUP"];

/** Whether a text is an object id. */
export const isObjectId = text => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** Environments of one tenant may have the same name, and a caller of one must not become a caller of the other. */
export function applicationName(environment) {
  const [name, ...place] = environmentVariables.map(variable => environment[variable]);
  return `fido-credential-backend-${name}-${uniqueString(...place.map(part => part.toLowerCase()))}`;
}

/**
 * Creates the application of the APIs or brings it up to date, and gives its roles. May run again. Returns its ids.
 * @param name by which the application is found again
 * @param coreAdmins object ids that get Core.Admin
 * @param connectorCallers object ids that get Connector.Call
 * @param otherRoles pairs of a role and an object id that gets it
 */
export async function registerApi({
  name,
  coreAdmins,
  connectorCallers,
  otherRoles = [],
  forPeople,
  graphAddress,
  tell,
}) {
  const graph = connectToGraph(graphAddress);
  const api = await ensureApplication(graph, name, { forPeople, tell });
  const given = [
    ...coreAdmins.map(id => ["Core.Admin", id]),
    ...connectorCallers.map(id => ["Connector.Call", id]),
    ...otherRoles,
  ];
  for (const [title, principalId] of given) {
    await ensureRole(graph, api, { principalId, appRoleId: api.roleId(title), title, tell });
  }
  return api;
}

/** Connects to Microsoft Graph with the account of the Azure CLI. */
export const connectToGraph = address => connectGraph(address, tokenOfAz(address));

function tokenOfAz(resource) {
  const asked = ["account", "get-access-token", "--resource", resource, "--query", "accessToken", "--output", "tsv"];
  const { status, stdout } = run("az", asked);
  if (status !== 0 || stdout.trim() === "") throw new Error("The Azure CLI gives no token: run `az login`.");
  return stdout.trim();
}
