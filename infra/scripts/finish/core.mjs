// Core: its package, and the end of the time in which it can be reached over the internet.
import { existsSync } from "node:fs";
import { runToEnd } from "../../hooks/command.mjs";
import { deployApp, listFunctions } from "../deploy-app.mjs";

const placeOf = ({ AZURE_RESOURCE_GROUP: group, CORE_APP_NAME: name, AZURE_SUBSCRIPTION_ID: subscription }) => ({
  group,
  name,
  subscription,
});

export function coreLeft({ az, environment }) {
  const known = listFunctions(az, placeOf(environment));
  return known?.length > 0 ? undefined : "Core has no package yet, or Azure does not know its functions";
}

export async function deployCore({ az, environment, options, tell }) {
  if (!existsSync(options.package)) {
    tell("Building the package.");
    if (runToEnd("npm", ["run", "package"]) !== 0) return "`npm run package` failed";
  }
  const times = options.refusedMs === undefined ? {} : { refusedMs: options.refusedMs };
  await deployApp(az, { ...placeOf(environment), file: options.package, tell, times });
  return undefined;
}

/** Returns what a person must know while Core can be reached over the internet; undefined if it cannot. A trial stays open. */
export const openCore = ({ CORE_SETUP_RANGE: range, TRIAL }) =>
  range && TRIAL !== "true"
    ? `Core can be reached from ${range}. When you have created the first user: \`npm run deploy:finish -- --close\`.`
    : undefined;

/**
 * Ends that Core can be reached from CORE_SETUP_RANGE: at once, and in every later provision. Addresses of CORE_DEPLOY_RANGE stay
 * admitted to the deployment site, which only a provision can separate. Throws where Azure refuses.
 */
export function closeCore({ az, environment, tell, keep }) {
  if (!environment.CORE_SETUP_RANGE) return tell("CORE_SETUP_RANGE is empty already.");
  if (environment.TRIAL === "true")
    return tell("Core stays open: a trial has no network in which it could be reached.");
  const isClosed = environment.CORE_DEPLOY_RANGE
    ? closeByProvision(tell, environment, keep)
    : closeSite(az, environment);
  if (!isClosed)
    throw new Error(
      'Core was not closed: repeat this command, or `azd env set CORE_SETUP_RANGE ""` and `azd provision`, which close it too.',
    );
  keep({ CORE_SETUP_RANGE: "" });
  return tell("Core's API is closed to the internet.");
}

function closeByProvision(tell, { CORE_SETUP_RANGE }, keep) {
  tell("Running azd provision, which takes about ten minutes: CORE_DEPLOY_RANGE stays admitted.");
  keep({ CORE_SETUP_RANGE: "" });
  const status = runToEnd("azd", ["provision", "--no-prompt"]);
  if (status !== 0) keep({ CORE_SETUP_RANGE });
  return status === 0;
}

function closeSite(az, environment) {
  const { group, name, subscription } = placeOf(environment);
  const site = ["--resource-group", group, "--name", name, "--resource-type", "Microsoft.Web/sites"];
  const change = ["--set", "properties.publicNetworkAccess=Disabled", "--subscription", subscription];
  const changed = az("resource", "update", ...site, ...change);
  return changed?.properties?.publicNetworkAccess === "Disabled";
}
