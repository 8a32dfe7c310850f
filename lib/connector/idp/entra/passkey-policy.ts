import * as z from "zod";
import { refusal, type UserProblem, warning } from "../user-check.ts";

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
      warning("attestation_enforced", "can only get a model that is in the FIDO Metadata Service: check your model"),
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
  const only = rule.enforcementType === "allow" ? "can only get" : "cannot get";
  const more = rule.aaGuids.length > maxListed ? ` and ${rule.aaGuids.length - maxListed} more` : "";
  const list = rule.aaGuids.slice(0, maxListed).join(", ") + more;
  return warning("key_restrictions", `${only} security keys of the AAGUIDs ${list}: compare that of your model`);
}
