// Serves the console on this machine for the APIs of a deployment, signed in as its operator (G13).
import { randomBytes } from "node:crypto";
import { apiUrl } from "./api.ts";
import { deploymentApi } from "./console/deployment.ts";
import { serveConsole } from "./console/server.ts";
import { readArguments, usageError } from "./read-arguments.ts";
import { signInHelp, signInOptions, signInPerson, staticToken } from "./sign-in.ts";

const name = "npm run console";
const command = {
  name,
  help: `Serves a page on this machine in which an operator finds and helps users, OTP keys and requests of a deployment.

Usage: [CORE_TOKEN=<token>] [CONNECTOR_TOKEN=<token>] npm run console -- --core URL --connector URL
  --core URL       address of the Core API, such as https://core.example.com/core
  --connector URL  address of the connector, such as https://connector.example.com; one of the two is sufficient
  --port PORT      port of the page on 127.0.0.1; a free one by default
${signInHelp}
  --help           show this text

CORE_TOKEN and CONNECTOR_TOKEN are static API tokens; without them the command asks for them. The page offers what the
roles of the tokens permit. It is served to the address that the command prints, and to no other.`,
  options: {
    ...signInOptions,
    core: { type: "string" },
    connector: { type: "string" },
    port: { type: "string" },
  },
} as const;

await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
});

async function main(): Promise<void> {
  const values = readArguments(command)?.values;
  if (values === undefined) return;
  const { core, connector, port = "0" } = values;
  if (core === undefined && connector === undefined) throw usageError(name, "--core and --connector are missing.");
  if (!/^\d{1,5}$/.test(port)) throw usageError(name, "--port must be a number.");
  // One sign-in for both APIs, before the page is served: one that is refused would be tried again by each call of the page.
  const person = await signInPerson(values, name);
  await person?.();
  const open = async (url: string, variable: string, api: string) => {
    const token = person ?? (await staticToken(variable, api, name));
    return { url: apiUrl(url), token: typeof token === "string" ? async () => token : token };
  };
  const closed = new AbortController();
  const apis = {
    ...(core !== undefined && { core: await open(core, "CORE_TOKEN", "Core") }),
    ...(connector !== undefined && { connector: await open(connector, "CONNECTOR_TOKEN", "the connector") }),
  };
  const secret = randomBytes(24).toString("base64url");
  const server = await serveConsole({ answer: deploymentApi(apis, closed.signal), port: Number(port), secret });
  console.log(`Console: ${server.url}/#key=${secret}\nThe address is for you alone. Ctrl-C stops the console.`);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      closed.abort();
      void server.close();
    });
}
