import { isDeepStrictEqual } from "node:util";
import { isUnavailable } from "../../platform/fault.ts";
import type { Changes, LoadedRequest, Stored } from "../deps.ts";
import type { requestRows } from "./request-rows.table.ts";

type Rows = Pick<ReturnType<typeof requestRows>, "load" | "save">;

/**
 * Saves changes of a request as `save` of its rows does. If storage does not answer, the write may have succeeded, so the rows are read.
 * Returns them if they have the changes. If they are unchanged, writes once more: if that succeeds, the first write cannot take effect late.
 * Throws the Fault of the first write if the rows cannot be read, and that of the second one if it is not answered either.
 */
export async function saveOrReadBack(rows: Rows, ...write: Parameters<Rows["save"]>): ReturnType<Rows["save"]> {
  const [loaded, changes] = write;
  try {
    return await rows.save(...write);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const stored = await rows.load(loaded.request.value.id).catch(() => {
      throw error;
    });
    if (stored === undefined) return undefined;
    const written = rowsOf(changes).map(row => ({ row, before: rowIn(loaded, row), current: rowIn(stored, row) }));
    if (written.every(({ before, current }) => current?.etag === before?.etag)) return rows.save(...write);
    return written.every(({ row, current }) => isSame(row, current?.value)) ? stored : undefined;
  }
}

type Row = NonNullable<Changes["request"] | NonNullable<Changes["keys"]>[number]>;

const rowsOf = ({ request, keys = [] }: Changes): readonly Row[] => [
  ...(request === undefined ? [] : [request]),
  ...keys,
];

const rowIn = ({ request, keys }: LoadedRequest, { id }: Row): Stored<Row> | undefined =>
  request.value.id === id ? request : keys.find(({ value }) => value.id === id);

/** Whether a value is equal to the stored one, which has no members that are undefined. */
const isSame = (value: Row, stored: Row | undefined): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(value)), stored);
