// Creates, lists and revokes static API tokens of an API (G3, G13).
import type { paths } from "../docs/openapi/core.ts";
import { omitUndefined } from "../lib/platform/omit-undefined.ts";
import { connectApi, dataOf, Refused } from "./api.ts";
import { readArguments, usageError } from "./read-arguments.ts";
import { signIn, signInHelp, signInOptions } from "./sign-in.ts";

const name = "npm run api-tokens";
const command = {
  name,
  help: `Creates, lists and revokes static API tokens of Core or the connector.

Usage: API_TOKEN=<token> npm run api-tokens -- <action> --url URL
  create NAME   create a token for the caller NAME and print it; it is shown only once
  list          list id, time of creation, expiry, role, day of the last use (UTC), name
  revoke ID     revoke a token; hosts refuse it within minutes
  --expires TIME  create: the token is accepted before this time, such as 2031-01-31T12:00:00Z
  --role ROLE   create: at Core read, support, import or admin (the default);
                at the connector read, support or call (the default)
  --url URL     address of the API, such as https://core.example.com/core or https://connector.example.com
${signInHelp}
  --help        show this text

API_TOKEN is a bearer token for the API; without it the command asks for one. To create or revoke, it must be an access
token of the tenant with the role Core.Admin or Connector.Call, because a static API token cannot create or revoke
others: --sign-in gets one. On the local system (npm start) the simulated tenant issues them:
  export API_TOKEN=$(curl -s -H "Content-Type: application/json" http://127.0.0.1:7076/_control/tokens \\
    -d '{"audience": "api://local", "roles": ["Core.Admin", "Connector.Call"]}' |
    node -p 'JSON.parse(fs.readFileSync(0)).token')
  npm run api-tokens -- create "my program" --url http://127.0.0.1:7071/core
(7076 is the default port of "issuer" in the table that npm start prints.)`,
  options: { ...signInOptions, url: { type: "string" }, expires: { type: "string" }, role: { type: "string" } },
  allowPositionals: true,
} as const;

type Fields = NonNullable<paths["/core/api-tokens"]["post"]["requestBody"]>["content"]["application/json"];

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
  const api = connectApi<paths>(values.url, await signIn(values, { command: name, name: values.url }), {
    prefix: "/core",
  });
  // The connector has the same three calls, at its own address.
  if (action === "list") {
    for (const { id, name, created_at, expires_at, role = "admin", last_used_on } of await dataOf(
      api.GET("/core/api-tokens"),
    ))
      console.log(
        `${id}  ${created_at}  ${expires_at ?? "no expiry"}  ${role}  ${last_used_on ?? "never used"}  ${name}`,
      );
  } else if (action === "create") {
    // The API checks the role: not each of them has the same.
    const limits = { expires_at: values.expires, role: values.role as Fields["role"] };
    const body = { name: argument, ...omitUndefined(limits) };
    const made = await dataOf(api.POST("/core/api-tokens", { body })).catch(asManagement);
    console.error(`API token ${made.id} for ${made.name}. It is shown only now:`);
    console.log(made.token);
  } else {
    await dataOf(api.DELETE("/core/api-tokens/{id}", { params: { path: { id: argument } } })).catch(asManagement);
    console.error(`API token ${argument} is revoked; hosts refuse it within minutes.`);
  }
}

/** A 401 or 403 means that API_TOKEN is not the tenant's token that creating and revoking requires. */
function asManagement(error: unknown): never {
  const isRefused = error instanceof Refused && (error.status === 401 || error.status === 403);
  throw isRefused ? usageError(name, `${error.message} API_TOKEN must be an access token of the tenant.`) : error;
}
