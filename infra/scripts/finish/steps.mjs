// The steps after the first `azd up`. Each finds out in Azure whether it is done, so that the command may be repeated at any time.
import { existsSync } from "node:fs";
import { run, runToEnd, setInEnvironment } from "../../hooks/command.mjs";
import { isDomainLinked } from "../../hooks/mail-domain.mjs";
import { deployApp, listFunctions } from "../deploy-app.mjs";
import { ensurePasskeyPermission, hasPasskeyPermission } from "../entra-application.mjs";
import { applicationName, connectToGraph, registerApi } from "../register.mjs";
import { awaitVerification, mailLeft, startVerification } from "./mail.mjs";
import { missingSecrets, neededSecrets, writeSecret } from "./secrets.mjs";

const yearMs = 365 * 86_400_000;

/**
 * The steps in their order. `left` returns what is left of a step, undefined if it is done; `act` does it and returns what is still
 * left. Both get the context: az, the azd environment, the options, and how to tell and to ask a person.
 */
export const steps = [
  {
    title: "Mail domain",
    left: mailLeft,
    // Azure looks while the other steps run; the step before the provision waits for it.
    act: async context => {
      startVerification(context);
      return undefined;
    },
  },
  { title: "Callers", left: callersLeft, act: register },
  { title: "Permission for passkeys", left: passkeysLeft, act: allowPasskeys },
  { title: "Secrets of peers", left: secretsLeft, act: askForSecrets },
  { title: "Core's package", left: coreLeft, act: deployCore },
  { title: "DNS records", left: () => undefined, act: context => awaitVerification(context), always: true },
  { title: "Last provision", left: provisionLeft, act: provision },
];

function callersLeft({ environment, options }) {
  if (options.coreAdmins.length + options.connectorCallers.length > 0) return "give the roles that you named";
  return environment.CALLER_AUDIENCES
    ? undefined
    : "register the APIs with Entra: no caller may use Core or the connector yet";
}

async function register({ az, environment, options, tell, keep }) {
  const isNamed = options.coreAdmins.length + options.connectorCallers.length > 0;
  const own = isNamed ? undefined : az("ad", "signed-in-user", "show", "--query", "id");
  if (!isNamed && !own)
    return "name a caller by --core-admin or --connector-caller: the Azure CLI is signed in with no person";
  const { appId } = await registerApi({
    name: applicationName(environment),
    coreAdmins: isNamed ? options.coreAdmins : [own],
    connectorCallers: isNamed ? options.connectorCallers : [own],
    forPeople: !isNamed,
    graphAddress: options.graphAddress,
    tell,
  });
  const audiences = (environment.CALLER_AUDIENCES ?? "").split(",").filter(each => each);
  if (!audiences.includes(appId)) keep({ CALLER_AUDIENCES: [...audiences, appId].join(",") });
  return undefined;
}

const usesOwnIdentity = ({ IDPA_MANAGED_IDENTITY, IDP_ENABLE_MULTI_IDP }) =>
  IDPA_MANAGED_IDENTITY === "true" && IDP_ENABLE_MULTI_IDP !== "true";

async function passkeysLeft({ environment, options }) {
  if (!usesOwnIdentity(environment)) return undefined;
  const graph = connectToGraph(options.graphAddress);
  return (await hasPasskeyPermission(graph, environment.CONNECTOR_PRINCIPAL_ID))
    ? undefined
    : "the connector's identity may not register passkeys yet: it needs a Privileged Role Administrator";
}

async function allowPasskeys({ environment, options, tell }) {
  const graph = connectToGraph(options.graphAddress);
  await ensurePasskeyPermission(graph, environment.CONNECTOR_PRINCIPAL_ID, { broad: false, tell });
  return undefined;
}

function secretsLeft(context) {
  const missing = missingSecrets(context);
  if (missing === undefined)
    return `not checked, needed are ${neededSecrets(context.environment)
      .map(({ name }) => name)
      .join(", ")}`;
  return missing.length === 0
    ? undefined
    : missing.map(({ vault, name, use }) => `${name} in ${vault}: ${use}`).join("\n    ");
}

async function askForSecrets(context) {
  const { ask, endQuestions } = context;
  if (ask === undefined) return secretsLeft(context);
  try {
    for (const secret of missingSecrets(context) ?? []) await askForSecret(context, secret);
  } finally {
    endQuestions();
  }
  return secretsLeft(context);
}

async function askForSecret(context, secret) {
  const { ask, tell } = context;
  const question = `${secret.name}, ${secret.use} (not shown; @file reads it from a file; empty: later): `;
  const value = (await ask(question, { hidden: true }))?.trim();
  if (!value) return;
  // The terminal gives the other lines of the text as the next answers.
  if (value.startsWith("-----BEGIN"))
    throw new Error(`${secret.name} was not written: text of several lines comes from a file. Answer @ and its name.`);
  for (;;) {
    const day = (await ask("Last day on which it is valid, as 2031-01-31 (empty: in a year): "))?.trim();
    const expires = day ? Date.parse(day) : Date.now() + yearMs;
    if (expires > Date.now()) {
      writeSecret(context, secret, { value, expiresOn: Math.floor(expires / 1000) });
      return tell(`Wrote ${secret.name} into ${secret.vault}.`);
    }
    tell("That is no day in the future.");
  }
}

