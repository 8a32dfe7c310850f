import { readFile } from "node:fs/promises";
import { csvRows } from "../import/csv-rows.ts";
import type { Line } from "../import/lines.ts";
import type { ReportColumns } from "../import/report.ts";

/** What a report has of an order. */
export interface ReportedOrder {
  /** Cell of the column `id`, or empty. */
  readonly id: string;
  /** Of the id, else of the content, so that a second run creates no second request. */
  readonly idempotencyKey: string;
  /** Hash of all cells but the id. */
  readonly content: string;
  /** What the connector named it, once it is ordered. */
  readonly requestId?: string;
  readonly shipmentId?: string;
}

/** The orders of earlier runs by idempotency key, as lines of the report. */
export type EarlierOrders = ReadonlyMap<string, Line<ReportedOrder>>;

/** The columns of the report about an order. It has no personal data but what an id says. */
export const orderColumns: ReportColumns<ReportedOrder> = {
  id: ({ id }) => id,
  idempotency_key: ({ idempotencyKey }) => idempotencyKey,
  content: ({ content }) => content,
  credential_request_id: ({ requestId = "" }) => requestId,
  shipment_id: ({ shipmentId = "" }) => shipmentId,
};

/** Returns the report beside a file of orders: `orders.report.csv` of `orders.csv`. */
export const reportPathOf = (file: string): string => `${file.replace(/\.(?:csv|txt)$/i, "")}.report.csv`;

/** Returns what the report of earlier runs says is ordered. Nothing if there is none. */
export async function readEarlier(path: string): Promise<EarlierOrders> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const ordered = csvRows(path, text).filter(({ values }) => ["ordered", "present"].includes(values.outcome ?? ""));
  return new Map(
    ordered.map(({ values }) => {
      const { file = "", line, id = "", idempotency_key: idempotencyKey = "", content = "" } = values;
      const ids = { requestId: values.credential_request_id ?? "", shipmentId: values.shipment_id ?? "" };
      const item = { id, idempotencyKey, content, ...ids };
      return [idempotencyKey, { file, line: Number(line), item, outcome: "present", reason: "of an earlier run" }];
    }),
  );
}

/** Returns the orders of earlier runs that the lines do not have any more: the report keeps them. */
export function keptOf(earlier: EarlierOrders, lines: readonly Line<ReportedOrder>[]): readonly Line<ReportedOrder>[] {
  const present = new Set(lines.map(({ item }) => item?.idempotencyKey));
  return [...earlier].flatMap(([key, line]) => (present.has(key) ? [] : [line]));
}
