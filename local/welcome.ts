import type { Facts } from "./facts.ts";
import { sampleRequest } from "./sample-request.ts";

/** What a newcomer reads when the system is up: addresses, tokens and lines to paste. */
export function welcome({ host, tokens, peers }: Facts, path: string): string {
  const auth = `-H "Authorization: Bearer $TOKEN"`;
  return `
The system is up. This is a development tool: every peer is simulated, nothing leaves this machine.

  host        ${host}
${Object.entries(peers)
  .map(([name, url]) => `  ${name.padEnd(11)} ${url}`)
  .join("\n")}
  facts       ${path}

Tokens for a week:
  core        ${tokens.core}
  connector   ${tokens.connector}

Order a key, look at it, process it (the key is "shipped" two seconds after it was ordered):

  TOKEN=${tokens.connector}
  curl -s ${auth} -H "Content-Type: application/json" -d '${JSON.stringify(sampleRequest).replaceAll("'", "'\\''")}' ${host}/v2/credential-requests
  curl -s ${auth} ${host}/v2/operations/process-shipments
  curl -s -X POST ${auth} ${host}/v2/operations/process-credential-requests; curl -s ${peers["mail"]}/_control/mails

Ctrl-C stops it.`;
}
