import type { AuthDeps } from "../../lib/auth/deps.ts";

/** Dependencies of the endpoints of both APIs. */
export interface AuthContext extends AuthDeps {
  /** Returns the base URL of absolute links to the Core API, for a call to this URL (G2, A17). */
  readonly coreUrl: (call: URL) => string;
  /** Public origin of the deployment, if `PUBLIC_BASE_URL` is set: behind a proxy it can differ from the app's host. */
  readonly publicOrigin?: string;
}
