import { callsOf, type Document, type ExampleCall } from "./calls.ts";

/** The variable and the header of each security scheme. */
const credentials: Readonly<Record<string, { readonly variable: string; readonly header: string }>> = {
  bearer: { variable: "token", header: "Authorization: Bearer {{token}}" },
  sessionHeader: { variable: "session", header: "X-Service-Session: {{session}}" },
};

/** A time of the examples that must be in the future. The clients have no common variable for one. */
const soon = "2026-02-01T10:00:00.000Z";
const soonVariable = ["# Replace it by a time in the next 31 days.", `@soon = ${soon}`];

/** Returns the calls of an OpenAPI document with their examples, for the REST client of an editor. */
export function httpCollection(document: object): string {
  const { info } = document as Document;
  const calls = callsOf(document as Document);
  const used = Object.values(credentials).filter(({ variable }) =>
    calls.some(call => credentialOf(call)?.variable === variable),
  );
  const text = calls.flatMap(request).join("\n");
  const head = [
    `# ${info.title}. Generated from the OpenAPI document: npm run openapi.`,
    "# For the REST clients of VS Code and JetBrains. npm start prints the address and writes .local/run.json.",
    "",
    "@base = http://127.0.0.1:7071",
    ...used.map(({ variable }) => `@${variable} = `),
    ...(text.includes(soon) ? soonVariable : []),
  ];
  return `${head.join("\n")}\n${text.replaceAll(soon, "{{soon}}")}\n`;
}

const credentialOf = ({ schemes }: ExampleCall) =>
  Object.entries(credentials).find(([scheme]) => schemes.includes(scheme))?.[1];

function request(call: ExampleCall): string[] {
  const { operationId, summary, method, target, headers, body } = call;
  const credential = credentialOf(call);
  return [
    "",
    `### ${operationId}: ${summary}`,
    `${method} {{base}}${target}`,
    ...(credential === undefined ? [] : [credential.header]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ["Content-Type: application/json", "", JSON.stringify(body, undefined, 2)]),
  ];
}
