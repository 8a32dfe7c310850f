import { PeerFailure } from "../../peer-failure.ts";
import { plus } from "../../time.ts";
import { openAttestation } from "../collect/decode-responses.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp, RegistrationQuery } from "../idp/contract.ts";
import { backOffMs } from "../model/intervals.ts";
import type { KeyResponses } from "../model/key-responses.ts";
import { type Credential, registeredName, type SecurityKey } from "../model/request.ts";
import { afterEvent, withRollUp } from "../model/roll-up.ts";
import { isTerminal } from "../model/states.ts";
import type { Outcome, Step } from "../model/step.ts";
import type { Attestation, Challenge } from "../model/webauthn.ts";
import { openIdpState } from "../store/sealed-idp-state.ts";

/** The credential to activate: its security key and its index on it. */
interface Target {
  readonly requestId: string;
  readonly key: SecurityKey;
  readonly index: number;
}

/**
 * Activates one credential of a security key at its IdP (decision C8). The try is stored before it is sent; an unanswered one is
 * read back by credential id before anything else is done.
 */
export async function activateCredential(target: Target, deps: ConnectorDeps): Promise<Step> {
  const { requestId, key, index } = target;
  const credential = key.credentials[index];
  const idp = credential && deps.idps.get(credential.idpId);
  if (credential?.idpState === undefined || credential.credentialId === undefined)
    throw new Error("a credential without a response");
  if (idp === undefined) return later(index, { reason: "Its identity provider is not configured any more." }, deps);

  const idpState = await openIdpState(requestId, key.id, index, credential.idpState, deps.sealer);
  const tried = credential.triedAt !== undefined;
  const overdue = (credential.retryableUntil ?? deps.now()) <= deps.now();
  const sought = {
    credentialId: credential.credentialId,
    name: registeredName(key),
    since: credential.triedAt ?? deps.now(),
  };
  const registered = tried ? await readBack(idp, idpState, sought, deps) : false;
  if (registered === true) return end(target, "activated", undefined, deps);
  if (registered instanceof PeerFailure && !overdue) {
    const reason = `${idp.id} could not be asked for the credential.`;
    return later(index, { reason, retryAfter: registered.retryAfter }, deps);
  }
  if (registered === false && credential.refusal !== undefined)
    return end(target, "refused", credential.refusal.reason, deps);
  if (overdue) {
    const doubt = registered === false ? "" : " It may be registered, check.";
    return end(target, "expired", `Not activated in time.${doubt} ${credential.errorMessage ?? ""}`.trim(), deps);
  }
  const attestation = await attestationOf(target, deps);
  if (attestation instanceof PeerFailure)
    return later(index, { reason: attestation.message, retryAfter: attestation.retryAfter }, deps);
  if (typeof attestation === "string") return end(target, "response_rejected", attestation, deps);

  // The first unanswered try: what it may have registered was created since then.
  const triedAt = credential.triedAt ?? deps.now();
  const timeLimitMs = deps.intervals.idpCall;
  return {
    intent: withCredential(index, each => ({ ...each, triedAt })),
    timeLimitMs,
    perform: async (_, notAfter) => {
      try {
        const limits = { signal: AbortSignal.timeout(timeLimitMs), notAfter };
        await idp.activate(idpState, attestation, registeredName(key), limits);
      } catch (error) {
        if (!(error instanceof PeerFailure)) throw error;
        return failed(target, error, { tried, readable: registered !== undefined }, deps);
      }
      return end(target, "activated", undefined, deps);
    },
  };
}

const withCredential =
  (index: number, change: (credential: Credential) => Credential) =>
  (key: SecurityKey): SecurityKey => ({
    ...key,
    credentials: key.credentials.map((credential, position) => (position === index ? change(credential) : credential)),
  });

async function readBack(
  idp: Idp,
  idpState: Challenge["idpState"],
  sought: RegistrationQuery,
  deps: ConnectorDeps,
): Promise<boolean | undefined | PeerFailure> {
  try {
    return await idp.isRegistered(idpState, sought, AbortSignal.timeout(deps.intervals.idpCall));
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("read_back_failed", { idp: idp.id, error });
    return error;
  }
}

