// One app after its resources are there: its package, its health, its triggers.
import { setTimeout as wait } from "node:timers/promises";
import { publish, readHealth } from "./publish.mjs";

const siteType = "Microsoft.Web/sites";
const apiVersion = "2025-03-01";

/**
 * Publishes a package to an app and checks what can be read of the app. Throws an error with what to do.
 * @param az see `createAz`
 * @param times replaces the time limits of `publish` and `readHealth`, for tests
 */
export async function deployApp(az, { group, name, file, subscription, tell, times }) {
  const ask = askOf(az, subscription);
  const found = ask("resource", "show", "--resource-group", group, "--name", name, "--resource-type", siteType);
  if (!found)
    throw new Error(`The app ${name} was not found in ${group}, or the Azure CLI is not signed in: run \`az login\`.`);
  const { defaultHostName, hostNameSslStates = [] } = found.properties;
  const site = hostNameSslStates.find(({ hostType }) => hostType === "Repository")?.name;
  if (!site) throw new Error(`Azure names no deployment site of ${name}.`);
  // Of the default audience of the Azure CLI, which the deployment site accepts.
  const token = ask("account", "get-access-token")?.accessToken;
  if (!token) throw new Error("The Azure CLI gives no token: run `az login`.");
  await publish(addressOf(site), token, file, { ...times, tell });
  tell(`Deployed ${file} to ${name}.`);

  const health = await readHealth(addressOf(defaultHostName), times);
  if (health === "unreadable") tell(`The health of ${name} cannot be read from this machine, so it was not checked.`);
  else if (health === "healthy") tell(`${name} is healthy.`);
  else throw new Error(`${name} has the package, but ${health}: docs/troubleshooting.md.`);
  await syncTriggers(az, { group, name, subscription, id: found.id, tell, times });
}

/**
 * Has Azure read the triggers of an app where it knows none, without which no timer runs (Azure/azure-functions-host#10169).
 * Only reports where that fails: the app responds to its callers anyway.
 */
async function syncTriggers(az, { id, tell, times: { pauseMs = 10_000 } = {}, ...app }) {
  for (let turn = 0; turn < 4; turn++) {
    const known = listFunctions(az, app);
    if (known === undefined) return tell(`Not checked: whether Azure knows the triggers of ${app.name}.`);
    if (known.length > 0) return tell(`Azure knows ${known.length} functions of ${app.name}.`);
    if (turn === 0) tell(`Azure knows no function of ${app.name} yet: synchronising its triggers.`);
    az("rest", "--method", "post", "--url", `${id}/host/default/sync?api-version=${apiVersion}`);
    await wait(pauseMs);
  }
  tell(`Azure still knows no function of ${app.name}, so its timers do not run: docs/operate.md, "Timers do not run".`);
}

/** Returns the functions of an app that Azure knows, without its own one; undefined where it does not say. */
export function listFunctions(az, { group, name, subscription }) {
  const app = ["--resource-group", group, "--name", name];
  const listed = askOf(az, subscription)("functionapp", "function", "list", ...app, "--query", "[].name");
  return listed?.filter(each => !/(^|\/)warmup$/i.test(each));
}

const askOf =
  (az, subscription) =>
  (...parameters) =>
    az(...parameters, ...(subscription ? ["--subscription", subscription] : []));

/** Returns the https address of a host; http on the loopback, where tests listen. */
const addressOf = host => `${/^127\.0\.0\.1:\d+$/.test(host) ? "http" : "https"}://${host}`;
