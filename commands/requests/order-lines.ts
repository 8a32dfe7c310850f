import { createHash } from "node:crypto";
import type { CredentialRequestOrder } from "../../docs/openapi/connector.ts";
import { nearestNameIn } from "../../lib/platform/settings/nearest-name.ts";
import { csvRows } from "../import/csv-rows.ts";
import { type Line, locationOf } from "../import/lines.ts";
import { plain } from "../import/screen.ts";
import { type Cells, columnNames, neededColumns, orderOf, problemsOf } from "./order-columns.ts";
import type { EarlierOrders, ReportedOrder } from "./order-report.ts";

/** A line of a file of orders. */
export interface Order extends ReportedOrder {
  readonly body: CredentialRequestOrder;
}

const maxKeyLength = 255;

/**
 * Reads the orders of a CSV file. A line that an earlier run has ordered is `present`. Throws if the file is no CSV, or has a column that is
 * unknown, or lacks one.
 */
export function readOrders(file: string, text: string, earlier: EarlierOrders): readonly Line<Order>[] {
  const rows = csvRows(file, text);
  checkColumns(file, Object.keys(rows[0]?.values ?? {}));
  const first = new Map<string, Line<Order>>();
  return rows.map(({ line, values }) => {
    const read = lineOf({ file, line }, values, earlier);
    const key = read.item?.idempotencyKey ?? "";
    const same = first.get(key);
    if (read.item === undefined || same === undefined) {
      first.set(key, read);
      return read;
    }
    const what = read.item.id === "" ? "is the same, and has no id" : "has the same id";
    return { file, line, outcome: "refused", reason: `${locationOf(same)} ${what}` };
  });
}

function checkColumns(file: string, names: readonly string[]): void {
  if (names.length === 0) throw new Error(`${file} contains no order.`);
  const unknown = names.find(name => !columnNames.includes(name));
  if (unknown !== undefined) {
    const nearest = nearestNameIn(columnNames)(unknown);
    throw new Error(`${file} has an unknown column ${plain(unknown)}${nearest ? `: is it ${nearest}?` : "."}`);
  }
  const missing = neededColumns.filter(name => !names.includes(name));
  if (missing.length > 0) throw new Error(`${file} has no column ${missing.join(", ")}.`);
}

function lineOf(
  place: Pick<Line<Order>, "file" | "line">,
  values: Readonly<Record<string, string>>,
  earlier: EarlierOrders,
): Line<Order> {
  const given = Object.entries(values).map(([name, value]) => [name, value.trim()] as const);
  const { id = "", ...cells }: Cells = Object.fromEntries(given.filter(([, value]) => value !== ""));
  const content = contentOf(cells);
  const idempotencyKey = id === "" ? `content-${content}` : `id-${encodeURIComponent(id)}`;
  const problems = [
    ...problemsOf(cells),
    ...(idempotencyKey.length > maxKeyLength ? [`id must have at most ${maxKeyLength} characters when encoded`] : []),
  ];
  if (problems.length > 0) return { ...place, outcome: "refused", reason: problems.join("; ") };
  const item = { id, idempotencyKey, content, body: orderOf(cells) };
  const known = earlier.get(idempotencyKey)?.item;
  if (known === undefined) return { ...place, item, outcome: "open", reason: "not ordered, or without a response" };
  if (known.content !== content)
    return {
      ...place,
      outcome: "refused",
      reason: `its id was ordered with other cells as ${known.requestId}: cancel that one, or give a new order a new id`,
    };
  return { ...place, item: { ...known, ...item }, outcome: "present", reason: "" };
}

/** Returns a hash that is the same in whichever order the columns are. */
const contentOf = (cells: Cells): string =>
  createHash("sha256")
    .update(JSON.stringify(Object.entries(cells).sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest("hex")
    .slice(0, 32);
