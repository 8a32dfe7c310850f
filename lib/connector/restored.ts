import type { Instant } from "../time.ts";
import type { Credential, CredentialRequest, Key } from "./request.ts";
import { isTerminal } from "./states.ts";

interface Restored {
  readonly request: CredentialRequest;
  readonly keys: readonly Key[];
}

/**
 * A request out of a backup. What was done after the backup was made is not known here, so whatever is open looks like a call without
 * an answer: it is read back at its peer before anything is called again (decisions C6, C8, C14).
 */
export function restored({ request, keys }: Restored): Restored {
  const { lease, ...held } = request;
  return { request: marked(held), keys: keys.map(key => restoredKey(key, request.createdAt)) };
}

/** Without a mark it would be undone as never sent. */
const marked = (request: CredentialRequest): CredentialRequest =>
  request.state === "received" && request.shipment !== undefined
    ? { ...request, delivery: { sentAt: request.createdAt, ...request.delivery } }
    : request;

function restoredKey({ lease, ...key }: Key, since: Instant): Key {
  const tried = (credential: Credential): Credential =>
    isTerminal(credential.state) ? credential : { ...credential, triedAt: credential.triedAt ?? since };
  const isOpen = key.mail.state === "waiting" || key.mail.state === "due";
  // The number names the send that may have been made: the first one where there was none yet.
  const mail = isOpen
    ? { ...key.mail, number: Math.max(1, key.mail.number), triedAt: key.mail.triedAt ?? since }
    : key.mail;
  return { ...key, mail, credentials: key.credentials.map(tried) };
}
