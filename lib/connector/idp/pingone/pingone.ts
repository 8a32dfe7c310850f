import * as z from "zod";
import { PeerFailure } from "../../../peer-failure.ts";
import { days, plus } from "../../../time.ts";
import { anyResponse, callPeer, type PeerAccess, withTimeout } from "../../http/call.ts";
import { readPeer, retryPeer } from "../../http/retry.ts";
import type { Challenge } from "../../model/webauthn.ts";
import type { Idp } from "../contract.ts";
import { domain, endpointUrl, type IdpDeps, type IdpKind, longestIdpAnswer, wholeNumber } from "../kind.ts";
import { createPingTokens } from "./tokens.ts";
import {
  activationBody,
  activationType,
  activeDevice,
  byUsername,
  device,
  deviceCap,
  deviceList,
  newDevice,
  newDeviceBody,
  readOptions,
  refusalOf,
  userList,
} from "./wire.ts";

/** Kind A of the specification's table. Without a time-out in days no end of a challenge is assumed (decision C8). */
const settings = z.strictObject({
  type: z.literal("pingone"),
  "default-relying-party": domain,
  "api-base-url": endpointUrl,
  "auth-base-url": endpointUrl,
  "environment-id": z.string().regex(/^[A-Za-z0-9-]+$/, "must be an environment id"),
  "client-id": z.string().regex(/^[A-Za-z0-9-]+$/, "must be an application id"),
  "pre-registration-timeout-days": wholeNumber(1, 365).optional(),
  /** The device authentication policy; without one the environment's default applies. */
  "policy-id": z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, "must be a policy id")
    .optional(),
});

type PingOneSettings = z.output<typeof settings>;

const idpState = z.object({ userId: z.string().min(1), deviceId: z.string().min(1), origin: z.string().min(1) });
type IdpState = z.output<typeof idpState>;
interface Call {
  readonly token: string;
  readonly signal: AbortSignal;
}

