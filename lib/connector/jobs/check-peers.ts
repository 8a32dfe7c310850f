import { PeerFailure } from "../../platform/peer-failure.ts";
import { challengeProblem } from "../create/ask-idps.ts";
import type { ConnectorDeps } from "../deps.ts";
import type { Idp } from "../idp/contract.ts";
import { unchecked } from "../idp/user-check.ts";
import { deliveryService, idpName, mailService } from "../model/peer-names.ts";
import type { Challenge } from "../model/webauthn.ts";

/** The result of one check of one peer. */
export interface Finding {
  readonly peer: string;
  /** The name of the check. */
  readonly check: string;
  readonly ok: boolean;
  /** What the result means, and what to do if it is not ok. Contains no secret and no recipient. */
  readonly finding: string;
}

/** A user of an IdP for whom creation options may be requested. */
interface TestUser {
  readonly idpId: string;
  readonly userId: string;
}

/** An id that no peer has. The expected response is that it is unknown. */
const unknownId = "00000000-0000-4000-8000-000000000000";

/**
 * Calls every peer without changing anything, for an administrator after the installation. For each test user, also
 * requests creation options from the IdP and compensates them.
 */
export async function checkPeers(users: readonly TestUser[], deps: ConnectorDeps): Promise<readonly Finding[]> {
  const { delivery, rfpr, mailer } = deps;
  const groups = await Promise.all([
    runCheck(deliveryService, "transport keys", async () => `${(await delivery.transportKeys()).length} keys`),
    runCheck(deliveryService, "signing keys", async () => {
      await delivery.signingKey("unknown");
      return "can be read";
    }),
    runCheck(deliveryService, "API token", () =>
      acceptUnknown(
        delivery.getShipment(unknownId),
        "The token is accepted: the service says that the shipment is unknown.",
      ),
    ),
    rfpr === undefined
      ? skipped("enrollment services", "are not configured: requests with authenticators are refused")
      : runCheck("enrollment services", "credential and API", () =>
          acceptUnknown(rfpr.get(unknownId), "The credential is exchanged, and the access token is accepted."),
        ),
    runCheck(mailService, "access", async () => {
      const { status } = await mailer.status(unknownId);
      return `accepts the connector (an unknown mail is ${status}). Send yourself a PIN to see that the sender's domain is verified.`;
    }),
    ...users.map(user => checkIdp(user, deps)),
  ]);
  return groups.flat();
}

async function runCheck(peer: string, check: string, call: () => Promise<string>): Promise<readonly Finding[]> {
  try {
    return [{ peer, check, ok: true, finding: await call() }];
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return [{ peer, check, ok: false, finding: explain(error) }];
  }
}

const skipped = (peer: string, finding: string): readonly Finding[] => [{ peer, check: "none", ok: true, finding }];

/** Returns the finding if the peer finds the id or says that it is unknown: it has then accepted the token. */
async function acceptUnknown(call: Promise<unknown>, finding: string): Promise<string> {
  try {
    await call;
    return finding;
  } catch (error) {
    if (error instanceof PeerFailure && error.code !== undefined && saysUnknown(error)) return finding;
    throw error;
  }
}

/** A failed token request has the status of the token endpoint, but never one of these kinds. */
const saysUnknown = ({ kind, status }: PeerFailure): boolean =>
  kind === "missing" || (kind === "refused" && status === 400);

/** Reads what a create checks of its users, and so the permissions for it. A missing one is a warning only. */
async function checkPermissions(idp: Idp, userId: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const [peer, check] = [idpName(idp.id), "user and policies"];
  const found = (await idp.checkUser?.({ userId, newCredentials: 1 }, signal).catch(error => [unchecked(error)])) ?? [];
  if (found.length === 0) return [{ peer, check, ok: true, finding: "Nothing is known that prevents a credential." }];
  return found.map(({ effect, message }) => {
    const isWarning = effect === "warning";
    return { peer, check, ok: isWarning, finding: `${isWarning ? "Warning: the" : "The"} test user ${message}.` };
  });
}

