import type { Log } from "../../../log.ts";
import type { Now } from "../../../time.ts";
import type { Table, Tables } from "../../tables/tables.ts";

const names = {
  users: "users",
  ids: "ids",
  otpkeys: "otpkeys",
  attributeUsers: "attributeusers",
  sessions: "sessions",
  spentOtps: "spentotps",
  addresses: "addresses",
  expiry: "expiry",
} as const;

/** Names of the tables of the authentication server. */
export const authTables: readonly string[] = Object.values(names);

/** The tables of the authentication server, with clock, randomness and log (G9). */
export type AuthTables = Readonly<Record<keyof typeof names, Table>> & {
  readonly now: Now;
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Log;
};

export function openAuthTables(tables: Tables, passed: Pick<AuthTables, "now" | "random" | "log">): AuthTables {
  const opened = Object.entries(names).map(([key, name]) => [key, tables.table(name)]);
  return { ...(Object.fromEntries(opened) as Record<keyof typeof names, Table>), ...passed };
}