/** The attestation from the responses as received, or why there is none: for now where a peer failed, else for good. */
async function attestationOf(
  { requestId, key, index }: Target,
  deps: ConnectorDeps,
): Promise<Attestation | PeerFailure | string> {
  const responses: KeyResponses | undefined =
    key.responses === undefined ? undefined : await deps.responses.get(key.responses);
  const response = responses?.credentials[index];
  if (response === undefined) return "The key maker's response is lost.";
  const opened = await openAttestation(requestId, key, index, response, deps).catch((error: unknown) => {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("signing_keys_unread", { keyId: key.id, index, error });
    return error;
  });
  // Signing keys come and go; the response was believed when it came.
  if (opened === "unknown_key") return new PeerFailure("delivery service", "signing key", "unanswered");
  return typeof opened === "string" ? `The key maker's response can not be used: ${opened}.` : opened;
}

function end(
  { key, index }: Target,
  event: "activated" | "refused" | "expired" | "response_rejected",
  reason: string | undefined,
  { now, log }: ConnectorDeps,
): Outcome {
  log.info("credential_ended", { keyId: key.id, index, outcome: event, idp: key.credentials[index]?.idpId });
  // A write whose answer got lost is read again as done: what has ended stays as it is.
  const ended = withCredential(index, credential =>
    isTerminal(credential.state) ? credential : afterEvent(credential, event, reason),
  );
  return { change: current => withRollUp(ended(current), now()) };
}

/**
 * A failed activation: again later where that may help, else the end; after an earlier unanswered try only when a later look at
 * the IdP confirms it, or at once where the IdP offers none (decision C8).
 */
function failed(
  target: Target,
  failure: PeerFailure,
  { tried, readable }: { tried: boolean; readable: boolean },
  deps: ConnectorDeps,
): Outcome {
  const { key, index } = target;
  deps.log.warn("activation_failed", { keyId: key.id, index, error: failure });
  const reason = failure.detail ?? failure.message;
  // A 404 without the IdP's own words may be a proxy's.
  const foreign = failure.kind === "missing" && failure.code === undefined;
  if (failure.passing || failure.kind === "unauthorized" || foreign) {
    // A 5xx never says that it was not done, not even one that names a time to come back.
    const unanswered = failure.kind === "unanswered" || foreign || (failure.status ?? 0) >= 500;
    return later(index, { reason, retryAfter: failure.retryAfter, unanswered: tried || unanswered }, deps);
  }
  if (!tried) return end(target, "refused", reason, deps);
  if (!readable) return end(target, "refused", `${reason} (may be registered, check)`, deps);
  const at = deps.now();
  const refused = {
    refusal: { at, reason },
    errorMessage: reason,
    nextAt: plus(at, deps.intervals.readBackAfter),
    held: true,
  };
  return { change: withCredential(index, credential => ({ ...credential, ...refused })) };
}

interface Delay {
  readonly reason: string;
  /** Seconds that the peer asked to wait. */
  readonly retryAfter?: number | undefined;
  /** Whether a try may have reached the IdP without an answer that came back. */
  readonly unanswered?: boolean;
}

function later(
  index: number,
  { reason, retryAfter, unanswered = true }: Delay,
  { now, intervals: timing }: Pick<ConnectorDeps, "now" | "intervals">,
): Outcome {
  const postponed = ({ triedAt, held, ...credential }: Credential): Credential => {
    const wait = Math.max(backOffMs(credential.attempts, timing.retryMin, timing.retryMax), (retryAfter ?? 0) * 1000);
    const { retryableUntil: end } = credential;
    const nextAt = plus(now(), wait);
    return {
      ...credential,
      errorMessage: reason,
      attempts: credential.attempts + 1,
      nextAt: end !== undefined && end > now() && end < nextAt ? end : nextAt,
      ...(retryAfter !== undefined && { held: true }),
      ...(unanswered && triedAt !== undefined && { triedAt }),
    };
  };
  return { change: withCredential(index, postponed) };
}
