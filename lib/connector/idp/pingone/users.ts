import * as z from "zod";
import { PeerFailure } from "../../../platform/peer-failure.ts";
import type { PeerApi, peerApi } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { asUnknownUser, checked, isUuid, refusal, type UserProblem, userWarning } from "../user-check.ts";
import { byUsername, deviceList, type PingOneUser, pingOneUser, userList } from "./wire.ts";

const mfaSettings = z.lazy(() => z.object({ pairing: z.object({ maxAllowedDevices: z.int().min(0) }) }));
const right = "grant the worker application the roles Environment Admin and Identity Data Admin";

/** The addresses of PingOne's API. */
interface Addresses {
  readonly environment: string;
  readonly users: string;
  readonly devicesOf: (userId: string) => string;
}

/** Returns the check of a user's account and, unless devices are being created, of the number of its devices. */
export function pingOneUserCheck(
  operate: ReturnType<typeof peerApi>,
  peer: string,
  { environment, users, devicesOf }: Addresses,
): NonNullable<Idp["checkUser"]> {
  const deviceProblems = async (api: PeerApi, userId: string, added: number): Promise<readonly UserProblem[]> => {
    const [{ length: count }, { pairing }] = await Promise.all([
      api.get("devices", devicesOf(userId), deviceList),
      api.get("MFA settings", `${environment}/mfaSettings`, mfaSettings),
    ]);
    const max = pairing.maxAllowedDevices;
    const message = `has ${count} devices and would get ${added} more, but may have ${max}: delete some, or raise the maximum in PingOne's MFA settings`;
    return count + added > max ? [refusal("too_many_credentials", message)] : [];
  };
  const check = async (api: PeerApi, account: PingOneUser, added: number | undefined) => [
    ...accountProblems(account),
    ...(added === undefined ? [] : await checked(deviceProblems(api, account.id, added), right)),
  ];
  const unknown = asUnknownUser("is not one user of the environment: correct the user name or id");
  return ({ userId, newCredentials }, outer) =>
    operate(outer, api => {
      const account = isUuid(userId)
        ? api.get(operation, `${users}/${encodeURIComponent(userId)}`, pingOneUser)
        : findUser(api, peer, users, userId);
      return checked(
        account.then(found => check(api, found, newCredentials), unknown),
        right,
      );
    });
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

/** Returns the id of a user. Makes no call if `userId` is an id. Throws as `findUser` does. */
export const userIdOf = async (api: PeerApi, peer: string, users: string, userId: string): Promise<string> =>
  isUuid(userId) ? userId : (await findUser(api, peer, users, userId)).id;

/**
 * Returns the user with a user name. Throws a PeerFailure `missing` or `refused`, with the code `user`, for a name that
 * no user or more than one has.
 */
async function findUser(api: PeerApi, peer: string, users: string, name: string): Promise<PingOneUser> {
  const username = name.toWellFormed();
  const query = new URLSearchParams({ filter: byUsername(username), limit: "2" });
  const [found, ...others] = await api.get(operation, `${users}?${query}`, userList);
  const failed = (kind: "missing" | "refused", detail: string) =>
    new PeerFailure(peer, operation, kind, { code: "user", detail });
  if (found === undefined) throw failed("missing", "The user was not found.");
  // Checks the result, so that a misread filter cannot give the security key to another user.
  if (others.length > 0 || folded(found.username) !== folded(username))
    throw failed("refused", "The name does not identify one user.");
  return found;
}

const folded = (name: string) => name.normalize("NFC").toLowerCase();
