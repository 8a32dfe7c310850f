import type { Endpoint } from "../../lib/http/endpoint.ts";
import { withLogFields } from "../../lib/log.ts";

/** Endpoints of which every log line names who called: what administrators do is audited (decision A12). */
export const withNamedCaller = <D>(endpoints: Readonly<Record<string, Endpoint<D>>>): Record<string, Endpoint<D>> =>
  Object.fromEntries(
    Object.entries(endpoints).map(([name, endpoint]) => [
      name,
      {
        ...endpoint,
        run: (input, deps, context) =>
          withLogFields({ caller: context.caller.id }, () => endpoint.run(input, deps, context)),
      } satisfies Endpoint<D>,
    ]),
  );
