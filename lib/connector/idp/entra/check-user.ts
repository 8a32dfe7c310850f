import type * as z from "zod";
import { singleFlight } from "../../../platform/async/single-flight.ts";
import { callPeer, type PeerAccess } from "../../../platform/peers/call-peer.ts";
import { type Instant, minutes, plus } from "../../../platform/time.ts";
import type { AccessTokens } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { asUnknownUser, checked, refusal, type UserProblem, userWarning } from "../user-check.ts";
import type { Accounts } from "./account.ts";
import { passkeyPolicy, policyProblems } from "./passkey-policy.ts";
import type { graphUser } from "./wire.ts";

const grant = "grant the application the permission";
/** How long the tenant's policy is cached, so that all users of a request share one read. */
const policyMaxAgeMs = minutes(1);
const policyPath = "/policies/authenticationMethodsPolicy/authenticationMethodConfigurations/fido2";

/** Returns the check of users' accounts, one call each, and of the tenant's passkey policy, one call a minute. */
export function entraUserCheck(
  access: PeerAccess,
  tokens: AccessTokens,
  { url: graphUrl, accounts }: { readonly url: string; readonly accounts: Accounts },
): NonNullable<Idp["checkUser"]> {
  let policy: { readonly problems: readonly UserProblem[]; readonly until: Instant } | undefined;
  const get = { method: "GET", mayRepeat: true } as const;

  const readPolicy = singleFlight(async () => {
    const operation = "passkey policy";
    const until = plus(access.now(), policyMaxAgeMs);
    const read = tokens.use(undefined, call =>
      callPeer(access, { ...call, ...get, operation, url: graphUrl + policyPath, response: passkeyPolicy }),
    );
    const problems = await checked(read.then(policyProblems), `${grant} Policy.Read.AuthenticationMethod`);
    if (problems.every(({ effect }) => effect !== "unchecked")) policy = { problems, until };
    return problems;
  });
  const policyOf = async () => (policy !== undefined && access.now() < policy.until ? policy.problems : readPolicy());

  const accountOf = (userId: string, signal: AbortSignal) => {
    const unknown = asUnknownUser("does not exist in the tenant: correct the principal name or object id");
    return checked(accounts.read(userId, signal).then(accountProblems, unknown), `${grant} User.Read.All`);
  };

  return async ({ userId }, signal) => {
    const found = await Promise.all([accountOf(userId, signal), policyOf()]);
    return found.flat();
  };
}

/** A user type that is missing is that of a member. */
function accountProblems({ accountEnabled, userType }: z.output<typeof graphUser>): readonly UserProblem[] {
  // Accounts of people who have not joined yet are disabled while their keys are made.
  const disabled = "is disabled: enable the account in the Microsoft Entra admin center, Users, before the key is used";
  const guest = "is a guest, who can have passkeys in the home tenant only: order for a member of this tenant";
  return [
    ...(accountEnabled === false ? [userWarning("user_disabled", disabled)] : []),
    ...(userType?.toLowerCase() === "guest" ? [refusal("user_guest", guest)] : []),
  ];
}
