import * as z from "zod";
import { raceAbort, singleFlight, withTimeoutSignal } from "../../../platform/async.ts";
import type { PeerAccess } from "../../../platform/call-peer.ts";
import { orFailure, PeerFailure } from "../../../platform/peer-failure.ts";
import { type Instant, minutes, type Now, plus } from "../../../platform/time.ts";
import type { peerApi } from "../../peers/access-token.ts";
import type { Idp } from "../contract.ts";
import { asUnknownUser, checked, isUuid, refusal, type UserProblem, userWarning, warning } from "../user-check.ts";
import { graphUser } from "./wire.ts";

const grant = "grant the application the permission";
/** How long the tenant's policy is cached, so that all users of a request share one read. */
const policyMaxAgeMs = minutes(1);
const policyPath = "/policies/authenticationMethodsPolicy/authenticationMethodConfigurations/fido2";

/** Runs an operation of Microsoft Graph. */
type Operate = ReturnType<typeof peerApi>;

/** Returns the check of users' accounts, one call each, and of the tenant's passkey policy, one call a minute. */
export function entraUserCheck(
  operate: Operate,
  now: Now,
  { graph, accounts }: { readonly graph: string; readonly accounts: Accounts },
): NonNullable<Idp["checkUser"]> {
  let policy: { readonly problems: readonly UserProblem[]; readonly until: Instant } | undefined;

  const readPolicy = singleFlight(async () => {
    const until = plus(now(), policyMaxAgeMs);
    const read = operate(undefined, api => api.get("passkey policy", graph + policyPath, passkeyPolicy));
    const problems = await checked(read.then(policyProblems), `${grant} Policy.Read.AuthenticationMethod`);
    if (problems.every(({ effect }) => effect !== "unchecked")) policy = { problems, until };
    return problems;
  });
  const policyOf = async () => (policy !== undefined && now() < policy.until ? policy.problems : readPolicy());

  const unknown = asUnknownUser("does not exist in the tenant: correct the principal name or object id");
  return async ({ userId }, signal) => {
    const account = accounts.read(userId, signal).then(accountProblems, unknown);
    return (await Promise.all([checked(account, `${grant} User.Read.All`), policyOf()])).flat();
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

const operation = "user";
/** The part of the time limit of a call for which creation options wait for an account at most. */
const objectIdShare = 0.25;

/** The accounts of users in the tenant. Reading one needs a permission that the registration of keys does not need. */
type Accounts = ReturnType<typeof createAccounts>;

/** Creates the look-up of accounts, by object id or principal name. */
export function createAccounts(
  { peer, timeLimitMs }: Pick<PeerAccess, "peer" | "timeLimitMs">,
  operate: Operate,
  userUrl: (userId: string) => string,
) {
  const running = new Map<string, Promise<z.output<typeof graphUser>>>();

  /** Returns the account of a user. Simultaneous checks and creation options of a user share a call. */
  const read = (userId: string, signal: AbortSignal) => {
    let shared = running.get(userId);
    if (shared === undefined) {
      const url = `${userUrl(userId)}?$select=id,accountEnabled,userType`;
      // The call has no caller's signal, so that one caller cannot end it for others.
      shared = operate(undefined, api => api.get(operation, url, graphUser)).finally(() => running.delete(userId));
      running.set(userId, shared);
    }
    return raceAbort(shared, signal, cause => new PeerFailure(peer, operation, "unanswered", { cause }));
  };

  return {
    read,
    /** Returns the object id of a user, which no rename changes; undefined if Graph does not give it in time. */
    objectId: async (userId: string, outer: AbortSignal): Promise<string | undefined> => {
      if (isUuid(userId)) return userId;
      const found = await withTimeoutSignal(timeLimitMs * objectIdShare, outer, signal =>
        orFailure(read(userId, signal)),
      );
      return found instanceof PeerFailure || found.id === undefined || !isUuid(found.id) ? undefined : found.id;
    },
  };
}

const keyRestrictions = z.lazy(() =>
  z.object({
    isEnforced: z.boolean().nullish(),
    enforcementType: z.string().nullish(),
    aaGuids: z.array(z.string().regex(/^[0-9A-Fa-f-]{36}$/)).nullish(),
  }),
);

const profile = z.lazy(() =>
  z.object({
    id: z.string(),
    passkeyTypes: z.string().nullish(),
    attestationEnforcement: z.string().nullish(),
    keyRestrictions: keyRestrictions.nullish(),
  }),
);

/** The tenant's policy for passkeys (Graph: fido2AuthenticationMethodConfiguration). */
export const passkeyPolicy = z.lazy(() =>
  z.object({
    state: z.string(),
    isSelfServiceRegistrationAllowed: z.boolean().nullish(),
    isAttestationEnforced: z.boolean().nullish(),
    keyRestrictions: keyRestrictions.nullish(),
    includeTargets: z
      .array(z.object({ id: z.string(), allowedPasskeyProfiles: z.array(z.string()).nullish() }))
      .nullish(),
    excludeTargets: z.array(z.unknown()).nullish(),
    passkeyProfiles: z.array(profile).nullish(),
  }),
);

type Policy = z.output<typeof passkeyPolicy>;
type Profile = z.output<typeof profile>;

const where = "in the Microsoft Entra admin center, Authentication methods > Policies > Passkey (FIDO2)";
const maxListed = 10;

/** Returns what a policy says about new keys. The user's groups and the keys' AAGUIDs are not known. */
export function policyProblems(policy: Policy): readonly UserProblem[] {
  if (policy.state !== "enabled")
    return [refusal("method_disabled", `cannot have a passkey: the method is disabled. Enable it ${where}`)];
  const usable = profilesOf(policy).filter(allowsSomeKey);
  const isForAll = policy.includeTargets?.some(({ id }) => id === "all_users") && !policy.excludeTargets?.length;
  const hasAttestation = usable.some(({ attestationEnforcement }) => attestationEnforcement === "registrationOnly");
  const found: readonly (UserProblem | false)[] = [
    policy.isSelfServiceRegistrationAllowed === false &&
      refusal("self_service_off", `cannot get a passkey: set "Allow self-service set up" to Yes ${where}`),
    usable.length === 0 &&
      refusal("no_key_allowed", `cannot get a security key: allow device-bound passkeys and the key's AAGUID ${where}`),
    ...usable.map(restriction),
    hasAttestation &&
      warning(
        "attestation_enforced",
        "is in a tenant that takes only models of the FIDO Metadata Service: check your model",
      ),
    !isForAll && warning("groups_only", `must be in a group that may have passkeys: see Enable and target ${where}`),
  ];
  return found.filter(problem => problem !== false);
}

/** Returns the profiles that some group has. A policy without profiles has the settings of one itself. */
function profilesOf({ passkeyProfiles, includeTargets, isAttestationEnforced, keyRestrictions }: Policy) {
  if (!passkeyProfiles?.length)
    return [{ id: "", attestationEnforcement: isAttestationEnforced ? "registrationOnly" : null, keyRestrictions }];
  const assigned = includeTargets?.flatMap(({ allowedPasskeyProfiles }) => allowedPasskeyProfiles ?? []) ?? [];
  const inUse = passkeyProfiles.filter(({ id }) => assigned.includes(id));
  return inUse.length > 0 ? inUse : passkeyProfiles;
}

function allowsSomeKey({ passkeyTypes, keyRestrictions: rule }: Profile): boolean {
  const allowsNone = rule?.isEnforced === true && rule.enforcementType === "allow" && !rule.aaGuids?.length;
  return !allowsNone && (passkeyTypes == null || passkeyTypes.includes("deviceBound"));
}

function restriction({ keyRestrictions: rule }: Profile): UserProblem | false {
  if (rule?.isEnforced !== true || !rule.aaGuids?.length) return false;
  const takes = rule.enforcementType === "allow" ? "takes only" : "does not take";
  const more = rule.aaGuids.length > maxListed ? ` and ${rule.aaGuids.length - maxListed} more` : "";
  const list = rule.aaGuids.slice(0, maxListed).join(", ") + more;
  const message = `is in a tenant that ${takes} keys of the AAGUIDs ${list}: compare that of your model`;
  return warning("key_restrictions", message);
}
