import { partitions } from "../../platform/azure/row-batches.ts";
import { readOrLog } from "../../platform/azure/row-columns.ts";
import { pageOf, rowsOf } from "../pages.table.ts";
import type { OtpKey, OtpKeyFilter, OtpKeySummary, Page, Range } from "../store.ts";
import type { AuthTables } from "../tables.table.ts";
import { keyIn, keyRow } from "./key-rows.table.ts";

/** Returns a page of the OTP keys that match a filter, sorted by prefix: a call for 1,000 rows. */
export function listKeys(
  { otpkeys, log }: AuthTables,
  { after, top }: Range,
  { beginning, ...conditions }: OtpKeyFilter,
): Promise<Page<OtpKeySummary>> {
  const options = { top, isFiltered: Object.values(conditions).some(value => value !== undefined) };
  const range = {
    afterPartition: after,
    partitionPrefix: beginning,
    // The rows of the holders follow that of their OTP key.
    ...(conditions.assigned === undefined ? { rowKeys: [keyRow] } : { from: keyRow }),
  };
  async function* examined() {
    for await (const [row, holder] of partitions(rowsOf(otpkeys, range, options), 2)) {
      if (row?.rowKey !== keyRow) continue;
      const key = await readOrLog(log, () => keyIn(row).value);
      const isWanted = key !== undefined && isMatch(key, holder !== undefined, conditions);
      const entry = isWanted ? { id: key.id, prefix: key.prefix, enabled: key.enabled } : undefined;
      yield [row.partitionKey, entry] as const;
    }
  }
  return pageOf(examined(), options);
}

const isMatch = (
  { enabled, stopped, lastUsed, createdAt }: OtpKey,
  hasHolder: boolean,
  { enabled: isEnabled, stopped: isStopped, assigned, unusedSince }: OtpKeyFilter,
): boolean =>
  (isEnabled === undefined || enabled === isEnabled) &&
  (isStopped === undefined || stopped === isStopped) &&
  (assigned === undefined || hasHolder === assigned) &&
  (unusedSince === undefined || (lastUsed ?? createdAt) < unusedSince);
