import type { Table, Tables } from "../platform/azure/tables.ts";
import type { Log } from "../platform/log.ts";
import type { Now } from "../platform/time.ts";
import { hashOf, type KeyedHash } from "./hash.ts";

const names = {
  users: "users",
  names: "names",
  index: "index",
  otpkeys: "otpkeys",
  throttles: "throttles",
  addresses: "addresses",
  sessions: "sessions",
  spentOtps: "spentotps",
  expiry: "expiry",
} as const;

/** Names of the tables of the authentication server. */
export const authTables: readonly string[] = Object.values(names);

/** What the tables need besides storage. */
export interface StorageDeps {
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
  /** Hashes what people type, for the keys of throttles and addresses (G10). */
  readonly keyedHash: KeyedHash;
}

/** The tables of the authentication server, with clock, randomness and log (G9). */
export type AuthTables = Readonly<Record<keyof typeof names, Table>> & StorageDeps;

export function openAuthTables(tables: Tables, deps: StorageDeps): AuthTables {
  const { now, random, sleep, log, keyedHash } = deps;
  const opened = Object.entries(names).map(([key, name]) => [key, tables.table(name)]);
  const all = Object.fromEntries(opened) as Record<keyof typeof names, Table>;
  return { ...all, now, random, sleep, log, keyedHash };
}

/** Version of the layout, written into every row. */
export const schemaVersion = 1;

/** Returns an id as text that sorts by number. */
export const idKey = (id: number): string => String(id).padStart(16, "0");

/** Returns the id at the end of a row key, where `idKey` has put it. */
export const idAtEnd = (rowKey: string): number => Number(rowKey.slice(-16));

/** Returns a random text by which a write whose response was lost is recognised. */
export const newWriteId = ({ random }: Pick<AuthTables, "random">): string =>
  Buffer.from(random(12)).toString("base64url");

/** Returns the partition of a folded username in the table of names. It has one row. */
export const namePartition = (folded: string): string => hashOf(folded);
export const nameRow = "name";

/** Returns a partition that no user and no OTP key can have, for reads that take the time of real ones. */
export const nonePartition = (text: string): string => `-${hashOf(text)}`;
