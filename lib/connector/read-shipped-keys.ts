import { earliest, type Instant, plus } from "../time.ts";
import { leftToCleanUp } from "./at-rest.ts";
import type { KeyResponses } from "./key-responses.ts";
import { shippedItems } from "./order.ts";
import type { DeliveryShipment } from "./peers/delivery-wire.ts";
import type { ConnectorDeps, Loaded } from "./ports.ts";
import { type ReadCredential, readResponses } from "./read-responses.ts";
import { type Credential, type CredentialRequest, type Key, keyQueue } from "./request.ts";
import { afterEvent, withRollUp } from "./roll-up.ts";

/** Shipment states whose responses are taken where they are there (decision C10). */
export const readyStates = [103, 104, 105, 106];

export interface ReadKeys {
  /** All shipped keys in order; those of which nothing was read as they were. */
  readonly keys: readonly Key[];
  /** Responses that opened with the keys' response keys. */
  readonly opened: number;
  /** Responses that did not. */
  readonly unopened: number;
}

/**
 * The shipped keys with the responses that came for them; open credentials whose challenge has ended are given up (decision C8).
 * Throws PeerFailure when the signing keys can not be read.
 * @param shipment absent: nothing came
 */
export async function readShippedKeys(
  { request: { value: request }, keys: stored }: Loaded,
  shipment: DeliveryShipment | undefined,
  deps: ConnectorDeps,
): Promise<ReadKeys> {
  const told = shipment !== undefined && readyStates.includes(shipment.state.id) ? shipment.items : [];
  const keys: Key[] = [];
  let opened = 0;
  let unopened = 0;
  for (const [item, of] of shippedItems(stored.map(({ value }) => value)).entries()) {
    for (const [position, key] of of.entries()) {
      const read = await readKey(request, key, told[item]?.keys[position], deps);
      keys.push(read.key);
      opened += read.opened;
      unopened += read.unopened;
    }
  }
  return { keys, opened, unopened };
}

/** Whether every shipped credential without a response has outlived its challenge: whatever its peer says is too late. */
export const nobodyWaits = ({ request, keys }: Loaded, deps: ConnectorDeps): boolean =>
  shippedItems(keys.map(({ value }) => value))
    .flat()
    .flatMap(({ credentials }) => credentials)
    .filter(({ state }) => state === "processing")
    .every(credential => challengeEnd(credential, request.value, deps) <= deps.now());

/** When the IdP stops taking an answer to the credential's challenge (decision C8). */
const challengeEnd = (
  { challengeExpiresAt }: Credential,
  { createdAt }: CredentialRequest,
  { timing }: ConnectorDeps,
): Instant => challengeExpiresAt ?? plus(createdAt, timing.credentialMax);

async function readKey(
  request: CredentialRequest,
  key: Key,
  responses: KeyResponses | undefined,
  deps: ConnectorDeps,
): Promise<{ readonly key: Key; readonly opened: number; readonly unopened: number }> {
  const now = deps.now();
  if (key.credentials.every(({ state }) => state !== "processing")) return { key, opened: 0, unopened: 0 };
  const read = responses && (await readResponses(request.id, key, responses, deps));
  const { opened = 0, unopened = 0 } = read ?? {};
  const blob =
    responses !== undefined && opened > 0 ? await deps.responses.put(request.id, key.id, responses) : undefined;
  const credentials = key.credentials.map((credential, index) =>
    credential.state === "processing"
      ? answered(credential, read?.credentials[index], challengeEnd(credential, request, deps), deps)
      : credential,
  );
  const named = {
    ...(responses?.serial && { serial: responses.serial }),
    ...(responses?.firmware && { firmware: responses.firmware }),
    ...(blob && { responses: blob }),
  };
  const changed = withRollUp({ ...key, ...named, credentials }, now);
  const ready = changed.credentials.some(({ state }) => state === "activation_pending");
  return {
    key: ready ? { ...changed, due: { queue: keyQueue(key), at: now } } : leftToCleanUp(changed, deps),
    opened,
    unopened,
  };
}

/** A credential that waited for its key, with what came for it. */
function answered(
  credential: Credential,
  answer: ReadCredential | undefined,
  expiresAt: Instant,
  { now, timing }: ConnectorDeps,
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
