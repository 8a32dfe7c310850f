import type { Facts } from "./run-file.ts";
import { sampleRequest } from "./sample-request.ts";
import type { System } from "./system.ts";

/**
 * What a newcomer reads when the system is up: addresses, tokens, and three lines to paste, which stand by themselves.
 * `moved`: settings that are not the local system's own.
 */
export function welcome(
  { host, tokens, peers, storage, console }: Facts,
  { path, moved }: { path: string; moved: readonly string[] },
): string {
  const auth = `-H "Authorization: Bearer ${tokens.connector}"`;
  const body = JSON.stringify(sampleRequest).replaceAll("'", "'\\''");
  return `
The system is up. This is a development tool: every peer is simulated, nothing leaves this machine.

${table({ ...(console && { "to look at": console }), host, ...peers, ...storageAddresses(storage) })}

${table({ "token for the Core API": tokens.core, "token for the connector": tokens.connector, "for programs": path })}
${moved.length === 0 ? "" : `\nYour own settings stand instead of the local system's: ${moved.join(", ")}.\n`}
Order a key (it ships after 2 seconds), have it activated, read its PIN mail:

curl -sw '\\n' ${auth} -H "Content-Type: application/json" -d '${body}' ${host}/v2/credential-requests; sleep 2

curl -s ${auth} ${host}/v2/operations/process-shipments --next -sw '\\n' ${auth} -X POST ${host}/v2/operations/process-credential-requests

curl -sw '\\n' ${peers.mail}/_control/mails

Ctrl-C stops it. The README says more; npm run demo tells the whole story.
`;
}

/** What a newcomer reads who brings a host. `path`: the settings for it. */
export function peersWelcome(
  { tokens, peerUrls, connectionString, console }: Omit<System, "settings" | "close">,
  path: string,
): string {
  return `
Storage and peers are up, without a host. This is a development tool: every peer is simulated, nothing leaves this machine.

${table({ ...(console && { "to look at": console.url }), ...peerUrls, ...storageAddresses(connectionString) })}

${table({ "token for the Core API": tokens.core, "token for the connector": tokens.connector, "settings for a host": path })}

A host of your own takes them by: cp ${path} . && npm run build && func start

Ctrl-C stops them.
`;
}

const table = (rows: Readonly<Record<string, string>>): string => {
  const width = Math.max(...Object.keys(rows).map(name => name.length));
  return Object.entries(rows)
    .map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
    .join("\n");
};

const storageAddresses = (connectionString: string): Record<string, string> =>
  Object.fromEntries(
    ["Table", "Blob"].flatMap(kind => {
      const address = new RegExp(`${kind}Endpoint=([^;]+)`).exec(connectionString)?.[1];
      return address === undefined ? [] : [[`${kind.toLowerCase()}s`, address]];
    }),
  );
