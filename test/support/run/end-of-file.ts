/** Work for the end of the test file that runs. A module outlives its first file where files share a process. */
const pending: (() => Promise<void>)[] = [];

/** Does `work` after the last test of the file. Unlike `afterAll`, it can be called while a test runs. */
export const atEndOfFile = (work: () => Promise<void>): void => void pending.push(work);

/** Does what was registered, the latest first. */
export async function endFile(): Promise<void> {
  for (const work of pending.splice(0).reverse()) await work();
}
