import type { PeerName } from "../peers/peer-names.ts";
import type { Facts } from "./run-file.ts";

interface BannerOptions {
  /** Time from the start of the process until the system was ready. */
  readonly readyMs: number;
  /** The file with the facts. */
  readonly path: string;
  /** Sentences about what differs from a usual start. */
  readonly notes: readonly string[];
}

type Row = readonly [name: string, words: string, value: string];

const peerWords: Readonly<Record<PeerName, string>> = {
  vault: "Key Vault",
  issuer: "tenant tokens: POST /_control/tokens",
  delivery: "delivery service: programs and ships keys",
  enrollment: "enrollment service of on-site keys",
  rfpr: "pre-registration API of on-site keys",
  entra: "identity provider, the default",
  pingone: "identity provider",
  aic: "identity provider",
  mail: "mail service; mails: GET /_control/mails",
  sink: "receiver of events: GET /_control/events",
};

/** Returns what `npm start` prints when the system is ready: addresses, tokens, and a first call to paste. */
export function banner(facts: Facts, { readyMs, path, notes }: BannerOptions): string {
  const { host, tokens, console } = facts;
  return text([
    `Local system ready in ${seconds(readyMs)}. A development tool: peers are simulated, nothing leaves this machine.`,
    table([
      ...consoleRow(console),
      ["APIs", "Core /core, Client /client, connector /v2 and /v1", host],
      ...partRows(facts),
    ]),
    ...notes,
    "Your own receiver of events:  EVENT_SINK_URLS=http://127.0.0.1:8080 npm start  (docs/examples/event-receiver.mjs)",
    `A first call:  curl -H "Authorization: Bearer ${tokens.connector}" ${host}/v2/status`,
    `Facts for programs: ${path}. Guides: docs/index.md. Options: npm start -- --help. Ctrl-C stops the system.`,
  ]);
}

/** Returns what `npm start -- --peers-only` prints. @param settingsPath the settings for a host */
export function peersBanner(
  facts: Facts,
  { readyMs, path, notes, settingsPath }: BannerOptions & { readonly settingsPath: string },
): string {
  return text([
    `Storage and peers ready in ${seconds(readyMs)}, without a host. A development tool: nothing leaves this machine.`,
    table([...consoleRow(facts.console), ["APIs", "where your host is expected", facts.host], ...partRows(facts)]),
    ...notes,
    `Copy the settings for your host once, and again after a note about ports:\n  cp ${settingsPath} . && npm run build && func start`,
    `Facts for programs: ${path}. Ctrl-C stops storage and peers.`,
  ]);
}

const consoleRow = (address: string | undefined): readonly Row[] =>
  address === undefined ? [] : [["Console", "the system in a browser: order, follow, read mails", address]];

const partRows = ({ tokens, peers, storage }: Facts): readonly Row[] => [
  ["", "", ""],
  ["Tokens", "for Core", tokens.core],
  ["", "for the connector", tokens.connector],
  ["", "", ""],
  ...Object.entries(peers).map(([name, address]): Row => [name, peerWords[name as PeerName], address]),
  ...storageRows(storage),
];

const storageRows = (connectionString: string): readonly Row[] =>
  ["Table", "Blob"].flatMap((kind): readonly Row[] => {
    const address = new RegExp(`${kind}Endpoint=([^;]+)`).exec(connectionString)?.[1];
    return address === undefined ? [] : [[`${kind.toLowerCase()}s`, "storage (Azurite)", address]];
  });

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const text = (paragraphs: readonly string[]): string => `\n${paragraphs.join("\n\n")}\n`;

function table(rows: readonly Row[]): string {
  const widthOf = (column: 0 | 1) => Math.max(...rows.map(row => row[column].length));
  const [names, words] = [widthOf(0), widthOf(1)];
  return rows.map(row => `  ${row[0].padEnd(names)}  ${row[1].padEnd(words)}  ${row[2]}`.trimEnd()).join("\n");
}
