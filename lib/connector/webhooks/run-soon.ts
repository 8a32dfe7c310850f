/**
 * Returns a function that starts `work` and does not wait for it. Calls while it runs start it once more after its end,
 * so that no call is lost and no two runs overlap.
 * @param failed gets the error of a run that failed
 */
export function runSoon(work: () => Promise<unknown>, failed: (error: unknown) => void): () => void {
  let isRunning = false;
  let shouldRunAgain = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    do {
      shouldRunAgain = false;
      await work().catch(failed);
    } while (shouldRunAgain);
    isRunning = false;
  };
  return () => {
    if (isRunning) shouldRunAgain = true;
    else void run();
  };
}
