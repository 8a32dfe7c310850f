// Before the resources are made: what Azure needs to be told once, and new keys.
import { randomBytes } from "node:crypto";
import { run, setInEnvironment } from "./azd.mjs";

registerProvider("Microsoft.App");

// New in every run. The template uses them only where a vault has none yet, so those of a second run are worth nothing.
const newKey = () => randomBytes(32).toString("base64url");
const yearInSeconds = 365 * 86_400;
setInEnvironment({
  NEW_AUTH_DATA_KEY: newKey(),
  NEW_AUTH_PEPPER: newKey(),
  NEW_CONNECTOR_DATA_KEY: newKey(),
  NEW_KEYS_EXPIRE_ON: String(Math.floor(Date.now() / 1000) + yearInSeconds),
});

/** Subnets are delegated to it, and no resource of it is in the template, so nothing else registers it. */
function registerProvider(namespace) {
  // The subscription of the azd environment, which need not be the one that az would take.
  const { AZURE_SUBSCRIPTION_ID: id } = process.env;
  const subscription = id ? ["--subscription", id] : [];
  const asked = [
    "provider",
    "show",
    "--namespace",
    namespace,
    "--query",
    "registrationState",
    "--output",
    "tsv",
    ...subscription,
  ];
  const { status, stdout } = run("az", asked);
  if (status === 0 && stdout.trim() === "Registered") return;
  console.log(`Registering ${namespace} in the subscription; this takes some minutes.`);
  if (run("az", ["provider", "register", "--namespace", namespace, "--wait", ...subscription]).status === 0) return;
  console.error(`${namespace} is not registered. Have an owner of the subscription run:`);
  console.error(`  az provider register --namespace ${namespace} --wait`);
}
