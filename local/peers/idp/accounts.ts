import type { State } from "../state-file.ts";

/**
 * How a simulated IdP treats a user: `unknown` does not exist, `forbidden` is not accessible to the caller, `blocked` may not have
 * keys by policy, `guest` is of another tenant, `disabled` cannot sign in, `without_mfa` is not enabled for MFA.
 */
export const ACCOUNT_STATUSES = [
  "known",
  "unknown",
  "forbidden",
  "blocked",
  "guest",
  "disabled",
  "without_mfa",
] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

export interface AccountsState {
  /** By lower-case name or id. */
  readonly accounts: [user: string, accountStatus: AccountStatus][];
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Every user exists, unless a control call changes it or the name begins with one of these words. */
const WORDS = ["unknown", "blocked", "guest", "disabled"] as const;

export function createAccounts(file: State<AccountsState>) {
  const { accounts } = file.value;
  const positionOf = (user: string) => accounts.findIndex(([known]) => known === folded(user));
  return {
    statusOf: (user: string): AccountStatus =>
      accounts[positionOf(user)]?.[1] ?? WORDS.find(word => folded(user).startsWith(word)) ?? "known",
    set: (user: string, accountStatus: AccountStatus) => {
      const at = positionOf(user);
      accounts.splice(at === -1 ? accounts.length : at, 1, [folded(user), accountStatus]);
      file.save();
    },
  };
}

export const folded = (name: string): string => name.toLowerCase();
