// Development tool: writes the OpenAPI documents of the APIs, the types of those that the commands call, their calls for the
// REST client of an editor, and the AsyncAPI document of the events. With `--bruno`, writes a collection for Bruno into
// `bruno` of the system's directory instead, for the local system that runs.
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { readFacts } from "../start/run-file.ts";
import { asyncapiFiles } from "./asyncapi/document.ts";
import { writeBruno } from "./bruno.ts";
import { jsonText } from "./json-text.ts";
import { derivedFiles, openapiFiles } from "./openapi/files.ts";
import { shareRepeated } from "./openapi/share.ts";

const documents = openapiFiles(process.env);

if (process.argv.includes("--bruno")) {
  const directory = process.env.LOCAL_DIR || ".local";
  const facts = readFacts(directory);
  if (facts === undefined) {
    console.error(`There is no ${directory}/run.json. Start the local system first: npm start`);
    process.exit(1);
  }
  const { host, tokens } = facts;
  const byApi = Object.fromEntries(Object.entries(documents).map(([path, each]) => [basename(path, ".json"), each]));
  const variables = { base: host, coreToken: tokens.core, connectorToken: tokens.connector, session: "" };
  writeBruno(`${directory}/bruno`, byApi, variables);
  console.log(`${directory}/bruno`);
  process.exit();
}

const texts = {
  ...Object.fromEntries(Object.entries(documents).map(([path, each]) => [path, jsonText(shareRepeated(each))])),
  ...derivedFiles(documents),
  ...Object.fromEntries(Object.entries(asyncapiFiles()).map(([path, each]) => [path, jsonText(each)])),
};
for (const [path, text] of Object.entries(texts)) {
  writeFileSync(path, text);
  console.log(path);
}
