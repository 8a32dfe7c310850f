import { readOrLog } from "../../platform/tables/row-columns.ts";
import type { Row, RowPage, Table } from "../../platform/tables/tables.ts";
import { holderPrefix } from "../storage/hints.table.ts";
import type { AuthTables } from "../storage/tables.table.ts";
import type { OtpKey, OtpKeyFilter, OtpKeySummary, Page, Range } from "../store.ts";
import { keyIn, keyRow } from "./key-rows.table.ts";

/** Maximum number of OTP keys that a page of a filtered list examines. */
const maxExamined = 1000;

/** Returns a page of the OTP keys that match a filter, sorted by prefix: a call for 1,000 keys. */
export async function listKeys(
  { otpkeys, log }: AuthTables,
  { after, top }: Range<string>,
  filter: OtpKeyFilter,
): Promise<Page<OtpKeySummary, string>> {
  const { beginning, ...conditions } = filter;
  const isFiltered = Object.values(conditions).some(value => value !== undefined);
  const entries: OtpKeySummary[] = [];
  let examined = 0;
  let last = after;
  let continuation: string | undefined;
  do {
    const read = isFiltered ? maxExamined : top + 1 - entries.length;
    const page: RowPage = await otpkeys.queryPage(
      { afterPartition: after, partitionPrefix: beginning, rowKeys: [keyRow] },
      { top: Math.min(1000, read), continuation },
    );
    const assigned =
      filter.assigned === undefined ? undefined : await assignedIn(otpkeys, { after: last, rows: page.rows });
    for (const row of page.rows) {
      const key = await readOrLog(log, () => keyIn(row).value);
      const isWanted = assigned === undefined || assigned.has(row.partitionKey) === filter.assigned;
      if (key !== undefined && isWanted && isMatch(key, filter)) {
        const { id, prefix, enabled } = key;
        entries.push({ id, prefix, enabled });
      }
    }
    examined += page.rows.length;
    last = page.rows.at(-1)?.partitionKey ?? last;
    ({ continuation } = page);
  } while (continuation !== undefined && entries.length <= top && (!isFiltered || examined < maxExamined));
  const shown = entries.slice(0, top);
  const next = entries.length > top ? shown.at(-1)?.prefix : continuation && last;
  return { entries: shown, ...(next !== undefined && { next }) };
}

/** Returns the prefixes of those rows that have a holder, from a scan of the holders' rows in their range. */
async function assignedIn(
  otpkeys: Table,
  { after, rows }: { readonly after: string | undefined; readonly rows: readonly Row[] },
): Promise<ReadonlySet<string>> {
  const last = rows.at(-1)?.partitionKey;
  if (last === undefined) return new Set();
  // No prefix sorts between a prefix and the same one with a space.
  const range = { afterPartition: after, beforePartition: `${last} `, rowKeyPrefix: holderPrefix };
  const found = new Set<string>();
  for await (const { partitionKey } of otpkeys.scan(range, { select: [] })) found.add(partitionKey);
  return found;
}

const isMatch = (
  { enabled, stopped, lastUsed, createdAt }: OtpKey,
  { enabled: isEnabled, stopped: isStopped, unusedSince }: OtpKeyFilter,
): boolean =>
  (isEnabled === undefined || enabled === isEnabled) &&
  (isStopped === undefined || stopped === isStopped) &&
  (unusedSince === undefined || (lastUsed ?? createdAt) < unusedSince);
