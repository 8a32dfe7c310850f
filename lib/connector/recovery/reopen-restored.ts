import type { Instant } from "../../time.ts";
import { type Credential, type CredentialRequest, queueOf, type SecurityKey } from "../model/request.ts";
import { isTerminal, startRequest } from "../model/states.ts";

export interface Restored {
  readonly request: CredentialRequest;
  readonly keys: readonly SecurityKey[];
}

/**
 * A request out of a backup. What was done after the backup was made is not known here, so whatever is open looks like a call without
 * an answer: it is read back at its peer before anything is called again (decisions C6, C8, C14).
 */
export function reopenRestored({ request, keys }: Restored): Restored {
  const { lease, ...held } = request;
  const tried = keys.map(key => restoredKey(key, request.createdAt));
  return mayBeHandedOver(request, keys) ? started(held, tried) : { request: marked(held), keys: tried };
}

/** Nothing is handed over on site before its response keys are stored (decision C6). */
const mayBeHandedOver = ({ state, shipment }: CredentialRequest, keys: readonly SecurityKey[]): boolean =>
  state === "received" &&
  shipment === undefined &&
  keys.every(({ credentials }) => credentials.every(({ responseKey }) => responseKey !== undefined));

/** Undone as never started, it would lose what was enrolled since: so the enrollment side is asked instead. */
function started({ due, ...request }: CredentialRequest, keys: readonly SecurityKey[]): Restored {
  const at = request.createdAt;
  return {
    request: { ...request, state: startRequest(request.state) },
    keys: keys.map(key => ({ ...key, enrollment: { attempts: 0, nextAt: at }, due: { queue: queueOf(key), at } })),
  };
}

/** Without a mark it would be undone as never sent. */
const marked = (request: CredentialRequest): CredentialRequest =>
  request.state === "received" && request.shipment !== undefined
    ? { ...request, delivery: { sentAt: request.createdAt, ...request.delivery } }
    : request;

function restoredKey({ lease, ...key }: SecurityKey, since: Instant): SecurityKey {
  const tried = (credential: Credential): Credential =>
    isTerminal(credential.state) ? credential : { ...credential, triedAt: credential.triedAt ?? since };
  const isOpen = key.mail.state === "waiting" || key.mail.state === "due";
  // The number names the send that may have been made: the first one where there was none yet.
  const mail = isOpen
    ? { ...key.mail, number: Math.max(1, key.mail.number), triedAt: key.mail.triedAt ?? since }
    : key.mail;
  return { ...key, mail, credentials: key.credentials.map(tried) };
}
