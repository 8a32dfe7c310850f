#!/usr/bin/env node
// Deploys a package to Core, from a machine that reaches its deployment site: inside the network, or from CORE_DEPLOY_RANGE.
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { runToEnd } from "../hooks/command.mjs";

const usage = `node infra/scripts/deploy-core.mjs --resource-group <group> --name <CORE_APP_NAME> [--package package.zip]

Deploys package.zip, which \`npm run package\` writes, or the package of an earlier version. Needs the Azure CLI, signed in.
In an azd environment the group and the name are AZURE_RESOURCE_GROUP and CORE_APP_NAME: \`azd env get-values\`.`;

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
const named = ["--resource-group", values["resource-group"], "--name", values.name];
const deploy = ["functionapp", "deployment", "source", "config-zip", ...named, "--src", values.package];
process.exitCode = runToEnd("az", [...deploy, "--build-remote", "false"]);
