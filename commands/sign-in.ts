import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { TokenCredential } from "@azure/identity";
import { singleFlight } from "../lib/platform/async.ts";
import { usageError } from "./read-arguments.ts";

/** The options of a command that signs its operator in. */
export const signInOptions = { "sign-in": { type: "string" }, resource: { type: "string" } } as const;

/** The lines of a command's help about `signInOptions`. */
export const signInHelp = `  --sign-in WAY    azure-cli or browser: sign in as a person of the tenant instead of with a static API token
  --resource URI   application ID URI of the API, api://<application id>, for --sign-in ("Callers" in docs/deploy.md);
                   AZURE_TENANT_ID and AZURE_CLIENT_ID choose tenant and app of the browser sign-in`;

interface Way {
  readonly "sign-in"?: string | undefined;
  readonly resource?: string | undefined;
}

/** Renews a token before its last two minutes, as the SDKs do. */
const leftMs = 120_000;

/**
 * Signs a person of the tenant in. Returns what gives the current token, which is renewed; undefined without
 * `--sign-in`. The person signs in when the first token is needed.
 * @param command for messages
 */
export async function signInPerson(
  { "sign-in": way, resource }: Way,
  command: string,
): Promise<(() => Promise<string>) | undefined> {
  if (way === undefined) return undefined;
  if (way !== "azure-cli" && way !== "browser") throw usageError(command, "--sign-in must be azure-cli or browser.");
  if (resource === undefined) throw usageError(command, "--resource is missing: api://<application id>.");
  const { AzureCliCredential, InteractiveBrowserCredential } = await import("@azure/identity");
  const { AZURE_TENANT_ID: tenantId, AZURE_CLIENT_ID: clientId } = process.env;
  const app = { ...(tenantId && { tenantId }), ...(clientId && { clientId }) };
  const scope = `${resource.replace(/\/$/, "")}/.default`;
  if (way === "browser") return tokensOf(oneWindow(new InteractiveBrowserCredential(app)), scope);
  return tokensOf(new AzureCliCredential(tenantId ? { tenantId } : {}), scope);
}

/**
 * Returns a static API token from the environment, or from a prompt that does not show it. A token is never taken from
 * the arguments, which other users of the machine can read.
 * @param variable of the environment @param api for the prompt @param command for messages
 */
export async function staticToken(variable: string, api: string, command: string): Promise<string> {
  const question = `API token of ${api}: `;
  return process.env[variable]?.trim() || (await askHidden(question, usageError(command, `${variable} is not set.`)));
}

/** Returns a function that returns the current token: the Azure CLI takes a second for each. */
function tokensOf(credential: TokenCredential, scope: string): () => Promise<string> {
  let current: { readonly token: string; readonly expiresOnTimestamp: number } | undefined;
  const renew = singleFlight(async () => {
    current = (await credential.getToken(scope)) ?? undefined;
    if (current === undefined) throw new Error("The sign-in returned no token.");
    return current;
  });
  return async () =>
    current !== undefined && current.expiresOnTimestamp - leftMs > Date.now() ? current.token : (await renew()).token;
}

/**
 * Returns the credential of a browser sign-in. It opens a window when a token cannot be renewed without one. After a
 * sign-in that failed, it throws that failure again and opens no other window: each call of a long run would open one.
 * Throws a failure before any window, as without a network, as it is: the next call tries again.
 */
export function oneWindow(credential: TokenCredential): TokenCredential {
  let failed: Error | undefined;
  return {
    getToken: async scope => {
      if (failed !== undefined) throw failed;
      return credential.getToken(scope).catch((error: unknown) => {
        if (!(error instanceof Error) || !failuresOfWindow.has(error.name)) throw error;
        // Without a cause, which commands would print in its place.
        failed = new Error(`The sign-in failed, start the command again: ${error.message}`);
        throw failed;
      });
    },
  };
}

/** The names of the SDK's errors after which the next call would open a window. */
const failuresOfWindow: ReadonlySet<string> = new Set(["AuthenticationError", "AuthenticationRequiredError"]);

/** Asks on the terminal, which does not show what is typed. Throws if there is none. */
async function askHidden(question: string, problem: Error): Promise<string> {
  if (process.stdin.isTTY !== true) throw problem;
  process.stderr.write(question);
  const output = new Writable({ write: (_text, _encoding, written) => written() });
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  const ended = new AbortController();
  terminal.once("close", () => ended.abort());
  try {
    const token = (await terminal.question("", { signal: ended.signal })).trim();
    if (token !== "") return token;
  } catch {
    // Ctrl-C or Ctrl-D.
  } finally {
    terminal.close();
    process.stderr.write("\n");
  }
  throw new Error("No token was typed.");
}
