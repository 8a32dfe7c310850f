import { expect, test } from "vitest";
import { hours } from "../../../lib/platform/time.ts";
import { type TestAuth, testAuth } from "../../support/auth/test-auth.ts";
import { endWrites } from "./auth/history.ts";
import { createKnownState, usernames } from "./auth/known-state.ts";
import { wrongOutcomes } from "./auth/outcome.ts";
import { takeStep } from "./auth/steps.ts";
import { createFaults, type Faults } from "./faults.ts";
import { seededRandom, seeds } from "./random.ts";
import { withLog } from "./random-run.ts";

const steps = 120;
const probabilities = { calls: 0.03, requests: 0 };

test.each(seeds)(
  "the state after random faults on three hosts agrees with their responses (seed %i)",
  { timeout: 300_000 },
  async seed => {
    const random = seededRandom(seed);
    await withLog(random, async run => {
      const known = createKnownState();
      // Sessions expire later than the run ends, so that only calls end them.
      const settings = { SESSION_IDLE_SECONDS: "604800", SESSION_ABSOLUTE_SECONDS: "604800" };
      const healthyHost = await testAuth({ settings });
      const faults = createFaults({ random, probabilities, now: healthyHost.now }, run.log);
      const hosts = ["a", "b", "c"].map(name => hostWith(faults, name, healthyHost));
      await createUsers(known, healthyHost);
      for (let step = 0; step < steps; step++) await takeStep({ random, run, faults, known, healthyHost, hosts });

      await run.end(faults);
      healthyHost.advance(hours(2));
      await healthyHost.context.cleanUp();
      expect([...run.unexpectedErrors, ...(await wrongOutcomes(known, healthyHost, hosts))]).toEqual([]);
    });
  },
);

const hostWith = (faults: Faults, name: string, auth: TestAuth): TestAuth =>
  auth.anotherInstance({
    tables: tables => faults.tables(name, tables),
    ports: ({ sealer }) => ({ sealer: faults.port(name, sealer, "Key Vault") }),
  });

/** Three users with an OTP key each. */
async function createUsers(known: ReturnType<typeof createKnownState>, auth: TestAuth): Promise<void> {
  for (const [index, name] of usernames.entries()) {
    const otpkey = known.otpkeys[index];
    if (otpkey === undefined) throw new Error(`there is no OTP key for ${name}`);
    const password = known.newPassword();
    const from = known.clock.next();
    const made = await auth.makeUser({ name, password });
    const imported = otpkey.exists.begin("imported");
    const user = known.addUser({ ...made, from });
    const assigned = user.otpkeys.get(otpkey.prefix)?.begin(true);
    await auth.giveKey(made, otpkey.software);
    endWrites([imported, ...(assigned ? [assigned] : [])], "done", known.clock.next());
  }
}
