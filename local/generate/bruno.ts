import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callsOf, type Document, type ExampleCall } from "./openapi/calls.ts";

/** The variables of an environment of the collection. */
export type Variables = Readonly<Record<string, string>>;

/** The header of each security scheme, by API: a token is for one API. */
const credentials: Readonly<Record<string, (api: string) => readonly [name: string, value: string]>> = {
  bearer: api => ["Authorization", `Bearer {{${api}Token}}`],
  sessionHeader: () => ["X-Service-Session", "{{session}}"],
};

/** A value of the examples, and where an earlier call has it in its response: the calls after that one use that. */
const found: Readonly<Record<string, Readonly<Record<string, readonly [at: string, example: string]>>>> = {
  clientLogin: { session: ["session", "{{session}}"] },
  v2CreateCredentialRequest: {
    credentialRequest: ["data.credential_request_id", "7c9e6679-7425-40de-944b-e07fc1f90ae7"],
  },
  v2ListCredentialRequestEvents: { event: ["data[0].id", "eabbd68f-6c24-8d3b-8ac7-32526a6f9d12"] },
  v1CreateShipment: { shipment: ["data.shipment_id", "4711"] },
};
const examples = Object.values(found).flatMap(values =>
  Object.entries(values).map(([name, [, example]]) => [example, `{{${name}}}`] as const),
);

/** A time of the examples that must be in the future. */
const soon = "2026-02-01T10:00:00.000Z";

/**
 * Writes the examples of OpenAPI documents as a collection for Bruno: a folder for each document, and one environment.
 * Replaces what the directory had.
 * @param documents by the name of the API, before their repeated parts are shared
 */
export function writeBruno(directory: string, documents: Readonly<Record<string, object>>, variables: Variables): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "environments"), { recursive: true, mode: 0o700 });
  const manifest = { version: "1", name: "FIDO credential back end", type: "collection" };
  writeFileSync(join(directory, "bruno.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const values = Object.entries(variables).map(([name, value]) => `${name}: ${value}`);
  // It has tokens.
  writeFileSync(join(directory, "environments", "local.bru"), block("vars", values), { mode: 0o600 });
  for (const [api, document] of Object.entries(documents)) {
    mkdirSync(join(directory, api));
    for (const [index, call] of callsOf(document as Document).entries())
      writeFileSync(join(directory, api, `${call.operationId}.bru`), request(api, call, index + 1));
  }
}

function request(api: string, call: ExampleCall, seq: number): string {
  const { operationId, summary, method, schemes, target, headers, body } = call;
  const credential = Object.entries(credentials).find(([scheme]) => schemes.includes(scheme))?.[1](api);
  const named = [...headers, ...(credential === undefined ? [] : [credential])];
  const values = Object.entries(found[operationId] ?? {});
  const url = examples.reduce((known, [example, variable]) => known.replaceAll(example, variable), target);
  const text = body === undefined ? undefined : JSON.stringify(body, undefined, 2);
  return [
    block("meta", [`name: ${operationId}`, "type: http", `seq: ${seq}`]),
    block(method.toLowerCase(), [`url: {{base}}${url}`, `body: ${text === undefined ? "none" : "json"}`, "auth: none"]),
    block(
      "headers",
      named.map(([name, value]) => `${name}: ${value}`),
    ),
    ...(text === undefined ? [] : [block("body:json", text.replaceAll(soon, "{{soon}}").split("\n"))]),
    ...(text?.includes(soon) === true
      ? [block("script:pre-request", ['bru.setVar("soon", new Date(Date.now() + 24 * 3600 * 1000).toISOString());'])]
      : []),
    ...(values.length === 0
      ? []
      : [
          block(
            "script:post-response",
            values.map(([name, [at]]) => `if (res.status < 300) bru.setVar("${name}", res.body.${at});`),
          ),
        ]),
    block("docs", [summary]),
  ].join("\n");
}

const block = (name: string, lines: readonly string[]): string =>
  `${name} {\n${lines.map(line => `  ${line}\n`).join("")}}\n`;
