import { setTimeout as pause } from "node:timers/promises";

/** Asks again until the condition holds; rejects after `limitMs` with what `told` says then. For what gives no event. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  told: () => string | Promise<string>,
  limitMs = 100_000,
): Promise<void> {
  const end = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(await told());
    await pause(50);
  }
}