function connect(id: string, told: PingOneSettings, deps: IdpDeps): Idp {
  const access: PeerAccess = { ...deps, peer: `IdP ${id}`, refusalOf, longestAnswer: longestIdpAnswer };
  const tokens = createPingTokens(access, {
    tokenUrl: `${told["auth-base-url"]}/${told["environment-id"]}/as/token`,
    clientId: told["client-id"],
    secret: deps.secret,
  });
  // Ping's documentation has the version in the base address at some times, in the paths at others.
  const users = `${told["api-base-url"].replace(/\/v1$/, "")}/v1/environments/${told["environment-id"]}/users`;
  const timeoutDays = told["pre-registration-timeout-days"];

  const devicesOf = (userId: string) => `${users}/${encodeURIComponent(userId)}/devices`;
  const urlOf = ({ userId, deviceId }: IdpState) => `${devicesOf(userId)}/${encodeURIComponent(deviceId)}`;
  const refused = (operation: string, code: string | undefined, detail: string) =>
    new PeerFailure(access.peer, operation, "refused", { code, detail });
  /** One operation with its token and within its time. */
  const operate = <T>(outer: AbortSignal, work: (call: Call) => Promise<T>) =>
    withTimeout(deps.timeLimitMs, outer, signal => tokens.use(signal, token => work({ token, signal })));
  const handleOf = (operation: string, stored: Challenge["idpState"]): IdpState => {
    const { data } = idpState.safeParse(stored);
    if (data === undefined) throw refused(operation, undefined, "No device is known.");
    return data;
  };

  /** The id of a user, who is named by it or by the user name. */
  const resolve = async (call: Call, userId: string): Promise<string> => {
    if (uuid.test(userId)) return userId;
    const operation = "user";
    const wanted = userId.toWellFormed();
    const query = new URLSearchParams({ filter: byUsername(wanted), limit: "2" });
    const url = `${users}?${query}`;
    const answer = await readPeer(access, { ...call, operation, method: "GET", url, answer: userList });
    const [found, ...others] = answer._embedded.users;
    if (found === undefined)
      throw new PeerFailure(access.peer, operation, "missing", { code: "user", detail: "The user was not found." });
    // Should the search be read otherwise than it is meant, a key must not go to somebody else.
    if (others.length > 0 || folded(found.username) !== folded(wanted))
      throw refused(operation, "user", "The name does not tell one user.");
    return found.id;
  };

  const find = (call: Call, operation: string, of: IdpState) =>
    readPeer(access, { ...call, operation, method: "GET", url: urlOf(of), answer: device }).catch(undefinedIfGone);
  const remove = (call: Call, of: IdpState) =>
    retryPeer(access, { ...call, operation: "undo", method: "DELETE", url: urlOf(of), answer: anyResponse });

  return {
    id,
    defaultRelyingPartyId: told["default-relying-party"],

    creationOptions: (wanted, outer) =>
      operate(outer, async call => {
        const operation = "creation options";
        const userId = await resolve(call, wanted.userId).catch(nothingBegun);
        const relyingPartyId = wanted.relyingPartyId ?? told["default-relying-party"];
        const asked = access.now();
        const url = devicesOf(userId);
        const body = newDeviceBody(relyingPartyId, told["policy-id"], nicknameOf(wanted.tag));
        const begun = await callPeer(access, {
          ...call,
          operation,
          method: "POST",
          url,
          body,
          answer: newDevice,
        }).catch(capForGood(operation));
        const kept: IdpState = { userId, deviceId: begun.id, origin: `https://${relyingPartyId}` };
        const options = readOptions(begun.publicKeyCredentialCreationOptions);
        if (options?.rp.id !== relyingPartyId) {
          // Why there are no options matters more than a device that stays behind.
          await remove(call, kept).catch(() => {});
          if (options !== undefined)
            throw refused(operation, "relying_party", `The relying party of this IdP is ${options.rp.id}.`);
          const detail = "The creation options are not readable.";
          throw new PeerFailure(access.peer, operation, "unanswered", { detail });
        }
        return {
          options,
          origin: kept.origin,
          ...(timeoutDays !== undefined && { expiresAt: new Date(plus(asked, days(timeoutDays))) }),
          idpState: { ...kept },
        };
      }),

    activate: (stored, attestation, name, { signal, notAfter }) =>
      operate(signal, async call => {
        const operation = "registration";
        const of = handleOf(operation, stored);
        const body = activationBody(of.origin, attestation);
        const headers = { "content-type": activationType };
        const activation = { ...call, operation, method: "POST", url: urlOf(of), headers, body, notAfter } as const;
        await callPeer(access, { ...activation, answer: activeDevice }).catch(capForGood(operation));
        const url = `${urlOf(of)}/nickname`;
        const naming = { ...call, operation: "name", method: "PUT", url, body: { nickname: name }, notAfter } as const;
        // The key is registered: without its name it works as well.
        await callPeer(access, { ...naming, answer: anyResponse }).catch(() => {});
      }),

    // The device was begun for this credential alone, so its being active tells.
    isRegistered: (stored, _sought, outer) =>
      operate(outer, async call => {
        const operation = "registered key";
        const found = await find(call, operation, handleOf(operation, stored));
        return found?.status === "ACTIVE";
      }),

    // A device is begun under its tag for a nickname, so one whose id is not known is found by it.
    compensateUnanswered: ({ userId: named, tag }, outer) =>
      operate(outer, async call => {
        const operation = "undo";
        // Who may not be asked about may not be given a device either.
        const userId = await resolve(call, named).catch(undefinedIfRefused);
        if (userId === undefined) return;
        const url = devicesOf(userId);
        const list = { ...call, operation, method: "GET", url, answer: deviceList } as const;
        const listed = await readPeer(access, list).catch(undefinedIfRefused);
        for (const { id: deviceId, status, nickname } of listed?._embedded?.devices ?? []) {
          if (status !== "ACTIVATION_REQUIRED" || nickname !== nicknameOf(tag)) continue;
          await remove(call, { userId, deviceId, origin: "" }).catch(undefinedIfGone);
        }
      }),

    compensate: (stored, outer) =>
      operate(outer, async call => {
        const operation = "undo";
        const of = handleOf(operation, stored);
        const found = await find(call, operation, of);
        // A device that was activated is its user's.
        if (found?.status === "ACTIVATION_REQUIRED") await remove(call, of).catch(undefinedIfGone);
      }),
  };
}

/** Until the key has its name. */
const nicknameOf = (tag: string): string => `Pending key ${tag}`;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const folded = (name: string) => name.normalize("NFC").toLowerCase();

/** The cap on devices is answered as throttling is, yet it does not pass. */
const capForGood =
  (operation: string) =>
  (error: unknown): never => {
    if (!(error instanceof PeerFailure) || error.code !== deviceCap || error.kind !== "throttled") throw error;
    const { peer, status, code, detail } = error;
    throw new PeerFailure(peer, operation, "refused", { status, code, detail, cause: error });
  };

/** Who or what is gone has no key; a 404 that is not PingOne's says so without PingOne's error code. */
function undefinedIfGone(error: unknown): undefined {
  if (error instanceof PeerFailure && error.kind === "missing" && error.code !== undefined) return undefined;
  throw error;
}

/** Before a device is asked for, a failure leaves none behind: it is not to be looked for. */
function nothingBegun(error: unknown): never {
  if (!(error instanceof PeerFailure) || error.kind !== "unanswered") throw error;
  const { peer, status, retryAfter, code, detail } = error;
  throw new PeerFailure(peer, "user", "unreachable", { status, retryAfter, code, detail, cause: error });
}

/** A user who is gone, not the one asked for, or out of the caller's reach, in PingOne's words. */
function undefinedIfRefused(error: unknown): undefined {
  const isRefused = error instanceof PeerFailure && (error.kind === "refused" || error.status === 403);
  if (isRefused && error.code !== undefined) return undefined;
  return undefinedIfGone(error);
}

export const pingone = { settings, connect } satisfies IdpKind<PingOneSettings>;
