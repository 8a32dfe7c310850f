import { type Caller, callerFields } from "../lib/caller.ts";
import type { ApiName, DeploymentSettings } from "../lib/deployment-settings.ts";
import type { Identify } from "../lib/http/api.ts";
import type { ResponseOptions } from "../lib/http/respond.ts";
import type { Environment } from "../lib/settings.ts";
import type { Deployment } from "./deployment.ts";

/** A wing as the composition root starts it. It is loaded only where one of its APIs is served. */
export interface Service {
  /** Parses the wing's settings. Throws BadSettings. Returns what connects it; nothing is called by that. */
  read(environment: Environment): (deployment: Deployment) => OpenService;
  /** Registers the routes of the named APIs so that each refuses (decision G14). */
  refuse(apis: readonly ApiName[], paths: ApiPaths, options: ResponseOptions): void;
}

export interface OpenService {
  /** Registers the APIs that the settings name, with their timers and tasks. */
  register(): void;
  /** Resolves when calls can be answered; absent where they can at once. */
  readonly ready?: () => Promise<void>;
}

/** Leading path segments by API (decision G2). */
export type ApiPaths = Pick<DeploymentSettings, "CORE_PATH" | "CLIENT_PATH" | "CONNECTOR_PATH">;

/** Asks who calls wherever the endpoint does (decision G3). */
export const bearer =
  (check: (headers: Headers) => Promise<Caller>): Identify<never> =>
  async (access, call) => {
    if (access === "open") return {};
    const caller = await check(call.headers);
    return { caller, logFields: callerFields(caller) };
  };
