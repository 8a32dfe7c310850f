import type { HoldRule } from "../host/pausing-proxy.ts";

/** Text within one JSON column of a row, whose own quotes are escaped. */
const within = (column: string, text: string) =>
  new RegExp(`"${column}":"(?:[^"\\\\]|\\\\.)*${text.replaceAll('"', '\\\\"')}`);

/** The writes of the path in their order, as a pausing proxy before table storage sees them. */
export const writes = {
  request: { path: /\$batch$/, body: /"state":"received"/ },
  keysAndIntent: { path: /\$batch$/, body: within("delivery", '"sentAt"') },
  sealedKeys: { path: /\$batch$/, body: within("credentials00", '"responseKey"') },
  startedOnSite: { path: /\$batch$/, body: /"state":"started"/ },
  enrolled: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"activation_pending"') },
  started: { path: /\/credentialrequests\(.*RowKey='request'/, body: /"state":"started"/ },
  pollResult: { path: /\$batch$/, body: within("credentials00", '"activation_pending"') },
  activationTry: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"triedAt"') },
  activation: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"state":"active"') },
  mailTry: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("mail", '"triedAt"') },
  mailSent: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("mail", '"state":"sent"') },
} satisfies Record<string, Omit<HoldRule, "phase">>;
