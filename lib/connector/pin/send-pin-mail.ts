import { createHash } from "node:crypto";
import { between, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { PeerFailure } from "../http/failure.ts";
import { backOffMs } from "../model/intervals.ts";
import { isMailable } from "../model/pin-mail.ts";
import { displayName, type PinMail, type SecurityKey } from "../model/request.ts";
import { conclude, type KeyHold, type MailCircuitBreaker, renewLease } from "../store/lease.ts";
import { securityKeyOf } from "../store/save-request.ts";
import { composePinMail } from "./compose-pin-mail.ts";
import { fetchPin } from "./fetch-pin.ts";

/** How often an accepted mail is looked up before the rest is left to the next run, and how long the first wait is. */
const lookUps = 4;
const firstWaitMs = 150;

/**
 * Sends the PIN mail of a held key (decision C14). The send is written down before it goes out, under an id derived from key and
 * number; an unanswered one is looked up before anything is sent again. The PIN is fetched, opened, mailed and forgotten.
 * An address that `PIN_MAIL_DOMAINS` does not allow any more is left out; with none left the mail stays due, as after a failure.
 * Returns the request as it now stands, undefined when the hold is lost.
 */
export async function sendPinMail(
  hold: KeyHold,
  brake: MailCircuitBreaker,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const { now, mailer, intervals: timing } = deps;
  const { mail } = securityKeyOf(hold.loaded, hold.keyId);
  const requestId = hold.loaded.request.value.id;
  let number = Math.max(1, mail.number);
  if (brake.stoppedUntil !== undefined) return change(hold, { nextAt: brake.stoppedUntil, held: true }, deps);
  try {
    if (mail.triedAt !== undefined) {
      const status = await mailer.status(operationId(requestId, hold.keyId, number));
      if (status === "succeeded") return sent(hold, deps);
      if (status === "running") return change(hold, { nextAt: plus(now(), timing.mailRunning), held: true }, deps);
      if (status === "failed") number++;
    }
    if (between(mail.firstDueAt ?? now(), now()) > timing.retryFor) return giveUp(hold, deps);
    const inDoubt = mail.triedAt !== undefined;
    const { emailsTo } = hold.loaded.request.value;
    const to = emailsTo.filter(email => isMailable(email, deps.pinMailDomains));
    const leftOut = emailsTo.filter(email => !to.includes(email));
    if (leftOut.length > 0)
      deps.log.warn("pin_mail_addresses_left_out", { keyId: hold.keyId, count: leftOut.length, of: emailsTo.length });
    if (to.length === 0)
      return later(hold, { errorMessage: "No PIN mail was sent.", leftOut }, undefined, deps, inDoubt);
    const pin = await fetchPin(hold.loaded, hold.keyId, deps);
    if ("problem" in pin) return later(hold, { errorMessage: pin.problem }, undefined, deps, true);

    const next =
      leftOut.length === 0
        ? withMail({ number, triedAt: now() }, ["leftOut"])
        : withMail({ number, triedAt: now(), leftOut });
    const renewed = await renewLease(hold, next, timing.mailCall, deps);
    if (renewed === undefined) return undefined;
    const operation = operationId(requestId, hold.keyId, number);
    return await deliver(renewed, pin.pin, { to, operation, inDoubt }, brake, deps);
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    deps.log.warn("mail_look_up_failed", { keyId: hold.keyId, error });
    return later(hold, { errorMessage: "The mail service does not answer." }, error.retryAfter, deps, true);
  }
}

interface Send {
  readonly to: readonly string[];
  readonly operation: string;
  /** An earlier send was not answered. */
  readonly inDoubt: boolean;
}

async function deliver(
  hold: KeyHold,
  pin: string,
  { to, operation, inDoubt }: Send,
  brake: MailCircuitBreaker,
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  const key = securityKeyOf(hold.loaded, hold.keyId);
  const usable = key.credentials.filter(({ state }) => state !== "failed" && state !== "cancelled");
  // One user may have a credential at several identity providers.
  const userIds = [...new Set(usable.map(({ userId }) => userId))];
  try {
    const words = composePinMail({ pin, keyName: displayName(key), serial: key.serial ?? "", userIds });
    await deps.mailer.send({ to, ...words, operationId: operation });
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return notAccepted(hold, error, { brake, inDoubt }, deps);
  }
  return follow(hold, operation, deps);
}

/** The mail was accepted: most are on their way within a moment, the others are looked up by a later run. */
async function follow(hold: KeyHold, operation: string, deps: ConnectorDeps): Promise<LoadedRequest | undefined> {
  let retryAfter: number | undefined;
  for (let look = 0; look < lookUps && retryAfter === undefined; look++) {
    if (look > 0) await deps.sleep(firstWaitMs * 2 ** (look - 1));
    const status = await deps.mailer.status(operation).catch(asFailure);
    if (status === "succeeded") return sent(hold, deps);
    if (status === "failed")
      return later(hold, { errorMessage: "The mail service could not deliver the PIN mail." }, undefined, deps, true);
    if (status instanceof PeerFailure) ({ retryAfter } = status);
  }
  const wait = Math.max(deps.intervals.mailRunning, (retryAfter ?? 0) * 1000);
  return change(hold, { nextAt: plus(deps.now(), wait), held: true }, deps);
}

/** A look-up that fails tells nothing: it is made again. */
function asFailure(error: unknown): PeerFailure {
  if (error instanceof PeerFailure) return error;
  throw error;
}

async function notAccepted(
  hold: KeyHold,
  failure: PeerFailure,
  { brake, inDoubt }: { brake: MailCircuitBreaker; inDoubt: boolean },
  deps: ConnectorDeps,
): Promise<LoadedRequest | undefined> {
  deps.log.warn("mail_failed", { keyId: hold.keyId, error: failure });
  // A 5xx never says that it was not done, not even one that names a time to come back.
  if (failure.kind === "unanswered" || (failure.status ?? 0) >= 500)
    return later(hold, { errorMessage: "The mail service did not answer." }, failure.retryAfter, deps, true);
  if (failure.kind === "throttled") {
    brake.stoppedUntil = plus(deps.now(), Math.max(1, failure.retryAfter ?? 60) * 1000);
    return change(hold, { nextAt: brake.stoppedUntil, held: true }, deps, inDoubt ? [] : ["triedAt"]);
  }
  const errorMessage = `The PIN mail was not accepted: ${failure.detail ?? failure.kind}.`;
  return later(hold, { errorMessage }, failure.retryAfter, deps, inDoubt);
}

/** A GUID that only this send of this key has, the same after a crash. */
export function operationId(requestId: string, keyId: string, number: number): string {
  const hex = createHash("sha256").update(`pin-mail/${requestId}/${keyId}/${number}`).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}

const withMail =
  (changes: Partial<PinMail>, dropped: readonly (keyof PinMail)[] = []) =>
  (key: SecurityKey): SecurityKey => {
    const mail = { ...key.mail, ...changes };
    for (const name of dropped) delete mail[name];
    return { ...key, mail };
  };

const change = (
  hold: KeyHold,
  changes: Partial<PinMail>,
  deps: ConnectorDeps,
  dropped: readonly (keyof PinMail)[] = [],
) => conclude(hold, withMail(changes, dropped), deps);

function sent(hold: KeyHold, deps: ConnectorDeps): Promise<LoadedRequest | undefined> {
  deps.log.info("pin_mail_sent", { keyId: hold.keyId });
  const { mail } = securityKeyOf(hold.loaded, hold.keyId);
  return change(hold, { state: "sent", sentAt: mail.sentAt ?? deps.now() }, deps, [
    "triedAt",
    "nextAt",
    "held",
    "errorMessage",
  ]);
}

function giveUp(hold: KeyHold, deps: ConnectorDeps): Promise<LoadedRequest | undefined> {
  deps.log.error("pin_mail_given_up", { keyId: hold.keyId });
  return change(hold, { state: "given_up" }, deps, ["triedAt", "nextAt", "held"]);
}

/** @param unanswered a send may have been taken: it is looked up before the next one */
function later(
  hold: KeyHold,
  problem: Pick<PinMail, "errorMessage" | "leftOut">,
  retryAfter: number | undefined,
  deps: ConnectorDeps,
  unanswered: boolean,
): Promise<LoadedRequest | undefined> {
  const { now, intervals: timing } = deps;
  const { attempts } = securityKeyOf(hold.loaded, hold.keyId).mail;
  const wait = Math.max(backOffMs(attempts, timing.retryMin, timing.retryMax), (retryAfter ?? 0) * 1000);
  const changes = {
    ...problem,
    attempts: attempts + 1,
    nextAt: plus(now(), wait),
    ...(retryAfter !== undefined && { held: true }),
  };
  const dropped: (keyof PinMail)[] = [
    ...(unanswered ? [] : ["triedAt" as const]),
    ...(retryAfter === undefined ? ["held" as const] : []),
  ];
  return change(hold, changes, deps, dropped);
}
