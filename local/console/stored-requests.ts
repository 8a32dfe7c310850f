import { TableClient } from "@azure/data-tables";
import { fromRequestRow } from "../../lib/azure/connector/rows.ts";
import { connectorTables } from "../../lib/azure/connector/store.ts";

/** A request as the list shows it. */
export interface ListedRequest {
  readonly id: string;
  readonly state: string;
  readonly createdAt: string;
  readonly origin: string;
  readonly email: string;
  readonly shipmentId: string | undefined;
  readonly errorMessage: string | undefined;
}

/** As many as a person looks at. */
const most = 200;

/**
 * Lists every credential request in the system's storage, the newest first. Read from the table itself, because the connector
 * tells of requests only to those who know their ids.
 */
export function storedRequests(connectionString: string): () => Promise<readonly ListedRequest[]> {
  const [name = ""] = connectorTables("");
  const table = TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true });
  return async () => {
    const listed: ListedRequest[] = [];
    const rows = table.listEntities({ queryOptions: { filter: "RowKey eq 'request'" } });
    for await (const { partitionKey = "", rowKey = "", etag = "", ...columns } of rows) {
      const row = { ...columns, partitionKey, rowKey, etag };
      const { id, state, createdAt, origin, recipient, delivery, errorMessage } = fromRequestRow(row);
      listed.push({
        id,
        state,
        createdAt,
        origin,
        email: recipient.email,
        shipmentId: delivery?.shipmentId,
        errorMessage,
      });
    }
    return listed.sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1)).slice(0, most);
  };
}
