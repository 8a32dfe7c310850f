// Creates, lists and revokes static API tokens of an API (G3, G13).
import * as z from "zod";
import { type ApiAnswer, bodyOf, connectApi, refusalOf } from "./api.ts";
import { readArguments, usageError } from "./read-arguments.ts";

const name = "npm run api-tokens";
const command = {
  name,
  help: `Creates, lists and revokes static API tokens of Core or the connector.

Usage: API_TOKEN=<token> npm run api-tokens -- <action> --url URL
  create NAME   create a token for the caller NAME and print it; it is shown only once
  list          list id, time of creation, expiry, role (admin: every call), day of the last use (UTC), name
  revoke ID     revoke a token; hosts refuse it within minutes
  --expires TIME  create: the token is accepted before this time, such as 2031-01-31T12:00:00Z
  --role ROLE   create, Core only: read, import or admin (the default)
  --url URL     address of the API, such as https://core.example.com/core or https://connector.example.com
  --help        show this text

API_TOKEN is a bearer token for the API. To create or revoke, it must be an access token of the tenant with the role
Core.Admin or Connector.Call, because a static API token cannot create or revoke others. In Azure, "Callers" in
docs/deploy.md shows how to get one. On the local system (npm start) the simulated tenant issues them:
  export API_TOKEN=$(curl -s -H "Content-Type: application/json" http://127.0.0.1:7076/_control/tokens \\
    -d '{"audience": "api://local", "roles": ["Core.Admin", "Connector.Call"]}' | node -p 'JSON.parse(fs.readFileSync(0)).token')
  npm run api-tokens -- create "my program" --url http://127.0.0.1:7071/core
(7076 is the default port of "issuer" in the table that npm start prints.)`,
  options: { url: { type: "string" }, expires: { type: "string" }, role: { type: "string" } },
  allowPositionals: true,
} as const;

const created = z.object({ id: z.string(), name: z.string(), token: z.string() });
const listed = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    created_at: z.string(),
    expires_at: z.string().optional(),
    role: z.string().optional(),
    last_used_on: z.string().optional(),
  }),
);

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});

async function main(): Promise<void> {
  const parsed = readArguments(command);
  if (parsed === undefined) return;
  const { values, positionals } = parsed;
  const [action, argument = "", ...others] = positionals;
  const needsArgument = action === "create" || action === "revoke";
  if (action !== "list" && !needsArgument) throw usageError(name, "The action must be create, list or revoke.");
  if (needsArgument !== (argument !== "") || others.length > 0)
    throw usageError(name, needsArgument ? `${action} needs one argument.` : "list has no argument.");
  if (values.url === undefined) throw usageError(name, "--url is missing.");
  const token = process.env.API_TOKEN;
  if (!token) throw usageError(name, "API_TOKEN is not set.");
  const api = connectApi(values.url, token);
  if (action === "list") {
    const answer = await api.call({ method: "GET", path: "/api-tokens" });
    if (answer.status !== 200) throw new Error(refusalOf(answer));
    for (const { id, name, created_at, expires_at, role = "admin", last_used_on } of bodyOf(listed, answer, api)) {
      console.log(
        `${id}  ${created_at}  ${expires_at ?? "no expiry"}  ${role}  ${last_used_on ?? "never used"}  ${name}`,
      );
    }
  } else if (action === "create") {
    const answer = await api.call({
      method: "POST",
      path: "/api-tokens",
      body: { name: argument, expires_at: values.expires, role: values.role },
    });
    if (answer.status !== 201) throw managementError(answer);
    const made = bodyOf(created, answer, api);
    console.error(`API token ${made.id} for ${made.name}. It is shown only now:`);
    console.log(made.token);
  } else {
    const answer = await api.call({ method: "POST", path: `/api-tokens/${encodeURIComponent(argument)}/delete` });
    if (answer.status !== 204) throw managementError(answer);
    console.error(`API token ${argument} is revoked; hosts refuse it within minutes.`);
  }
}

/** A 401 or 403 means that API_TOKEN is not the tenant's token that creating and revoking requires. */
function managementError(answer: ApiAnswer): Error {
  const isRefused = answer.status === 401 || answer.status === 403;
  return isRefused
    ? usageError(name, `${refusalOf(answer)} API_TOKEN must be an access token of the tenant.`)
    : new Error(refusalOf(answer));
}
