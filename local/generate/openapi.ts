// Development tool: writes the OpenAPI documents of the APIs, their types for openapi-fetch, their calls for the REST client
// of an editor, and the AsyncAPI document of the events. With `--bruno`, writes a collection for Bruno into `.local/bruno`
// instead, for the local system that runs.
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { readFacts } from "../start/run-file.ts";
import { asyncapiFiles } from "./asyncapi/document.ts";
import { writeBruno } from "./bruno.ts";
import { jsonText } from "./json-text.ts";
import { clientTypes } from "./openapi/client-types.ts";
import { openapiFiles } from "./openapi/files.ts";
import { httpCollection } from "./openapi/http-collection.ts";
import { shareRepeated } from "./openapi/share.ts";

const documents = openapiFiles(process.env);

if (process.argv.includes("--bruno")) {
  const facts = readFacts(".local");
  if (facts === undefined) throw new Error("There is no .local/run.json. Start the local system first: npm start");
  const { host, tokens, masterKey } = facts;
  const byApi = Object.fromEntries(Object.entries(documents).map(([path, each]) => [basename(path, ".json"), each]));
  const variables = { base: host, coreToken: tokens.core, connectorToken: tokens.connector, session: "", masterKey };
  writeBruno(".local/bruno", byApi, variables);
  console.log(".local/bruno");
  process.exit();
}

for (const [path, document] of Object.entries(documents)) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, jsonText(shareRepeated(document)));
  writeFileSync(path.replace(/json$/, "http"), httpCollection(document));
  writeFileSync(path.replace(/json$/, "ts"), clientTypes(basename(path), document));
  console.log(path);
}

for (const [path, document] of Object.entries(asyncapiFiles())) {
  writeFileSync(path, jsonText(document));
  console.log(path);
}
