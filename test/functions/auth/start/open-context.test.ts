import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { openAuthContext } from "../../../../functions/auth/start/open-context.ts";
import { knownCaller } from "../../../../lib/auth/passwords/hash-places.ts";
import { authSettings } from "../../../../lib/auth/settings.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";

const { deployment } = await testAuth();

it.each([
  ["one on one core", 1, 1],
  ["one for each of three cores", 3, 3],
  ["at most four, the threads that Node has for them", 16, 4],
])("as many hashes are in progress: %s", async (_, cores, expected) => {
  const sleep = () => new Promise<void>(() => {});
  const { hasher } = openAuthContext({ ...deployment, cores, sleep }, authSettings.parse({}));
  let begun = 0;
  for (let n = 0; n < 100; n++)
    void hasher
      .takePlace(knownCaller)
      .turn()
      .then(() => begun++);
  await setImmediate();
  // Eight attempts begin for each hash in progress.
  expect(begun / 8).toBe(expected);
});
