// Checks every peer of a deployed connector with a call that changes nothing, and reports what each response means (G13).
import { connectApi, dataOf, Refused } from "./api.ts";
import { readArguments, usageError } from "./read-arguments.ts";

const name = "npm run check-peers";
const command = {
  name,
  help: `Checks every external system of a connector with a call that changes nothing, and reports what each response means.

Usage: FUNCTIONS_KEY=<master key of the host> npm run check-peers -- --url URL [--user [IDP=]USER]…
  --url URL            address of the connector, such as https://connector.example.com
  --user [IDP=]USER    test user for whom an IdP is asked for creation options, which are then cancelled;
                       of the default IdP unless IDP is given; may be repeated
  --help               show this text

The exit code is 0 if every check succeeds, 1 if one fails, 2 if nothing was checked. On the local system (npm start)
FUNCTIONS_KEY is the member masterKey of .local/run.json.`,
  options: { url: { type: "string" }, user: { type: "string", multiple: true } },
} as const;

interface Paths {
  "/maintenance/connector/check-peers": {
    post: {
      parameters: object;
      requestBody: { content: { "application/json": { users: readonly TestUser[] } } };
      responses: {
        200: {
          content: {
            "application/json": {
              data: { findings: { peer: string; check: string; ok: boolean; finding: string }[]; ok: boolean };
            };
          };
        };
      };
    };
  };
}

interface TestUser {
  readonly idp_id?: string;
  readonly user_id: string;
}

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
});

async function main(): Promise<void> {
  const values = readArguments(command)?.values;
  if (values === undefined) return;
  if (values.url === undefined) throw usageError(name, "--url is missing.");
  const key = process.env.FUNCTIONS_KEY;
  if (!key) throw usageError(name, "FUNCTIONS_KEY is not set.");
  const api = connectApi<Paths>(values.url, { functionsKey: key });
  const users = (values.user ?? []).map(parseUser);
  const { data } = await dataOf(api.POST("/maintenance/connector/check-peers", { body: { users } })).catch(error => {
    throw error instanceof Refused && error.status === 401 ? new Error("The master key is not accepted (401).") : error;
  });
  const { findings, ok } = data;
  for (const { peer, check, ok: isOk, finding } of findings) {
    console.log(`${isOk ? "ok  " : "FAIL"}  ${peer}: ${check}\n      ${finding}`);
  }
  if (users.length === 0) console.log("\nNo identity provider was asked: name a test user by --user.");
  if (!ok) process.exitCode = 1;
}

/** Parses `entra=jane@example.com`; a user without an IdP belongs to the default IdP. */
function parseUser(text: string): TestUser {
  const [, idp, user = text] = /^([A-Za-z0-9-]+)=(.+)$/.exec(text) ?? [];
  return { ...(idp !== undefined && { idp_id: idp }), user_id: user };
}
