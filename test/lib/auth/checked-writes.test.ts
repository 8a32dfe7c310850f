import { expect, test } from "vitest";
import { issueTemporaryCode, setValidity } from "../../../lib/auth/otpkeys/otpkey-access.ts";
import { createUser } from "../../../lib/auth/users/manage-users.ts";
import { resetPassword } from "../../../lib/auth/users/user-access.ts";
import { days, plus } from "../../../lib/platform/time.ts";
import { hotpKey } from "../../support/auth/software-key.ts";
import { identified, username } from "../../support/auth/store.ts";
import { newName, testAuth } from "../../support/auth/test-auth.ts";

const { makeOwner, context } = await testAuth();
const [user, { prefix }] = await makeOwner(hotpKey());
const name = newName();
const [past, later] = [plus(context.now(), -days(1)), plus(context.now(), days(1))];

test.each<[string, string, () => Promise<unknown>]>([
  ["a new user", "password", () => createUser({ username: username(name), password: "short" }, context)],
  ["a new user", "password", () => createUser({ username: username(name), password: name.toUpperCase() }, context)],
  [
    "a new user without a password",
    "must_change",
    () => createUser({ username: username(name), password: "", mustChange: true }, context),
  ],
  ["a reset", "password", () => resetPassword(identified(user.id), { password: "short" }, context)],
  [
    "the validity of an OTP key",
    "valid_until",
    () => setValidity(prefix, { validFrom: later, validUntil: past }, context),
  ],
  ["a temporary code", "valid_until", () => issueTemporaryCode(prefix, { uses: 1, validUntil: past }, context)],
])("refuses the input of %s by its field %s before it writes, whoever calls", async (_, field, write) => {
  const read = () =>
    Promise.all([
      context.users.find({ by: "name", folded: username(name).folded }),
      context.users.find(identified(user.id)),
      context.otpkeys.find(prefix),
    ]);
  const before = await read();
  await expect(write()).rejects.toMatchObject({ kind: "invalid", problems: [{ path: field }] });
  expect(await read()).toEqual(before);
});
