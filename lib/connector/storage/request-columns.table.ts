import { rowColumns } from "../../platform/tables/row-columns.ts";
import { type CredentialRequest, requestSchema } from "../model/request.ts";
import { type SecurityKey, securityKeySchema } from "../model/security-key.ts";

/** The version of the layout, written into every row of the connector. */
export const schemaVersion = 1;

/** The columns of the row of a request. */
export const requestColumns = rowColumns<CredentialRequest>({ kind: "request", version: schemaVersion }, requestSchema);

/** The columns of the row of a security key (C18). */
export const securityKeyColumns = rowColumns<SecurityKey>(
  { kind: "key", version: schemaVersion, spread: "credentials" },
  securityKeySchema,
);
