import { createHash } from "node:crypto";
import type { Mailer, MailStatus } from "../../mail.ts";
import { PeerFailure } from "../../peer-failure.ts";
import { between, type Instant, plus } from "../../time.ts";
import type { ConnectorDeps, LoadedRequest } from "../deps.ts";
import { backOffMs } from "../model/intervals.ts";
import { isMailable } from "../model/pin-mail.ts";
import { displayName, type PinMail, type SecurityKey } from "../model/request.ts";
import type { Outcome, Step } from "../model/step.ts";
import { composePinMail } from "./compose-pin-mail.ts";
import { fetchPin } from "./fetch-pin.ts";

/** How often an accepted mail is looked up before the rest is left to the next run, and how long the first wait is. */
const lookUps = 4;
const firstWaitMs = 150;

/** The security key whose PIN is mailed, and its request as loaded. */
interface Target {
  readonly loaded: LoadedRequest;
  readonly key: SecurityKey;
}

/**
 * Sends the PIN mail of a security key (decision C14). The send is stored before it goes out, under an id derived from key and
 * number; an unanswered one is looked up before anything is sent again. The PIN is fetched, opened, mailed and forgotten.
 * An address that `PIN_MAIL_DOMAINS` does not allow any more is left out; with none left the mail stays due, as after a failure.
 * @param stoppedUntil the mail service is throttling: no mail before then
 */
export async function sendPinMail(
  target: Target,
  stoppedUntil: Instant | undefined,
  deps: ConnectorDeps,
): Promise<Step> {
  if (stoppedUntil !== undefined) return mailAt(stoppedUntil);
  const { loaded, key } = target;
  const { now, intervals: timing } = deps;
  const { mail } = key;
  const inDoubt = mail.triedAt !== undefined;
  const status = inDoubt ? await lookUp(operationOf(target, lastNumber(key)), deps.mailer) : undefined;
  if (status instanceof PeerFailure) {
    deps.log.warn("mail_look_up_failed", { keyId: key.id, error: status });
    return later({ errorMessage: "The mail service does not answer." }, { retryAfter: status.retryAfter }, deps);
  }
  if (status === "succeeded") return sent(key.id, deps);
  if (status === "running") return mailAt(plus(now(), timing.mailRunning));
  const number = status === "failed" ? lastNumber(key) + 1 : lastNumber(key);
  if (between(mail.firstDueAt ?? now(), now()) > timing.retryFor) return giveUp(key.id, deps);
  const { emailsTo } = loaded.request.value;
  const to = emailsTo.filter(email => isMailable(email, deps.pinMailDomains));
  const leftOut = emailsTo.filter(email => !to.includes(email));
  if (leftOut.length > 0)
    deps.log.warn("pin_mail_addresses_left_out", { keyId: key.id, count: leftOut.length, of: emailsTo.length });
  if (to.length === 0) return later({ errorMessage: "No PIN mail was sent.", leftOut }, { unanswered: inDoubt }, deps);
  const pin = await fetchPin(loaded, key.id, deps);
  if ("problem" in pin) return later({ errorMessage: pin.problem }, {}, deps);

  const tried = { number, triedAt: now() };
  return {
    intent: leftOut.length === 0 ? withMail(tried, ["leftOut"]) : withMail({ ...tried, leftOut }),
    timeLimitMs: timing.mailCall,
    perform: current => deliver(current, pin.pin, { to, operation: operationOf(target, number), inDoubt }, deps),
  };
}

const lastNumber = ({ mail }: SecurityKey): number => Math.max(1, mail.number);

const operationOf = ({ loaded, key }: Target, number: number): string =>
  operationId(loaded.request.value.id, key.id, number);

interface Send {
  readonly to: readonly string[];
  readonly operation: string;
  /** An earlier send was not answered. */
  readonly inDoubt: boolean;
}

async function deliver(
  key: SecurityKey,
  pin: string,
  { to, operation, inDoubt }: Send,
  deps: ConnectorDeps,
): Promise<Outcome> {
  const usable = key.credentials.filter(({ state }) => state !== "failed" && state !== "cancelled");
  // One user may have a credential at several identity providers.
  const userIds = [...new Set(usable.map(({ userId }) => userId))];
  try {
    const words = composePinMail({ pin, keyName: displayName(key), serial: key.serial ?? "", userIds });
    await deps.mailer.send({ to, ...words, operationId: operation });
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return notAccepted(key.id, error, inDoubt, deps);
  }
  return follow(key.id, operation, deps);
}

