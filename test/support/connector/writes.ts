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
  shipmentRow: { method: "POST", path: /\/fprshipments/ },
  started: { path: /\/credentialrequests\(.*RowKey='request'/, body: /"state":"started"/ },
  pollResult: { path: /\$batch$/, body: within("credentials00", '"activation_pending"') },
  activationTry: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"triedAt"') },
  activation: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"state":"active"') },
  revocation: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"state":"revoking"') },
  revoked: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("credentials00", '"state":"revoked"') },
  mailTry: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("mail", '"triedAt"') },
  /** Any change of a request that reports events. */
  eventRow: { path: /\$batch$/, body: /RowKey='event:|"RowKey":"event:/ },
  /** The lease before the first event is sent, and the result of the first event. */
  deliveryLease: { path: /\/credentialrequests\(.*RowKey='delivery:/, body: /"done":0[,}]/ },
  deliveryResult: { path: /\/credentialrequests\(.*RowKey='delivery:/, body: /"done":1[,}]/ },
  mailSent: { path: /\/credentialrequests\(.*RowKey='key:/, body: within("mail", '"state":"sent"') },
} satisfies Record<string, Omit<HoldRule, "phase">>;
