import type { ConnectorDeps } from "../../lib/connector/deps.ts";
import type { EventDeps } from "../../lib/connector/events/deliver-events.ts";
import type { IdpConfigurations } from "../../lib/connector/idp/kinds.ts";

/** The dependencies of the connector's endpoints and jobs. */
export interface ConnectorContext extends Omit<ConnectorDeps, "events">, EventDeps {
  /** The effective settings as text, for status. */
  readonly settingTexts: Readonly<Record<string, string>>;
  /** Returns the settings of the configured IdPs. */
  readonly idpSettings: () => IdpConfigurations;
  /** Every call and job awaits it first. Throws Fault `unavailable` until the IdPs are known (C13). */
  readonly ready: () => Promise<void>;
  readonly cleanUpCompletedDays: number;
  /** Returns the base URL of the API for absolute links in the response to a call (G2). */
  readonly connectorUrl: (call: URL) => string;
}