/** The mail was accepted: most are on their way within a moment, the others are looked up by a later run. */
async function follow(keyId: string, operation: string, deps: ConnectorDeps): Promise<Outcome> {
  let retryAfter: number | undefined;
  for (let look = 0; look < lookUps && retryAfter === undefined; look++) {
    if (look > 0) await deps.sleep(firstWaitMs * 2 ** (look - 1));
    const status = await lookUp(operation, deps.mailer);
    if (status === "succeeded") return sent(keyId, deps);
    if (status === "failed")
      return later({ errorMessage: "The mail service could not deliver the PIN mail." }, {}, deps);
    if (status instanceof PeerFailure) ({ retryAfter } = status);
  }
  const wait = Math.max(deps.intervals.mailRunning, (retryAfter ?? 0) * 1000);
  return mailAt(plus(deps.now(), wait));
}

/** Returns what the mail service knows of a send, or why it could not be asked. */
async function lookUp(operation: string, mailer: Mailer): Promise<MailStatus | PeerFailure> {
  try {
    return await mailer.status(operation);
  } catch (error) {
    if (error instanceof PeerFailure) return error;
    throw error;
  }
}

function notAccepted(keyId: string, failure: PeerFailure, inDoubt: boolean, deps: ConnectorDeps): Outcome {
  deps.log.warn("mail_failed", { keyId, error: failure });
  const { retryAfter } = failure;
  // A 5xx never says that it was not done, not even one that names a time to come back.
  if (failure.kind === "unanswered" || (failure.status ?? 0) >= 500)
    return later({ errorMessage: "The mail service did not answer." }, { retryAfter }, deps);
  if (failure.kind === "throttled") {
    const stoppedUntil = plus(deps.now(), Math.max(1, retryAfter ?? 60) * 1000);
    return { ...mailAt(stoppedUntil, inDoubt ? [] : ["triedAt"]), tripped: { stoppedUntil } };
  }
  const errorMessage = `The PIN mail was not accepted: ${failure.detail ?? failure.kind}.`;
  return later({ errorMessage }, { retryAfter, unanswered: inDoubt }, deps);
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

/** The mail is looked at again at a time that the mail service sets. */
const mailAt = (nextAt: Instant, dropped: readonly (keyof PinMail)[] = []): Outcome => ({
  change: withMail({ nextAt, held: true }, dropped),
});

function sent(keyId: string, { now, log }: ConnectorDeps): Outcome {
  log.info("pin_mail_sent", { keyId });
  const at = now();
  const dropped = ["triedAt", "nextAt", "held", "errorMessage"] as const;
  return { change: key => withMail({ state: "sent", sentAt: key.mail.sentAt ?? at }, dropped)(key) };
}

function giveUp(keyId: string, { log }: ConnectorDeps): Outcome {
  log.error("pin_mail_given_up", { keyId });
  return { change: withMail({ state: "given_up" }, ["triedAt", "nextAt", "held"]) };
}

interface Delay {
  /** Seconds that the peer asked to wait. */
  readonly retryAfter?: number | undefined;
  /** Whether the mail service may have accepted a send: it is looked up before the next one. */
  readonly unanswered?: boolean;
}

function later(
  problem: Pick<PinMail, "errorMessage" | "leftOut">,
  { retryAfter, unanswered = true }: Delay,
  { now, intervals: timing }: ConnectorDeps,
): Outcome {
  const at = now();
  const dropped: (keyof PinMail)[] = [
    ...(unanswered ? [] : ["triedAt" as const]),
    ...(retryAfter === undefined ? ["held" as const] : []),
  ];
  const change = (key: SecurityKey): SecurityKey => {
    const { attempts } = key.mail;
    const wait = Math.max(backOffMs(attempts, timing.retryMin, timing.retryMax), (retryAfter ?? 0) * 1000);
    const held = retryAfter !== undefined && { held: true };
    return withMail({ ...problem, attempts: attempts + 1, nextAt: plus(at, wait), ...held }, dropped)(key);
  };
  return { change };
}
