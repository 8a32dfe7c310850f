/**
 * Returns a function that starts `work` and does not wait for it. While it runs, further calls start it once more after its end, so that no
 * call is lost and no two overlap.
 * @param failed gets the error of a run that failed
 */
export function runSoon(work: () => Promise<unknown>, failed: (error: unknown) => void): () => void {
  let isRunning = false;
  let isAskedAgain = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    do {
      isAskedAgain = false;
      await work().catch(failed);
    } while (isAskedAgain);
    isRunning = false;
  };
  return () => {
    if (isRunning) isAskedAgain = true;
    else void run();
  };
}
