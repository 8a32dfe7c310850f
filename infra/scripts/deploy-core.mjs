#!/usr/bin/env node
// Deploys a package to Core, from a machine that reaches its deployment site: inside the network, or from CORE_DEPLOY_RANGE.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { createAz } from "../hooks/command.mjs";
import { deployApp } from "./deploy-app.mjs";

const usage = `node infra/scripts/deploy-core.mjs --resource-group <group> --name <CORE_APP_NAME> [--package package.zip]

Deploys package.zip, which \`npm run package\` writes, or the package of an earlier version. Needs the Azure CLI, signed in.
In an azd environment the group and the name are AZURE_RESOURCE_GROUP and CORE_APP_NAME: \`azd env get-values\`.
The exit code is 0 also if the app's health cannot be read from this machine; 1 if the app responds and is not healthy.`;

const { values } = parseArgs({
  options: {
    "resource-group": { type: "string", default: process.env.AZURE_RESOURCE_GROUP ?? "" },
    name: { type: "string", default: process.env.CORE_APP_NAME ?? "" },
    package: { type: "string", default: "package.zip" },
    help: { type: "boolean", default: false },
  },
});
if (values.help || values.name === "" || values["resource-group"] === "") {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}
if (!existsSync(values.package)) {
  console.error(`There is no ${values.package}: run \`npm run package\`, or name one with --package.`);
  process.exit(2);
}
try {
  await deployApp(createAz(), {
    group: values["resource-group"],
    name: values.name,
    file: values.package,
    subscription: process.env.AZURE_SUBSCRIPTION_ID,
    tell: sentence => console.log(sentence),
  });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
