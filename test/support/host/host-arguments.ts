import { hostBundle } from "./host-bundle.ts";

/**
 * Space for young objects in MiB. V8 starts with 1 MiB and collects garbage again and again while a host loads, which
 * takes a sixth of the CPU time of a host that runs as briefly as those of tests.
 */
const youngSpace = ["--min-semi-space-size=16", "--max-semi-space-size=32"];

/** Returns the arguments by which Node runs the deployed app behind a host. @param clock the file of the clock that it follows */
export const hostArguments = async (clock?: string): Promise<readonly string[]> => [
  ...youngSpace,
  "test/support/host/host-child.ts",
  await hostBundle(),
  ...(clock === undefined ? [] : [clock]),
];
