import { patientLimits } from "../storage/fresh-storage.ts";
import { hostBundle } from "./host-bundle.ts";
import type { Limits } from "./limits.ts";

/**
 * Space for young objects in MiB. V8 starts with 1 MiB and collects garbage again and again while a host loads, which
 * takes a sixth of the CPU time of a host that runs as briefly as those of tests.
 */
const youngSpace = ["--min-semi-space-size=16", "--max-semi-space-size=32"];

/** @property clock the file of the clock that the host follows */
export interface ChildOptions {
  readonly limits?: Limits;
  readonly clock?: string | undefined;
}

/** Returns the arguments by which Node runs the deployed app behind a host. */
export const hostArguments = async ({ limits, clock }: ChildOptions = {}): Promise<readonly string[]> => [
  ...youngSpace,
  "test/support/host/host-child.ts",
  await hostBundle(),
  JSON.stringify({ limits: { ...patientLimits, ...limits }, clock }),
];
