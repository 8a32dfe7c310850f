import type { AuthDeps } from "../../lib/auth/deps.ts";
import type { Call } from "../../lib/http/call.ts";

/** What the endpoints of both APIs are given. */
export interface AuthContext extends AuthDeps {
  /** Front of absolute addresses of the Core API, for a call to this URL (decisions G2, A17). */
  readonly coreUrl: (call: URL) => string;
  /** Where callers see the deployment, where that is told (decision G2): a proxy may give the app another host to answer for. */
  readonly publicOrigin?: string;
  /** The caller's address, where a proxy that is ours tells it (decision G7). */
  readonly callerAddress: (call: Call) => string | undefined;
}
