import type { connectorLimits } from "../../../functions/connector/start/open-context.ts";
import type { deploymentLimits } from "../../../functions/deployment.ts";
import type { authLimits } from "../../../lib/auth/rules.ts";
import type { fixedIntervals } from "../../../lib/connector/model/intervals.ts";

/** Constants of the app that a test replaces (`Deployment.limits`). */
export type Limits = Readonly<
  Partial<typeof deploymentLimits & typeof authLimits & typeof connectorLimits & typeof fixedIntervals>
>;
