// Registers the API with Entra. Needs the Azure CLI, signed in with an account that may register applications and grant
// roles.
import { parseArgs } from "node:util";
import { run } from "../hooks/command.mjs";
import { ensurePasskeyPermission, roleNames } from "./entra-application.mjs";
import { applicationName, connectToGraph, environmentVariables, isObjectId, registerApi } from "./register.mjs";

const usage = `node infra/scripts/register-api.mjs [options]        (docs/deploy.md)

Makes the application whose tokens Core and the connector take, with its roles, or brings it up to date. It may run again. Object ids are those of service principals, managed identities, people or groups.

  --name <name>                 by which the application is found again; by default from the azd environment, its subscription and
                                its resource group
  --core-admin <object id>      gives Core.Admin; may stand several times
  --connector-caller <id>       gives Connector.Call; may stand several times
  --role <role>=<object id>     gives another role: Core.Read, Core.Support, Core.Import, Connector.Read or Connector.Support; may
                                stand several times
  --people                      lets people who hold a role get tokens by the Azure CLI
  --passkeys <object id>        lets the connector's identity register passkeys in this tenant (identity provider of kind B);
                                its id is CONNECTOR_PRINCIPAL_ID of the azd environment. Alone, it leaves the application as it is
  --broad                       with --passkeys: the broad permission, for Graph's beta where it refuses the narrow one
  --checks                      with --passkeys: also User.Read.All and Policy.Read.AuthenticationMethod, so that creates and dry runs
                                refuse a user or a policy that cannot work, and keys of renamed users can be revoked
  --graph <address>             Microsoft Graph of another cloud`;

const { values } = parseArgs({
  options: {
    name: { type: "string" },
    "core-admin": { type: "string", multiple: true, default: [] },
    "connector-caller": { type: "string", multiple: true, default: [] },
    role: { type: "string", multiple: true, default: [] },
    people: { type: "boolean", default: false },
    passkeys: { type: "string" },
    broad: { type: "boolean", default: false },
    checks: { type: "boolean", default: false },
    graph: { type: "string", default: "https://graph.microsoft.com" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(usage);
else {
  try {
    await register();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

async function register() {
  const tell = sentence => console.log(sentence);
  const otherRoles = values.role.map(text => text.split("="));
  const unknown = otherRoles.find(([title]) => !roleNames.includes(title));
  if (unknown !== undefined) throw new Error(`${unknown[0]} is no role: ${roleNames.join(", ")}.`);
  const principals = [
    ...values["core-admin"],
    ...values["connector-caller"],
    ...otherRoles.map(([, id]) => id ?? ""),
    ...(values.passkeys === undefined ? [] : [values.passkeys]),
  ];
  const wrong = principals.find(id => !isObjectId(id));
  if (wrong !== undefined) throw new Error(`${wrong} is no object id.`);
  const isAboutApplication = values.passkeys === undefined || principals.length > 1 || values.people || values.name;
  if (isAboutApplication) await registerApplication(otherRoles, tell);
  if (values.passkeys === undefined) return;
  await ensurePasskeyPermission(connectToGraph(values.graph), values.passkeys, {
    broad: values.broad,
    checks: values.checks,
    tell,
  });
  tell("\nLet the connector use its identity:\n\n  azd env set IDPA_MANAGED_IDENTITY true");
}

async function registerApplication(otherRoles, tell) {
  const name = values.name ?? nameOfEnvironment();
  if (!/^[\w.-]{1,120}$/.test(name)) throw new Error("The name has 1 to 120 letters, digits, dots, hyphens.");

  const api = await registerApi({
    name,
    coreAdmins: values["core-admin"],
    connectorCallers: values["connector-caller"],
    otherRoles,
    forPeople: values.people,
    graphAddress: values.graph,
    tell,
  });
  tell("\nTell the deployment, then run `azd provision`:\n");
  tell(`  azd env set CALLER_AUDIENCES ${api.appId}`);
}

function nameOfEnvironment() {
  return applicationName(Object.fromEntries(environmentVariables.map(name => [name, valueOfEnvironment(name)])));
}

function valueOfEnvironment(variable) {
  const { status, stdout } = run("azd", ["env", "get-value", variable]);
  if (status !== 0 || stdout.trim() === "")
    throw new Error(`There is no azd environment that has ${variable}: give a --name.`);
  return stdout.trim();
}
