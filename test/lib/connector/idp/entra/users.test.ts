import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Idp } from "../../../../../lib/connector/idp/contract.ts";
import type { Entra } from "../../../../../local/peers/entra/entra.ts";
import { kindOf } from "../../../../support/connector/peer-tools.ts";
import { answerTo, askFor, type IdpTools, signal, start, toolsFor, user } from "../idp-tools.ts";

let entra: Entra;
let tools: IdpTools["tools"];
let idp: Idp;

beforeEach(async () => {
  entra = await start.entra();
  entra.settings({ policy: { isAttestationEnforced: false } });
  const connected = toolsFor.entra(entra.url);
  tools = connected.tools;
  idp = connected.connect();
});
afterEach(() => entra.close());

const check = async (userId = user, of = signal) => (await idp.checkUser?.({ userId }, of)) ?? [];
const found = async (userId = user) => (await check(userId)).map(({ effect, code }) => `${effect} ${code}`);
const policyReads = () => entra.count("GET", /\/policies\//);

describe("the check of a user of Entra ID", () => {
  test.each([
    ["known", []],
    ["unknown", ["refused user_unknown"]],
    ["guest", ["refused user_guest"]],
    ["disabled", ["warning user_disabled"]],
    ["forbidden", ["warning right_missing"]],
  ] as const)("finds one who is %s", async (accountStatus, problems) => {
    entra.setUser(user, accountStatus);
    expect(await found()).toEqual(problems);
  });

  test("names the permissions that are missing, and finds what it may read", async () => {
    entra.setUser(user, "disabled");
    entra.settings({ readsPolicies: false });
    expect((await check()).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^is disabled: enable/),
      "was not fully checked: grant the application the permission Policy.Read.AuthenticationMethod",
    ]);
    entra.settings({ readsUsers: false, policy: { state: "disabled" }, readsPolicies: true });
    tools.advance(60_001);
    expect((await check()).map(({ message }) => message)).toEqual([
      "was not fully checked: grant the application the permission User.Read.All",
      expect.stringMatching(/^cannot have a passkey: the method is disabled. Enable it in/),
    ]);
  });

  test("reads the policy once a minute for all users, and each user once", async () => {
    await Promise.all(["a", "b", "c"].map(name => check(`${name}@example.com`)));
    await check();
    expect(policyReads()).toBe(1);
    expect(entra.count("GET", /\/users\/[^/]+$/)).toBe(4);
    entra.settings({ policy: { isSelfServiceRegistrationAllowed: false, isAttestationEnforced: false } });
    expect(await found()).toEqual([]);
    tools.advance(60_001);
    expect(await found()).toEqual(["refused self_service_off"]);
    expect(policyReads()).toBe(2);
  });

  test("says what could not be checked, and reads the policy again at the next call", async () => {
    entra.fail({ kind: "refuse", status: 503, path: "/policies/", times: 3 });
    expect(await check()).toEqual([
      {
        code: "not_checked",
        message: "could not be checked: IdP main: passkey policy unanswered (503)",
        effect: "unchecked",
      },
    ]);
    expect(await found()).toEqual([]);
    entra.fail({ kind: "nonsense", status: 403, path: "/users/" });
    entra.fail({ kind: "nonsense", status: 404, path: "/users/", times: 3 });
    expect(await found()).toEqual(["unchecked not_checked"]);
    expect(await found()).toEqual(["unchecked not_checked"]);
  });

  test("gets a new token if the old one is not accepted any more", async () => {
    await check();
    entra.revokeTokens();
    tools.advance(60_001);
    expect(await found()).toEqual([]);
    expect(entra.count("POST", /oauth2/)).toBe(2);
  });

  test("escapes the user, so that the name cannot be another address", async () => {
    await check("../policies?x=#");
    expect(entra.requests().map(({ path }) => path)).toContain("/beta/users('../policies?x=#')");
  });
});

describe("the simulated tenant", () => {
  test.each<[string, () => void]>([
    ["is disabled for passkeys", () => entra.settings({ policy: { state: "disabled" } })],
    ["allows no self-service set-up", () => entra.settings({ policy: { isSelfServiceRegistrationAllowed: false } })],
    [
      "allows other models only",
      () =>
        entra.settings({ policy: { keyRestrictions: { isEnforced: true, enforcementType: "allow", aaGuids: [] } } }),
    ],
    ["sees a guest", () => entra.setUser(user, "guest")],
  ])("that %s issues creation options, and refuses the registration", async (_, begin) => {
    begin();
    const challenge = await askFor(idp);
    const response = answerTo(challenge);
    expect(await kindOf(idp.activate(challenge.idpState, response, "key", { signal }))).toBe("refused");
  });
});
