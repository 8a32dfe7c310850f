import { earliest, type Instant, plus } from "../../time.ts";
import type { ConnectorDeps } from "../deps.ts";
import { challengeEnd } from "../model/credential.ts";
import type { Clock } from "../model/intervals.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import type { Credential, CredentialRequest, SecurityKey } from "../model/request.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { type DecodedCredential, decodeResponses } from "./decode-responses.ts";

export interface DecodedKey {
  /** What was read, put into the key as it then stands: only credentials that still wait change. */
  readonly apply: (key: SecurityKey) => SecurityKey;
  /** Responses that opened with the key's response keys. */
  readonly opened: number;
  /** Responses that did not. */
  readonly unopened: number;
}

/**
 * Opens the responses of a key, whoever programmed it, and keeps them as they came before any row names them (decision C18). Open
 * credentials whose challenge has ended are given up (decision C8). Throws PeerFailure when the signing keys can not be read.
 * @param responses absent: nothing came
 */
export async function decodeKey(
  request: CredentialRequest,
  key: SecurityKey,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<DecodedKey> {
  const read = responses && (await decodeResponses(request.id, key, responses, deps));
  const { opened = 0, unopened = 0 } = read ?? {};
  // What came for an authenticator came under our id; a shipment may be another's.
  const isOurs = key.place === "authenticator" || opened > 0;
  const blob = responses !== undefined && isOurs ? await storeResponses(request.id, key, responses, deps) : undefined;
  const named = {
    ...(responses?.serial && { serial: responses.serial }),
    ...(responses?.firmware && { firmware: responses.firmware }),
    ...(blob && { responses: blob }),
  };
  const now = deps.now();
  const apply = (current: SecurityKey): SecurityKey => {
    const credentials = current.credentials.map((credential, index) =>
      credential.state === "processing"
        ? withResponse(credential, read?.credentials[index], challengeEnd(credential, request, deps), deps)
        : credential,
    );
    return withRollUp({ ...current, ...named, credentials }, now);
  };
  return { apply, opened, unopened };
}

/**
 * Keeps responses beside those that came before: what a credential was decoded from stays, and so does what the peer tells no more
 * (decision C14). Returns the name of the copy.
 */
async function storeResponses(
  requestId: string,
  { id, responses: before, credentials }: SecurityKey,
  told: KeyResponses,
  { responses }: Pick<ConnectorDeps, "responses">,
): Promise<string> {
  const kept = before === undefined ? undefined : await responses.get(before);
  if (kept === undefined) return responses.put(requestId, id, told);
  const merged = credentials.map(({ state }, index) => {
    const [old = "", now = ""] = [kept.credentials[index], told.credentials[index]];
    return state === "processing" ? now || old : old || now;
  });
  return responses.put(requestId, id, { ...kept, ...told, credentials: merged });
}

/** A credential that waited for its key, with what came for it. */
function withResponse(
  credential: Credential,
  answer: DecodedCredential | undefined,
  expiresAt: Instant,
  { now, intervals: timing }: Clock,
): Credential {
  if (expiresAt <= now())
    return afterEvent(
      credential,
      "expired",
      "The identity provider's challenge expired before the key was programmed.",
    );
  if (answer?.credentialId === undefined)
    return answer?.problem === undefined ? credential : { ...credential, errorMessage: answer.problem };
  return {
    ...afterEvent(credential, "response_decoded"),
    credentialId: answer.credentialId,
    retryableUntil: earliest(plus(now(), timing.retryFor), expiresAt) ?? expiresAt,
    nextAt: now(),
  };
}
