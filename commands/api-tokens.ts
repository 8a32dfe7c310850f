// Creates, lists and revokes static API tokens of an API (G3, G13).
import type { paths } from "../docs/openapi/core.ts";
import { omitUndefined } from "../lib/platform/collections.ts";
import { dataOf, Refused } from "./api.ts";
import { exitHelp, operatorHelp, printJson, printTable, runOperatorCommand } from "./operator-command.ts";

const command = {
  name: "npm run api-tokens",
  help: `Creates, lists and revokes static API tokens of Core or the connector.

Usage: API_TOKEN=<token> npm run api-tokens -- <action> --url URL
  create NAME   create a token for the caller NAME and print it; it is shown only once
  list          list the tokens with the day of their last use (UTC)
  revoke ID     revoke a token; hosts refuse it within minutes
  --expires TIME  create: the token is accepted before this time, such as 2031-01-31T12:00:00Z
  --role ROLE   create: at Core read, support, import or admin (the default);
                at the connector read, support or call (the default)
  --url URL     address of the API, such as https://core.example.com/core or https://connector.example.com
  --json        list, create: print what the API answers, for programs
${operatorHelp}

API_TOKEN is a bearer token for the API; without it the command asks for one. To create or revoke, it must be an access
token of the tenant with the role Core.Admin or Connector.Call, because a static API token cannot create or revoke
others: --sign-in gets one. On the local system (npm start) the simulated tenant issues them:
  export API_TOKEN=$(curl -s -H "Content-Type: application/json" http://127.0.0.1:7076/_control/tokens \\
    -d '{"audience": "api://local", "roles": ["Core.Admin", "Connector.Call"]}' |
    node -p 'JSON.parse(fs.readFileSync(0)).token')
  npm run api-tokens -- create "my program" --url http://127.0.0.1:7071/core
(7076 is the default port of "issuer" in the table that npm start prints.)

${exitHelp}`,
  options: { expires: { type: "string" }, role: { type: "string" } },
  actions: { create: [1, 1, "expires", "role"], list: [0, 0], revoke: [1, 1] },
  fields: { expires_at: "expires", role: "role" },
} as const;

type Fields = NonNullable<paths["/core/api-tokens"]["post"]["requestBody"]>["content"]["application/json"];

await runOperatorCommand(command, async ({ action, argument, values, connect }) => {
  // The connector has the same three calls, at its own address.
  const api = connect<paths>({ prefix: "/core" });
  if (action === "list") {
    const tokens = await dataOf(api.GET("/core/api-tokens"));
    if (values.json) return printJson(tokens);
    printTable(
      ["ID", "CREATED", "EXPIRES", "ROLE", "LAST USED", "NAME"],
      tokens.map(each => [
        each.id,
        each.created_at,
        each.expires_at,
        each.role ?? "admin",
        each.last_used_on ?? "never",
        each.name,
      ]),
    );
  } else if (action === "create") {
    // The API checks the role: not each of them has the same.
    const limits = { expires_at: values.expires, role: values.role as Fields["role"] };
    const body = { name: argument, ...omitUndefined(limits) };
    const made = await dataOf(api.POST("/core/api-tokens", { body })).catch(asManagement);
    if (values.json) return printJson(made);
    console.error(`API token ${made.id} for ${made.name}. It is shown only now:`);
    console.log(made.token);
  } else {
    await dataOf(api.DELETE("/core/api-tokens/{id}", { params: { path: { id: argument } } })).catch(asManagement);
    console.error(`API token ${argument} is revoked; hosts refuse it within minutes.`);
  }
});

/** A 401 or 403 means that API_TOKEN is not the tenant's token that creating and revoking requires. */
function asManagement(error: unknown): never {
  const isRefused = error instanceof Refused && (error.status === 401 || error.status === 403);
  throw isRefused ? new Error(`${error.message} API_TOKEN must be an access token of the tenant.`) : error;
}
