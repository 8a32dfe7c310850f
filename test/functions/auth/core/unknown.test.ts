import { describe, expect, it } from "vitest";
import { core } from "../../../../functions/auth/routes.ts";
import { days, plus } from "../../../../lib/platform/time.ts";
import { fieldsOf } from "../../../support/auth/core-bodies.ts";
import { hotpKey } from "../../../support/auth/software-key.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";

const auth = await testAuth();
const [[user, { prefix }], [, { prefix: foreign }]] = await Promise.all([
  auth.makeOwner(hotpKey()),
  auth.makeOwner(hotpKey()),
]);
const gone = await auth.makeUser();
await auth.call("DELETE", `/core/users/${gone.id}`);

const unknownNames = ["nobody%20has%20this", "%", "%zz", "\u{1f984}".repeat(128)];
/** Unknown ids, and what can be neither id nor name. */
const noUsers = [
  ...[gone.id, "4711", "0", "007", `0${user.id}`, "9007199254740992", "9".repeat(20), "%20", "x".repeat(1024)],
  ...["a%2Fb", "a%5Cb", "a%3Fb", "a%23b", "a%00b", "%ED%A0%80", "%E2%82"],
];
const noKeys = ["unknown", "no-prefix", "-", "a'b", "__proto__", "x".repeat(1024), "%F0%9F%94%91"];

const later = plus(auth.now(), days(1));
const routes = Object.values(core.endpoints)
  .flatMap(endpoint => endpoint.routes)
  .filter(route => /\{(user|prefix)\}/.test(route));

describe("a call of the Core API for a user, OTP key or assignment that is not there", () => {
  it.each(routes)("%s: 404", async route => {
    const [method = "", template = ""] = route.split(" ");
    const [hasUser, hasKey] = [template.includes("{user}"), template.includes("{prefix}")];
    // An unknown name can be locked too.
    const noNames = /lock$/.test(template) ? [] : unknownNames;
    const targets = [
      ...(hasUser ? [...noUsers, ...noNames].map(each => [each, prefix]) : []),
      ...(hasKey ? [...noKeys, ...(hasUser ? [foreign] : [])].map(each => [user.id, each]) : []),
    ].filter(([, each]) => !(method === "POST" && template.endsWith("/otpkeys") && each !== prefix));
    const fields = method === "POST" ? fieldsOf(template, { prefix, later }) : {};
    const before = (await auth.get("/core/otpkeys")).body;
    for (const [who, which] of targets) {
      const path = template.replace("{user}", String(who)).replace("{prefix}", String(which)).replace("{key}", "a");
      const { status, body } = await auth.call(method, `/core${path}`, { fields });
      expect({ path, status, body }).toEqual({
        path,
        status: 404,
        body: { error: expect.stringMatching(/^There is no such (user|otpkey)/) },
      });
    }
    expect((await auth.get("/core/otpkeys")).body).toEqual(before);
  });
});
