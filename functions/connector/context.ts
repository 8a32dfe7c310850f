import type { IdpSettings } from "../../lib/connector/idp/kinds.ts";
import type { ConnectorDeps } from "../../lib/connector/ports.ts";

/** What the connector's endpoints and jobs are given. */
export interface ConnectorContext extends ConnectorDeps {
  /** The words of every setting in force, for the status answers. */
  readonly settingWords: Readonly<Record<string, string>>;
  readonly idpSettings: Readonly<Record<string, IdpSettings>>;
  readonly cleanUpCompletedDays: number;
}
