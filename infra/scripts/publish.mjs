// Publishes a package to the deployment site of an app, as azd does. Not `az functionapp deployment source config-zip`, which then asks
// the app itself for its health, and never ends where the app refuses this machine (Azure/azure-cli#30870, #31394).
import { openAsBlob } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/**
 * Times in milliseconds. A deployment takes one to three minutes; the app then starts. `refusedMs`: a rule of the firewall that was
 * changed just now takes some time to be in force, and answers 403 until then.
 */
const limits = {
  refusedMs: 60_000,
  pauseMs: 2000,
  sendMs: 600_000,
  callMs: 30_000,
  deploymentMs: 900_000,
  healthMs: 120_000,
};

/** States of a deployment that are an end, by their number at the deployment site. */
const ends = {
  "-1": "was cancelled",
  3: "failed",
  5: "was cancelled, because another deployment is running: repeat it",
  6: "succeeded in parts only",
};
const succeeded = 4;

/**
 * Publishes a package and waits for the end of the deployment. Throws an error that says what to do. Publishing the same package again
 * changes nothing, so the caller may repeat it after any error.
 * @param site address of the deployment site, as https://name.scm.azurewebsites.net
 * @param token of Azure's management plane; it goes to that address alone
 * @param tell receives each new state
 */
export async function publish(site, token, file, { tell = () => {}, ...replaced } = {}) {
  const times = { ...limits, ...replaced };
  const call = callsOf(site, token, times);
  const id = await send(call, file, times);
  tell(`Uploaded ${file}: deployment ${id}.`);
  const until = Date.now() + times.deploymentMs;
  let [last, lastText] = [undefined, ""];
  while (Date.now() < until) {
    const response = await call("GET", `/api/deployments/${id}`).catch(() => undefined);
    // The site forgets a deployment when its worker is replaced, which is after the deployment has ended.
    if (response?.status === 404 && last !== undefined) return;
    if (response?.status === 401 || response?.status === 403) throw refused(site, response.status);
    if (response?.ok) {
      last = await response.json();
      const text = last.progress || last.status_text || "";
      if (text !== "" && text !== lastText) tell(text);
      lastText = text;
      if (last.status === succeeded) return;
      const end = ends[last.status];
      if (end !== undefined) throw new Error(`The deployment ${end}. ${reasonOf(last)}`);
    }
    // Anything else passes: the site restarts during a deployment.
    await wait(times.pauseMs);
  }
  throw new Error(
    `The deployment ${id} did not end within ${times.deploymentMs / 60_000} minutes. It may still succeed: repeat this command, which changes nothing if it did.`,
  );
}

/**
 * Waits until an app responds. Returns "healthy", "unreadable" if this machine cannot read the health, which is no failure, or what the
 * app answers.
 * @param address of the app
 */
export async function readHealth(address, replaced = {}) {
  const { pauseMs, callMs, healthMs } = { ...limits, ...replaced };
  const until = Date.now() + healthMs;
  for (let failures = 0; ; ) {
    const response = await fetch(`${address}/health`, {
      redirect: "manual",
      signal: AbortSignal.timeout(callMs),
    }).catch(() => undefined);
    if (response === undefined) failures += 1;
    if (response?.status === 200) return "healthy";
    // The platform's own refusal: the network of this machine is not admitted.
    if (response?.status === 403 || failures === 3) return "unreadable";
    if (Date.now() >= until) return `GET ${address}/health returns ${response?.status ?? "nothing"}`;
    await wait(pauseMs);
  }
}

function callsOf(site, token, { callMs }) {
  return (method, path, body, timeoutMs = callMs) =>
    fetch(`${site}${path}`, {
      method,
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/zip" }) },
      ...(body && { body }),
    });
}

/** Sends the package, and again after a failure that may pass. Returns the id of the deployment. */
async function send(call, file, { sendMs, pauseMs, refusedMs }) {
  const until = Date.now() + refusedMs;
  for (let turn = 1; ; turn++) {
    const body = await openAsBlob(file);
    const response = await call("POST", "/api/publish?RemoteBuild=false", body, sendMs).catch(error => error);
    if (response.ok) {
      const id = (await response.text()).trim().replaceAll('"', "");
      if (/^[\w-]+$/.test(id)) return id;
      throw new Error("The deployment site took the package and named no deployment: repeat this command.");
    }
    const { status } = response;
    if (status === 403 && Date.now() < until) {
      turn = 0;
      await wait(5 * pauseMs);
      continue;
    }
    if (status === 401 || status === 403) throw refused(new URL(response.url).origin, status);
    if (turn >= 4 || (status !== undefined && status !== 409 && status !== 429 && status < 500))
      throw new Error(
        `The deployment site ${status ? `returns ${status}` : `cannot be reached: ${causeOf(response)}`}. ${places}`,
      );
    await wait(5 * turn * pauseMs);
  }
}

const places =
  "Core's deployment site can be reached only from inside the network, or from CORE_DEPLOY_RANGE or CORE_SETUP_RANGE (docs/deploy.md, \"Core's package\").";

const refused = (site, status) =>
  new Error(
    status === 401
      ? `${site} does not accept the token: run \`az login\`, with an account that may deploy to the app.`
      : `${site} refuses this machine, or the account may not deploy to the app (403). ${places}`,
  );

const causeOf = error => error.cause?.code ?? error.cause?.message ?? error.message;

function reasonOf({ status_text: text = "", message = "" }) {
  const reason = [text, message].filter(part => part).join(" ");
  return /403|Forbidden|AuthorizationPermissionMismatch/i.test(reason)
    ? `${reason} A new role on the storage takes up to 30 minutes to become effective: repeat this command then.`
    : reason;
}
