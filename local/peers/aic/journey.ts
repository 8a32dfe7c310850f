import { randomBytes, randomUUID } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import * as z from "zod";
import type { Account, Accounts } from "../idp/accounts.ts";
import { readBody } from "../read-body.ts";
import { verifyAttestation } from "../security-key/authenticator-verify.ts";
import type { State } from "../state-file.ts";
import { idOfUser } from "../uuid-of.ts";
import { askForCredential, askForName } from "./callbacks.ts";
import { badRequest, journeyFailure, notFound, timedOut } from "./errors.ts";
import { readOutcome } from "./outcome.ts";
import type { AicSettings } from "./settings.ts";

export interface AicJourneyState {
  /** Signs `authId`s; base64url. */
  authKey: string;
  /** Open steps by the `otk` in their `authId`, each for one response. `expiresAt` is in ms since 1970. */
  readonly steps: Record<string, { readonly userId?: string; readonly challenge?: string; expiresAt: number }>;
  readonly registrations: { readonly userId: string; readonly credentialId: string; readonly displayName: string }[];
}

export interface AicJourneyOptions {
  readonly journey: string;
  readonly realm: string;
  readonly relyingPartyId: string;
  /** PEM of the only key maker that the registration node trusts. */
  readonly attestationRoot: string;
}

const answer = z.object({
  authId: z.string(),
  callbacks: z.array(
    z.looseObject({
      type: z.string(),
      input: z.array(z.object({ name: z.string(), value: z.unknown() })).default([]),
    }),
  ),
});

/** A journey that reads a user name, registers a key of the user, and ends. */
export function createAicJourney(
  { journey, realm, relyingPartyId, attestationRoot }: AicJourneyOptions,
  file: State<AicJourneyState>,
  accounts: Accounts,
  chosen: AicSettings,
) {
  const { steps, registrations } = file.value;
  const of = (userId: string) => registrations.filter(each => each.userId === userId);

  const nameAtAm = (id: string, name: string) => (chosen.names === "id" ? id : name);
  const userAtAm = (user: string): Account => {
    const account = chosen.names === "id" ? accounts.withId(user) : accounts.withName(user);
    if (account.status === "unknown") throw notFound();
    return account;
  };

  /** Sends a step. AM stores the state of a journey sealed in its `authId`; the simulation stores it separately. */
  const handOut = async (started: AicJourneyState["steps"][string], callbacks: readonly object[]) => {
    for (const [otk, old] of Object.entries(steps)) if (old.expiresAt <= Date.now() - 86_400_000) delete steps[otk];
    const otk = randomUUID();
    steps[otk] = started;
    file.save();
    const expires = Math.floor(started.expiresAt / 1000);
    const authId = await new SignJWT({ authIndexType: "service", authIndexValue: journey, realm: `/${realm}`, otk })
      .setProtectedHeader({ typ: "JWT", alg: "HS256" })
      .setIssuedAt(Math.floor(Date.now() / 1000))
      .setExpirationTime(expires)
      .sign(Buffer.from(file.value.authKey, "base64url"));
    return { authId, callbacks };
  };

  /** Uses up a step, whether the response is accepted or not. */
  const spend = async (authId: string) => {
    const otk = await otkOf(authId, Buffer.from(file.value.authKey, "base64url"));
    const spent = steps[otk];
    if (spent === undefined) throw journeyFailure();
    if (spent.expiresAt <= Date.now()) throw timedOut();
    delete steps[otk];
    file.save();
    return spent;
  };

  const register = async (userId: string, challenge: string, text: string) => {
    const outcome = readOutcome(text);
    if (outcome === undefined || accounts.withId(userId).status !== "known") throw journeyFailure();
    const origin = `https://${relyingPartyId}`;
    const check = { ...outcome, challenge, origin, rpId: relyingPartyId, root: attestationRoot };
    await verifyAttestation(check).catch(() => {
      throw journeyFailure();
    });
    if (registrations.some(({ credentialId }) => credentialId === outcome.id)) throw journeyFailure();
    registrations.push({ userId, credentialId: outcome.id, displayName: outcome.deviceName });
    file.save();
  };

  return {
    begin: () => handOut({ expiresAt: Date.now() + chosen.journeySeconds * 1000 }, [askForName()]),
    goOn: async (body: Buffer): Promise<object> => {
      const { authId, callbacks } = readBody(answer, body, () => badRequest("The body is no step of a journey."));
      const spent = await spend(authId);
      const value = callbacks.at(-1)?.input[0]?.value;
      if (typeof value !== "string") throw badRequest("The callbacks are not those that were asked for.");
      if (spent.userId !== undefined && spent.challenge !== undefined) {
        await register(spent.userId, spent.challenge, value);
        return { successUrl: "/enduser/?realm=/alpha", realm: `/${realm}` };
      }
      const { id, name, status } = accounts.find(value);
      if (status !== "known" || of(id).length >= chosen.maxDevices) throw journeyFailure();
      const challenge = randomBytes(32);
      const taken = of(id).map(({ credentialId }) => Buffer.from(credentialId, "base64url"));
      const userId = Buffer.from(nameAtAm(id, name)).toString("base64");
      const asked = askForCredential(chosen.form, { rpId: relyingPartyId, userName: name, userId, challenge, taken });
      const { expiresAt } = spent;
      return handOut({ userId: id, challenge: challenge.toString("base64url"), expiresAt }, asked);
    },
    /** Returns the devices of the user with this name at AM, as AM lists them. */
    devicesOf: (user: string) => of(userAtAm(user).id).map(deviceOf),
    remove: (user: string, uuid: string) => {
      const found = of(userAtAm(user).id).find(each => deviceOf(each).uuid === uuid);
      if (found === undefined) throw notFound();
      registrations.splice(registrations.indexOf(found), 1);
      file.save();
      return deviceOf(found);
    },
    expire: () => {
      for (const step of Object.values(steps)) step.expiresAt = 0;
      file.save();
    },
  };
}

function deviceOf({ credentialId, displayName }: AicJourneyState["registrations"][number]) {
  const uuid = idOfUser(`device ${credentialId}`);
  return { _id: uuid, uuid, credentialId, deviceName: displayName, deviceManagementStatus: false };
}

/** The stored state decides whether a step has expired. */
async function otkOf(authId: string, key: Uint8Array): Promise<string> {
  try {
    const { payload } = await jwtVerify(authId, key, { algorithms: ["HS256"], currentDate: new Date(0) });
    return String(payload.otk);
  } catch {
    throw badRequest("The authId is not readable.");
  }
}
