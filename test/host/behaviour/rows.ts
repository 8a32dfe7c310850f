// The table: what Azure's Functions host answers to a request, and where the local host answers something else.
import { hostBodyLimitBytes } from "../../../lib/platform/http/read-body.ts";
import { adminRows } from "./admin-rows.ts";
import { requestRows } from "./request-rows.ts";
import { responseRows } from "./response-rows.ts";
import type { Row } from "./row.ts";

/** Settings of both hosts. */
export const tableSettings: Readonly<Record<string, string>> = {
  AzureWebJobsDisableHomepage: "true",
  FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: String(hostBodyLimitBytes),
  "AzureWebJobs.off.Disabled": "true",
  AzureWebJobs_off2_Disabled: "1",
  "azurewebjobs.OFF3.disabled": "True",
  AzureWebJobs__on__Disabled: "true",
  // A timer that is disabled can be started.
  "AzureWebJobs.Tick.Disabled": "true",
  MYROUTE: "resolved",
};

export const tableHostJson = { version: "2.0", extensions: { http: { routePrefix: "" } } } as const;

export const rows: readonly Row[] = [...requestRows, ...responseRows, ...adminRows];
