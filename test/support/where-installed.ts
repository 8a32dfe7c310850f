/** The name of a group of tests that needs a tool which not every machine has: where they are skipped, it says why. */
export const whereInstalled = (group: string, tool: string, isInstalled: boolean): string =>
  isInstalled ? group : `${group} (skipped: ${tool} is not installed)`;