/** Checks the permissions for creation options, read-back, compensation and revocation. */
async function checkIdp(
  { idpId, userId }: TestUser,
  { idps, intervals, log, now }: ConnectorDeps,
): Promise<readonly Finding[]> {
  const peer = idpName(idpId);
  const idp = idps.get(idpId);
  if (idp === undefined) return [{ peer, check: "configuration", ok: false, finding: "This IdP is not configured." }];
  const signal = () => AbortSignal.timeout(intervals.idpCallMs);
  // Before creation options, whose registration would count.
  const permissions = await checkPermissions(idp, userId, signal());
  const findings: Finding[] = [];
  let challenge: Challenge | undefined;
  const created = await runCheck(peer, "creation options", async () => {
    const given = await idp.creationOptions({ userId, tag: "Check of the peers" }, signal());
    challenge = given;
    const until = given.expiresAt === undefined ? "" : `, valid until ${given.expiresAt.toISOString()}`;
    return `Returns creation options for the relying party ${given.options.rp.id}${until}.`;
  });
  findings.push(...created, ...permissions);
  if (challenge === undefined) return findings;
  const problem = challengeProblem(challenge, { provisioning: "shipped" }, idp, { now, intervals });
  const finding =
    problem === undefined ? "Is suitable for shipped security keys." : `Shipments are refused. ${problem}`;
  findings.push({ peer, check: "challenge", ok: problem === undefined, finding });
  const stored = challenge.idpState;
  const readBack = await runCheck(peer, "read-back", async () => {
    const query = { credentialId: "AAAA", name: "Check of the peers", since: now() };
    if (idp.isRegistered === undefined)
      return "This IdP has no read-back: an activation without a response is sent once more.";
    await idp.isRegistered(stored, query, signal());
    return "Registered credentials can be read, so a failed activation is not repeated before its result is known.";
  });
  const compensated = await runCheck(peer, "compensate", async () => {
    await idp.compensate(stored, signal());
    return "The registration that was started for the test user is removed.";
  });
  const revocation = await runCheck(peer, "revocation", () => checkRevocation(idp, stored, signal()));
  log.info("peers_checked", { idp: idpId });
  return [...findings, ...readBack, ...compensated, ...revocation];
}

/** Revokes a credential that does not exist. A missing right is a warning: not every deployment revokes. */
async function checkRevocation(idp: Idp, idpState: Challenge["idpState"], signal: AbortSignal): Promise<string> {
  try {
    await idp.revoke(idpState, { credentialId: "AAAA", registrationId: unknownId }, signal);
    return "Active credentials can be revoked.";
  } catch (error) {
    if (!(error instanceof PeerFailure) || error.kind !== "unauthorized") throw error;
    return `Warning: active credentials cannot be revoked. The connector's client needs ${idp.revocationNeeds}.`;
  }
}

/** Returns what a failed check means, for the administrator. */
function explain({ kind, status, code, detail, retryAfterSeconds }: PeerFailure): string {
  const message = [code, detail].filter(part => part !== undefined && part !== "").join(": ");
  const reported = message === "" ? "" : ` It reports: ${message}`;
  const by = status === undefined ? "" : ` (${status})`;
  const means: Readonly<Record<PeerFailure["kind"], string>> = {
    unreachable: `Not reached${by}: check the address in the settings, DNS, the firewall and the route out of the virtual network. If the call needs a token, also check the address that issues it.`,
    unanswered: `No readable response${by}: check whether the address is the peer's or a proxy's. After a time-out, try again.`,
    throttled: `It requires a wait${retryAfterSeconds === undefined ? "" : ` ${retryAfterSeconds} s`}: run the check again later.`,
    unauthorized: `It does not accept the connector${by}: the secret in Key Vault is wrong or has expired, or the application lacks a permission or its consent.`,
    missing: `It does not find what was requested${by}: the test user does not exist.`,
    refused: `It refuses${by}: check policy, licence and API version.`,
  };
  return `${means[kind]}${reported}`;
}
