import { test } from "vitest";
import { hours } from "../../../lib/time.ts";
import { type TestAuth, testAuth } from "../../support/auth/test-auth.ts";
import { ended } from "./auth/history.ts";
import { wrongOutcomes } from "./auth/outcome.ts";
import { takeStep } from "./auth/steps.ts";
import { createWorld, usernames } from "./auth/world.ts";
import { drawBySeed, seeds } from "./draw.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createPlay } from "./play.ts";

const steps = 120;
const shares = { calls: 0.03, requests: 0 };

test.each(seeds)("three hosts with random faults do what they answer (seed %i)", { timeout: 300_000 }, async seed => {
  const draw = drawBySeed(seed);
  const play = createPlay(draw);
  const world = createWorld();
  // Sessions live longer than a run, so that only calls end them.
  const sound = await testAuth({ settings: { SESSION_IDLE_SECONDS: "86400" } });
  const faults = createFaults({ draw, shares, now: sound.now }, play.note);
  const hosts = ["a", "b", "c"].map(name => hostWith(faults, name, sound));
  await furnish(world, sound);
  for (let step = 0; step < steps; step++) await takeStep({ draw, play, faults, world, sound, hosts });

  await play.end(faults);
  sound.advance(hours(2));
  await sound.context.cleanUp();
  play.judge(await wrongOutcomes(world, sound, hosts));
});

const hostWith = (faults: Faults, name: string, auth: TestAuth): TestAuth =>
  auth.anotherInstance({
    tables: tables => faults.tables(name, tables),
    ports: ({ sealer }) => ({ sealer: faults.port(name, sealer, "Key Vault") }),
  });

/** Three users with an OTP key each. */
async function furnish(world: ReturnType<typeof createWorld>, auth: TestAuth): Promise<void> {
  for (const [index, name] of usernames.entries()) {
    const otpkey = world.otpkeys[index];
    if (otpkey === undefined) throw new Error(`there is no OTP key for ${name}`);
    const password = world.newPassword();
    const from = world.moments.next();
    const made = await auth.makeUser({ name, password });
    const imported = otpkey.exists.begin("imported");
    const user = world.addUser({ ...made, from });
    const assigned = user.otpkeys.get(otpkey.prefix)?.begin(true);
    await auth.giveKey(made, otpkey.software);
    ended([imported, ...(assigned ? [assigned] : [])], "done", world.moments.next());
  }
}
