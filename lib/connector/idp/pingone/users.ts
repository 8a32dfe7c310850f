import * as z from "zod";
import { callPeer, type PeerAccess } from "../../../platform/call-peer.ts";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { AccessTokens, TokenCall } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { asUnknownUser, checked, isUuid, refusal, type UserProblem, userWarning } from "../user-check.ts";
import { byUsername, deviceList, type PingOneUser, pingOneUser, userList } from "./wire.ts";

const mfaSettings = z.lazy(() => z.object({ pairing: z.object({ maxAllowedDevices: z.int().min(0) }) }));
const right = "grant the worker application the roles Environment Admin and Identity Data Admin";

/** Returns the check of a user's account and, unless devices are being created, of the number of its devices. */
export function pingOneUserCheck(
  access: PeerAccess,
  tokens: AccessTokens,
  {
    environment,
    accountOf,
    devicesOf,
  }: {
    readonly environment: string;
    readonly accountOf: (call: TokenCall, userId: string) => Promise<PingOneUser>;
    readonly devicesOf: (userId: string) => string;
  },
): NonNullable<Idp["checkUser"]> {
  const deviceProblems = async (call: TokenCall, userId: string, added: number): Promise<readonly UserProblem[]> => {
    const get = { ...call, method: "GET", mayRepeat: true } as const;
    const [{ _embedded }, { pairing }] = await Promise.all([
      callPeer(access, { ...get, operation: "devices", url: devicesOf(userId), response: deviceList }),
      callPeer(access, { ...get, operation: "MFA settings", url: `${environment}/mfaSettings`, response: mfaSettings }),
    ]);
    const count = _embedded?.devices.length ?? 0;
    const max = pairing.maxAllowedDevices;
    const message = `has ${count} devices and would get ${added} more, but may have ${max}: delete some, or raise the maximum in PingOne's MFA settings`;
    return count + added > max ? [refusal("too_many_credentials", message)] : [];
  };
  const check = async (call: TokenCall, account: PingOneUser, added: number | undefined) => [
    ...accountProblems(account),
    ...(added === undefined ? [] : await checked(deviceProblems(call, account.id, added), right)),
  ];
  const unknown = asUnknownUser("is not one user of the environment: correct the user name or id");
  return ({ userId, newCredentials }, outer) =>
    tokens.use(outer, call =>
      checked(
        accountOf(call, userId).then(account => check(call, account, newCredentials), unknown),
        right,
      ),
    );
}

function accountProblems({ enabled, mfaEnabled }: PingOneUser): readonly UserProblem[] {
  const disabled = "is disabled: enable the user in PingOne, Directory > Users, before the key is used";
  const withoutMfa = "has MFA disabled: enable it in PingOne, Directory > Users, tab Services";
  return [
    ...(enabled === false ? [userWarning("user_disabled", disabled)] : []),
    ...(mfaEnabled === false ? [refusal("mfa_disabled", withoutMfa)] : []),
  ];
}

const operation = "user";

/**
 * Creates the look-up of users, by id or user name. It fails as `missing` or `refused`, with the code `user`, for a
 * name that no user or more than one has.
 */
export function createUserLookup(access: PeerAccess, url: string) {
  const get = { operation, method: "GET", mayRepeat: true } as const;
  const find = async (call: TokenCall, userId: string): Promise<PingOneUser> => {
    const username = userId.toWellFormed();
    const query = new URLSearchParams({ filter: byUsername(username), limit: "2" });
    const [found, ...others] = await callPeer(access, { ...call, ...get, url: `${url}?${query}`, response: userList });
    const failed = (kind: "missing" | "refused", detail: string) =>
      new PeerFailure(access.peer, operation, kind, { code: "user", detail });
    if (found === undefined) throw failed("missing", "The user was not found.");
    // Checks the result, so that a misread filter cannot give the security key to another user.
    if (others.length > 0 || folded(found.username) !== folded(username))
      throw failed("refused", "The name does not identify one user.");
    return found;
  };
  return {
    /** Returns the id of a user. Makes no call if `userId` is an id. */
    resolve: async (call: TokenCall, userId: string): Promise<string> =>
      isUuid(userId) ? userId : (await find(call, userId)).id,
    read: (call: TokenCall, userId: string): Promise<PingOneUser> => {
      if (!isUuid(userId)) return find(call, userId);
      return callPeer(access, { ...call, ...get, url: `${url}/${encodeURIComponent(userId)}`, response: pingOneUser });
    },
  };
}

const folded = (name: string) => name.normalize("NFC").toLowerCase();
