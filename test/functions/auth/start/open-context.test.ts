import { expect, it } from "vitest";
import { openAuthContext } from "../../../../functions/auth/start/open-context.ts";
import { authSettings } from "../../../../lib/auth/settings.ts";
import { readSettings } from "../../../../lib/platform/settings/read-settings.ts";
import { testAuth } from "../../../support/auth/test-auth.ts";

const { deployment } = await testAuth();

it.each([
  ["one on one core", 1, 1],
  ["one for each of three cores", 3, 3],
  ["at most four, the threads that Node has for them", 16, 4],
])("as many hashes are in progress: %s", async (_, cores, expected) => {
  const { hasher } = openAuthContext({ ...deployment, cores }, readSettings(authSettings, {}));
  let slots = 0;
  try {
    for (;;) {
      hasher.acquireHashSlot({ isKnown: true });
      slots += 1;
    }
  } catch {
    // There are 32 slots for each hash in progress, three of four for known callers.
    expect(slots / 24).toBe(expected);
  }
});
