// Before `azd down`, which deletes the resource group with all that is in it.
import { createAz, setInEnvironment, unchecked } from "./command.mjs";
import { stopOn } from "./values.mjs";

const { AZURE_SUBSCRIPTION_ID, AZURE_RESOURCE_GROUP, AZURE_ENV_NAME, DELETE_EVERYTHING } = process.env;

if (!AZURE_RESOURCE_GROUP)
  stopOn(
    [
      "AZURE_RESOURCE_GROUP is not set, so it is not known what azd down deletes: azd env set AZURE_RESOURCE_GROUP <group>",
    ],
    "Nothing was deleted:",
  );
if (DELETE_EVERYTHING !== AZURE_RESOURCE_GROUP) {
  const subscription = AZURE_SUBSCRIPTION_ID ? ["--subscription", AZURE_SUBSCRIPTION_ID] : [];
  const found = createAz()("resource", "list", "--resource-group", AZURE_RESOURCE_GROUP, ...subscription);
  if (!found) unchecked(`what else is in ${AZURE_RESOURCE_GROUP}`);
  const others = (found ?? []).filter(({ tags }) => tags?.["azd-env-name"] !== AZURE_ENV_NAME);
  const otherResources = others.map(({ id }) => `\n    ${id}`).join("");
  const problem = `azd down deletes the resource group ${AZURE_RESOURCE_GROUP}: users, orders and every backup in it.${
    others.length === 0 ? "" : ` It also deletes what does not belong to ${AZURE_ENV_NAME}:${otherResources}\n `
  } To do it: azd env set DELETE_EVERYTHING ${AZURE_RESOURCE_GROUP}`;
  stopOn([problem], "Nothing was deleted:");
}

// The name counts for one `azd down`: the environment may be deployed again, and is protected again then.
if (DELETE_EVERYTHING) setInEnvironment({ DELETE_EVERYTHING: "" });
