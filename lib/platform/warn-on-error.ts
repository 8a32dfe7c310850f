import type { Log } from "./log.ts";

/** Awaits the work and logs its failure as a warning, so that it does not hide the error that came first. */
export async function warnOnError(
  event: string,
  work: Promise<unknown>,
  { log }: { readonly log: Log },
): Promise<void> {
  await work.catch((error: unknown) => log.warn(event, { error }));
}
