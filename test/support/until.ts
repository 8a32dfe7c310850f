import { setTimeout as pause } from "node:timers/promises";

/**
 * Polls until the condition is true. Rejects after `limitMs` with the message of `describe`. For changes without an
 * event.
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  describe: () => string | Promise<string>,
  limitMs = 100_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(await describe());
    await pause(50);
  }
}
