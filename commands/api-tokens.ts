// Creates, lists and revokes static API tokens of an API (decisions G3, G13).
import { parseArgs } from "node:util";
import * as z from "zod";
import { connectApi, refusalOf } from "./api.ts";

const usage = `Usage: npm run api-tokens -- <create NAME | list | revoke ID> --url <address of the api>
  --url   as in https://core.example.com/core, or https://connector.example.com
The bearer token of an administrator is read from API_TOKEN.`;

const created = z.object({ id: z.string(), name: z.string(), token: z.string() });
const listed = z.array(z.object({ id: z.string(), name: z.string(), created_at: z.string() }));

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ options: { url: { type: "string" } }, allowPositionals: true });
  const [action, argument = ""] = positionals;
  const token = process.env.API_TOKEN;
  if (values.url === undefined || token === undefined || action === undefined) throw new Error(usage);
  const api = connectApi(values.url, token);
  if (action === "list") {
    const answer = await api.call({ method: "GET", path: "/api-tokens" });
    if (answer.status !== 200) throw new Error(refusalOf(answer));
    for (const { id, name, created_at } of listed.parse(answer.body)) console.log(`${id}  ${created_at}  ${name}`);
  } else if (action === "create" && argument !== "") {
    const answer = await api.call({ method: "POST", path: "/api-tokens", body: { name: argument } });
    if (answer.status !== 201) throw new Error(refusalOf(answer));
    const made = created.parse(answer.body);
    console.error(`API token ${made.id} for ${made.name}. It is shown now and never again:`);
    console.log(made.token);
  } else if (action === "revoke" && argument !== "") {
    const answer = await api.call({ method: "POST", path: `/api-tokens/${encodeURIComponent(argument)}/delete` });
    if (answer.status !== 204) throw new Error(refusalOf(answer));
    console.error(`API token ${argument} is revoked; hosts refuse it within minutes.`);
  } else throw new Error(usage);
}
