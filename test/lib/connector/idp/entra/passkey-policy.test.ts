import { describe, expect, test } from "vitest";
import { passkeyPolicy, policyProblems } from "../../../../../lib/connector/idp/entra/users.ts";

const aaguid = "ee882879-721c-4913-9775-3dfcce97072a";
const open = {
  state: "enabled",
  isSelfServiceRegistrationAllowed: true,
  isAttestationEnforced: false,
  keyRestrictions: { isEnforced: false, enforcementType: "allow", aaGuids: [] },
  includeTargets: [{ id: "all_users" }],
  excludeTargets: [],
};
const rule = (enforcementType: string, ...aaGuids: string[]) => ({ isEnforced: true, enforcementType, aaGuids });
const profile = (id: string, more: object = {}) => ({
  id,
  name: `Profile ${id}`,
  passkeyTypes: "deviceBound,synced",
  attestationEnforcement: "disabled",
  keyRestrictions: { isEnforced: false, enforcementType: "allow", aaGuids: [] },
  ...more,
});
const assigning = (...ids: string[]) => ({ includeTargets: [{ id: "all_users", allowedPasskeyProfiles: ids }] });

const found = (policy: object) =>
  policyProblems(passkeyPolicy.parse({ ...open, ...policy })).map(({ code, effect }) => `${effect} ${code}`);

describe("a tenant's passkey policy", () => {
  test.each<[string, object, string[]]>([
    ["is open", {}, []],
    ["has only the members that Graph always sends", { keyRestrictions: null, excludeTargets: null }, []],
    ["is disabled, whatever else it says", { state: "disabled", excludeTargets: [{}] }, ["refused method_disabled"]],
    ["allows no self-service set-up", { isSelfServiceRegistrationAllowed: false }, ["refused self_service_off"]],
    ["enforces attestation", { isAttestationEnforced: true }, ["warning attestation_enforced"]],
    ["allows some models", { keyRestrictions: rule("allow", aaguid) }, ["warning key_restrictions"]],
    ["blocks some models", { keyRestrictions: rule("block", aaguid) }, ["warning key_restrictions"]],
    ["allows no model at all", { keyRestrictions: rule("allow") }, ["refused no_key_allowed"]],
    ["blocks none", { keyRestrictions: rule("block") }, []],
    ["is for one group", { includeTargets: [{ id: "3f2b" }] }, ["warning groups_only"]],
    ["is not for one group", { excludeTargets: [{ id: "3f2b" }] }, ["warning groups_only"]],
    [
      "has a profile for synced passkeys only",
      { passkeyProfiles: [profile("1", { passkeyTypes: "synced" })], ...assigning("1") },
      ["refused no_key_allowed"],
    ],
    [
      "has a profile for security keys beside one for synced passkeys",
      { passkeyProfiles: [profile("1", { passkeyTypes: "synced" }), profile("2")], ...assigning("1", "2") },
      [],
    ],
    [
      "has settings beside profiles that replace them",
      {
        isAttestationEnforced: true,
        keyRestrictions: rule("allow"),
        passkeyProfiles: [profile("1")],
        ...assigning("1"),
      },
      [],
    ],
    [
      "has a restricted profile that no group has",
      { passkeyProfiles: [profile("1"), profile("2", { keyRestrictions: rule("allow") })], ...assigning("1") },
      [],
    ],
    [
      "has a profile with attestation and restrictions",
      {
        passkeyProfiles: [
          profile("1", { attestationEnforcement: "registrationOnly", keyRestrictions: rule("allow", aaguid) }),
        ],
        ...assigning("1"),
      },
      ["warning key_restrictions", "warning attestation_enforced"],
    ],
  ])("that %s has these problems", (_, policy, problems) => {
    expect(found(policy)).toEqual(problems);
  });

  test("names the models that it allows, and a long list in part", () => {
    const messageOf = (...aaGuids: string[]) =>
      policyProblems(passkeyPolicy.parse({ ...open, keyRestrictions: rule("allow", ...aaGuids) }))[0]?.message;
    expect(messageOf(aaguid)).toBe(
      `is in a tenant that takes only keys of the AAGUIDs ${aaguid}: compare that of your model`,
    );
    const many = Array.from({ length: 12 }, (_, n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);
    expect(messageOf(...many)).toMatch(/000000000009 and 2 more: compare/);
  });

  test("is not read if an AAGUID is any other text", () => {
    expect(passkeyPolicy.safeParse({ ...open, keyRestrictions: rule("allow", "<b>any</b>") }).success).toBe(false);
  });
});
