import { PeerFailure } from "../../peer-failure.ts";
import type { ConnectorDeps } from "../deps.ts";

/** What one call to one peer showed. */
export interface Finding {
  readonly peer: string;
  /** What was asked of it. */
  readonly check: string;
  readonly ok: boolean;
  /** What that means, and what to do where it is not ok. No secret, no recipient. */
  readonly finding: string;
}

/** A user of an identity provider who may be asked for a credential that is never made. */
export interface TestUser {
  readonly idpId: string;
  readonly userId: string;
}

/** An id that no peer has: a good answer is that it is unknown. */
const nobodys = "00000000-0000-4000-8000-000000000000";

/**
 * Asks every peer something that changes nothing, and the identity provider of each named test user for creation options, which are taken
 * back. What an administrator runs first.
 */
export async function checkPeers(users: readonly TestUser[], deps: ConnectorDeps): Promise<readonly Finding[]> {
  const { delivery, rfpr, mailer } = deps;
  const groups = await Promise.all([
    look("delivery service", "transport keys", async () => `${(await delivery.transportKeys()).length} keys`),
    look("delivery service", "signing keys", async () => {
      await delivery.signingKey("unknown");
      return "can be read";
    }),
    look("delivery service", "API token", () =>
      unknownIsGood(
        delivery.getShipment(nobodys),
        "The token is accepted: an unknown shipment is answered as unknown.",
      ),
    ),
    rfpr === undefined
      ? skipped("enrollment services", "are not configured: requests with authenticators are refused")
      : look("enrollment services", "credential and API", () =>
          unknownIsGood(rfpr.get(nobodys), "The credential is exchanged, and the access token is accepted."),
        ),
    look("mail service", "access", async () => {
      const status = await mailer.status(nobodys);
      return `accepts the connector (an unknown mail is ${status}). Send yourself a PIN to see that the sender's domain is verified.`;
    }),
    ...users.map(user => lookAtIdp(user, deps)),
  ]);
  return groups.flat();
}

async function look(peer: string, check: string, ask: () => Promise<string>): Promise<readonly Finding[]> {
  try {
    return [{ peer, check, ok: true, finding: await ask() }];
  } catch (error) {
    if (!(error instanceof PeerFailure)) throw error;
    return [{ peer, check, ok: false, finding: explained(error) }];
  }
}

const skipped = (peer: string, finding: string): readonly Finding[] => [{ peer, check: "none", ok: true, finding }];

/** A peer that knows nothing under an id that nobody gave has read the call and accepted its token. */
async function unknownIsGood(asked: Promise<unknown>, finding: string): Promise<string> {
  try {
    await asked;
    return finding;
  } catch (error) {
    if (error instanceof PeerFailure && error.code !== undefined && saysUnknown(error)) return finding;
    throw error;
  }
}

/** A token that could not be had is told with the status of whoever refused it, but never as one of these kinds. */
const saysUnknown = ({ kind, status }: PeerFailure): boolean =>
  kind === "missing" || (kind === "refused" && status === 400);

/** Rights of three kinds: to begin, to read back, to take back. */
async function lookAtIdp(
  { idpId, userId }: TestUser,
  { idps, intervals: timing, log, now }: ConnectorDeps,
): Promise<readonly Finding[]> {
  const peer = `IdP ${idpId}`;
  const idp = idps.get(idpId);
  if (idp === undefined) return [{ peer, check: "configuration", ok: false, finding: "This IdP is not configured." }];
  const signal = () => AbortSignal.timeout(timing.idpCall);
  const findings: Finding[] = [];
  let idpState: Readonly<Record<string, unknown>> | undefined;
  const begun = await look(peer, "creation options", async () => {
    const {
      idpState: given,
      options,
      expiresAt,
    } = await idp.creationOptions({ userId, tag: "Check of the peers" }, signal());
    idpState = given;
    const until = expiresAt === undefined ? "" : `, valid until ${expiresAt.toISOString()}`;
    return `It gives creation options for the relying party ${options.rp.id}${until}.`;
  });
  findings.push(...begun);
  if (idpState === undefined) return findings;
  const stored = idpState;
  const readBack = await look(peer, "read-back", async () => {
    const registered = await idp.isRegistered(
      stored,
      { credentialId: "AAAA", name: "Check of the peers", since: now() },
      signal(),
    );
    return registered === undefined
      ? "This IdP offers no read-back: an activation without an answer is tried once more."
      : "Registered credentials can be read, so an activation without an answer is never repeated blindly.";
  });
  const undone = await look(peer, "undo", async () => {
    await idp.compensate(stored, signal());
    return "What was begun for the test user is taken back.";
  });
  log.info("peers_checked", { idp: idpId });
  return [...findings, ...readBack, ...undone];
}

/** What a failure of a check means to who set the deployment up. */
function explained({ kind, status, code, detail, retryAfter }: PeerFailure): string {
  const words = [code, detail].filter(part => part !== undefined && part !== "").join(": ");
  const told = words === "" ? "" : ` It says: ${words}`;
  const by = status === undefined ? "" : ` (${status})`;
  const means: Readonly<Record<PeerFailure["kind"], string>> = {
    unreachable:
      "No connection: look at the address in the settings, DNS, the firewall and the route out of the virtual network. Where a token is needed first, look at that too.",
    unanswered: `No usable answer${by}: is this address the peer's, or a proxy's? A time-out may heal.`,
    throttled: `It asks to wait${retryAfter === undefined ? "" : ` ${retryAfter} s`}: run the check again later.`,
    unauthorized: `It does not accept the connector${by}: the secret in Key Vault is wrong or has expired, or the application lacks a permission or its consent.`,
    missing: `It does not know what was asked for${by}: a test user who is not there, or a wrong base address.`,
    refused: `It refuses${by}: look at policy, licence and API version.`,
  };
  return `${means[kind]}${told}`;
}
