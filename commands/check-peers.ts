// Checks every peer of a deployed connector with a call that changes nothing, and reports what each response means (G13).
import { parseArgs } from "node:util";
import * as z from "zod";
import { connectApi, refusalOf } from "./api.ts";

const usage = `Usage: npm run check-peers -- --url <address of the connector> [--user [IDP=]USER]…
  --url    as in https://connector.example.com
  --user   a test user who is asked for creation options, which are taken back; of the default IdP where none is named
The host's master key is read from FUNCTIONS_KEY.`;

const answered = z.object({
  data: z.object({
    ok: z.boolean(),
    findings: z.array(z.object({ peer: z.string(), check: z.string(), ok: z.boolean(), finding: z.string() })),
  }),
});

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
});

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { url: { type: "string" }, user: { type: "string", multiple: true } } });
  const key = process.env.FUNCTIONS_KEY;
  if (values.url === undefined || key === undefined) throw new Error(usage);
  const api = connectApi(values.url, { functionsKey: key });
  const users = (values.user ?? []).map(parseUser);
  const answer = await api.call({ method: "POST", path: "/maintenance/connector/check-peers", body: { users } });
  if (answer.status === 401) throw new Error("The master key is not accepted (401).");
  if (answer.status !== 200) throw new Error(refusalOf(answer));
  const { findings, ok } = answered.parse(answer.body).data;
  for (const { peer, check, ok: isOk, finding } of findings) {
    console.log(`${isOk ? "ok  " : "FAIL"}  ${peer}: ${check}\n      ${finding}`);
  }
  if (users.length === 0) console.log("\nNo identity provider was asked: name a test user by --user.");
  if (!ok) process.exitCode = 1;
}

/** Parses `entra=jane@example.com`; a user without an IdP belongs to the default IdP. */
function parseUser(text: string): { readonly idp_id?: string; readonly user_id: string } {
  const [, idp, user = text] = /^([A-Za-z0-9-]+)=(.+)$/.exec(text) ?? [];
  return { ...(idp !== undefined && { idp_id: idp }), user_id: user };
}
