import * as z from "zod";
import { badRequest } from "./errors.ts";

const keyRestrictions = z.strictObject({
  isEnforced: z.boolean(),
  enforcementType: z.enum(["allow", "block"]),
  aaGuids: z.array(z.string()),
});

/** The members of the passkey policy that a control call can set. */
export const policySettings = z
  .strictObject({
    state: z.enum(["enabled", "disabled"]),
    isSelfServiceRegistrationAllowed: z.boolean(),
    isAttestationEnforced: z.boolean(),
    keyRestrictions,
    includeTargets: z.array(z.strictObject({ id: z.string(), allowedPasskeyProfiles: z.array(z.string()).optional() })),
    excludeTargets: z.array(z.strictObject({ id: z.string() })),
    passkeyProfiles: z.array(
      z.strictObject({
        id: z.string(),
        name: z.string(),
        passkeyTypes: z.string(),
        attestationEnforcement: z.enum(["disabled", "registrationOnly"]),
        keyRestrictions,
      }),
    ),
  })
  .partial();

export type PolicySettings = z.output<typeof policySettings>;

const DEFAULT_POLICY = {
  state: "enabled",
  isSelfServiceRegistrationAllowed: true,
  isAttestationEnforced: true,
  keyRestrictions: { isEnforced: false, enforcementType: "block", aaGuids: [] },
  includeTargets: [{ id: "all_users" }],
  excludeTargets: [],
  passkeyProfiles: [],
};

/** Returns the policy as Graph shows it. */
export const policyView = (policy: PolicySettings) => ({
  "@odata.context": "https://graph.microsoft.com/beta/$metadata#authenticationMethodConfigurations/$entity",
  "@odata.type": "#microsoft.graph.fido2AuthenticationMethodConfiguration",
  id: "Fido2",
  ...DEFAULT_POLICY,
  ...policy,
});

/** Refuses a registration that the tenant-wide part of the policy forbids. Profiles are not simulated. */
export function refuseByPolicy(policy: PolicySettings, aaGuid: string): void {
  const { state, isSelfServiceRegistrationAllowed } = { ...DEFAULT_POLICY, ...policy };
  const rule = policy.keyRestrictions ?? DEFAULT_POLICY.keyRestrictions;
  const listed = rule.aaGuids.some(each => each.toLowerCase() === aaGuid.toLowerCase());
  const isAllowed = !rule.isEnforced || listed === (rule.enforcementType === "allow");
  if (state !== "enabled" || !isSelfServiceRegistrationAllowed || !isAllowed)
    throw badRequest("The passkey policy of the tenant does not allow this registration.");
}
