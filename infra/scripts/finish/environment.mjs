// The azd environment, and what it lacks where a pipeline deployed: the settings of the deployed apps.
import { run, setInEnvironment, unchecked } from "../../hooks/command.mjs";

/** Settings that the steps read, by the app that has them. */
const ofApps = {
  CORE_APP_NAME: ["OTP_VALIDATION_URLS"],
  CONNECTOR_APP_NAME: [
    "CALLER_AUDIENCES",
    "IDP_DEFAULT",
    "IDP_ENABLE_MULTI_IDP",
    "IDP_CONFIGURATION_PATH",
    "IDPA_MANAGED_IDENTITY",
    "EVENT_SINK_URLS",
    "RFPR_API_BASE_URL",
    "PUBLIC_BASE_URL",
  ],
};

/** Reads the azd environment. What it does not have, not even empty, has the value of the deployed apps. Throws where there is none. */
export function readEnvironment(az) {
  const { status, stdout } = run("azd", ["env", "get-values", "--output", "json"]);
  if (status !== 0) throw new Error("There is no azd environment: run `azd up` first.");
  const values = JSON.parse(stdout);
  if (!values.CORE_APP_NAME) throw new Error("Nothing is deployed in this azd environment yet: run `azd up` first.");
  return { ...deployedValues(az, values), ...values };
}

function deployedValues(az, environment) {
  const apps = Object.entries(ofApps).map(([app, names]) => [names, readSettings(az, environment, environment[app])]);
  if (apps.some(([, settings]) => settings === undefined)) {
    unchecked("the settings of the deployed apps: what is left is worked out from the azd environment alone");
    return {};
  }
  const values = apps.flatMap(([names, settings]) => names.map(name => [name, settings[name] ?? ""]));
  const { PUBLIC_BASE_URL, ...others } = Object.fromEntries(values);
  return { ...others, CONNECTOR_PUBLIC_BASE_URL: PUBLIC_BASE_URL };
}

/** Returns the settings of a deployed app by name; undefined where Azure does not say. */
export function readSettings(az, { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP }, app) {
  const place = ["--subscription", AZURE_SUBSCRIPTION_ID, "--resource-group", AZURE_RESOURCE_GROUP, "--name", app];
  const settings = az("functionapp", "config", "appsettings", "list", ...place);
  return settings && Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}

/** Keeps values in the azd environment and in this run. */
export const keeperOf = environment => values => {
  setInEnvironment(values);
  Object.assign(environment, values);
};
