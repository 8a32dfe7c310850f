import type { ConnectorDeps } from "../../lib/connector/deps.ts";
import type { IdpConfigurations } from "../../lib/connector/idp/kinds.ts";

/** What the connector's endpoints and jobs are given. */
export interface ConnectorContext extends ConnectorDeps {
  /** The words of every setting in force, for the status answers. */
  readonly settingWords: Readonly<Record<string, string>>;
  /** Settings of the configured IdPs as of now. */
  readonly idpSettings: () => IdpConfigurations;
  /** Awaited before a call or a job begins its work; throws Fault `unavailable` while the IdPs are not known (decision C13). */
  readonly ready: () => Promise<void>;
  readonly cleanUpCompletedDays: number;
  /** The absolute address of the API, as a call sees it (decision G2). */
  readonly connectorUrl: (call: URL) => string;
}