const coreOf = ({ environment }) => ({ group: environment.AZURE_RESOURCE_GROUP, name: environment.CORE_APP_NAME });

function coreLeft({ az, environment }) {
  const known = listFunctions(az, { ...coreOf({ environment }), subscription: environment.AZURE_SUBSCRIPTION_ID });
  return known?.length > 0 ? undefined : "Core has no package yet, or Azure does not know its functions";
}

async function deployCore(context) {
  const { az, environment, options, tell } = context;
  if (!existsSync(options.package)) {
    tell("Building the package.");
    if (runToEnd("npm", ["run", "package"]) !== 0) return "`npm run package` failed";
  }
  const { AZURE_SUBSCRIPTION_ID: subscription } = environment;
  // An address that was admitted just now is refused for a while.
  const times = environment.CORE_DEPLOY_RANGE ? { refusedMs: 60_000 } : {};
  await deployApp(az, { ...coreOf({ environment }), file: options.package, subscription, tell, times });
  context.isCoreDeployed = true;
  return undefined;
}

/** What the azd environment has and Azure does not yet. The mail domain can be linked once its records are verified. */
function provisionLeft(context) {
  const { az, environment } = context;
  const { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, CALLER_AUDIENCES = "", MAIL_DOMAIN_NAME } = environment;
  const place = ["--resource-group", AZURE_RESOURCE_GROUP, "--subscription", AZURE_SUBSCRIPTION_ID];
  const ask = (...parameters) => az(...parameters, ...place);
  const settings = ask("functionapp", "config", "appsettings", "list", "--name", environment.CONNECTOR_APP_NAME);
  const audiences = settings?.find(({ name }) => name === "CALLER_AUDIENCES")?.value ?? "";
  const canLink = mailLeft(context) === undefined && !isDomainLinked(az, environment, MAIL_DOMAIN_NAME);
  const parts = [
    ...(audiences === CALLER_AUDIENCES ? [] : ["the callers"]),
    ...(canLink ? ["the link of the mail domain"] : []),
    ...(canClose(context, ask) ? ["closing Core's deployment site"] : []),
  ];
  return parts.length === 0 ? undefined : `\`azd provision\` is needed for ${parts.join(", ")}`;
}

/** Whether Core's deployment site is open to the internet and Core has its package. A trial stays open. */
function canClose(context, ask) {
  const { environment, isCoreDeployed } = context;
  if (environment.TRIAL === "true" || !(isCoreDeployed || coreLeft(context) === undefined)) return false;
  if (environment.CORE_DEPLOY_RANGE) return true;
  const core = ask("resource", "show", "--name", environment.CORE_APP_NAME, "--resource-type", "Microsoft.Web/sites");
  return core?.properties?.publicNetworkAccess === "Enabled";
}

async function provision(context) {
  const { environment, options, tell, keep } = context;
  if (!options.withoutMail && mailLeft(context) !== undefined)
    return `${provisionLeft(context)}. It waits for the DNS records; --without-mail does not`;
  if (environment.CORE_DEPLOY_RANGE && canClose(context)) keep({ CORE_DEPLOY_RANGE: "" });
  tell("Running azd provision, which takes about ten minutes.");
  if (runToEnd("azd", ["provision", "--no-prompt"]) !== 0) return "`azd provision` failed: repeat this command";
  return provisionLeft(context);
}

/** Reads the azd environment. Throws where there is none. */
export function readEnvironment() {
  const { status, stdout } = run("azd", ["env", "get-values", "--output", "json"]);
  if (status !== 0) throw new Error("There is no azd environment: run `azd up` first.");
  const values = JSON.parse(stdout);
  if (!values.CORE_APP_NAME) throw new Error("Nothing is deployed in this azd environment yet: run `azd up` first.");
  return values;
}

/** Keeps values in the azd environment and in this run. */
export const keeperOf = environment => values => {
  setInEnvironment(values);
  Object.assign(environment, values);
};

/** Sends every peer a call that changes nothing. Returns what is left. */
export function checkPeers({ az, environment, options }) {
  const { AZURE_RESOURCE_GROUP, AZURE_SUBSCRIPTION_ID, CONNECTOR_APP_NAME } = environment;
  const place = ["--resource-group", AZURE_RESOURCE_GROUP, "--name", CONNECTOR_APP_NAME];
  const keys = az("functionapp", "keys", "list", ...place, "--subscription", AZURE_SUBSCRIPTION_ID);
  if (!keys?.masterKey) return "the peers were not checked: the master key of the connector cannot be read";
  const url = environment.CONNECTOR_PUBLIC_BASE_URL || environment.CONNECTOR_URL;
  const users = options.users.flatMap(user => ["--user", user]);
  // The key is no argument, which others on the machine can see.
  const env = { ...process.env, FUNCTIONS_KEY: keys.masterKey };
  const status = runToEnd("npm", ["run", "--silent", "check-peers", "--", "--url", url, ...users], { env });
  return status === 0 ? undefined : "a check of a peer failed, see above";
}
