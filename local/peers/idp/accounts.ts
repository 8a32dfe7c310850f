import type { State } from "../state-file.ts";
import { idOfUser } from "../uuid-of.ts";

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

/** A user of a simulated IdP. The name of a user that was never looked up by name is the id. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
}

export interface AccountsState {
  /** By id. */
  readonly accounts: Record<string, { readonly name: string; readonly status?: AccountStatus | undefined }>;
  /** The users that were renamed, by lower-case new name; the latest entry of a name applies. */
  readonly renamed: [name: string, id: string][];
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Every user exists, unless a control call changes it or the name begins with one of these words. */
const WORDS = ["unknown", "blocked", "guest", "disabled"] as const;

export function createAccounts(file: State<AccountsState>) {
  const { accounts, renamed } = file.value;
  const withId = (given: string): Account => {
    const id = folded(given);
    const { name = given, status } = accounts[id] ?? {};
    return { id, name, status: status ?? WORDS.find(word => folded(name).startsWith(word)) ?? "known" };
  };
  /** Returns the user of a name, who is unknown if the user with that name was renamed. */
  const withName = (name: string): Account => {
    const id = renamed.findLast(([to]) => to === folded(name))?.[1] ?? idOfUser(name);
    const known = accounts[id];
    if (known !== undefined && folded(known.name) !== folded(name)) return { id: name, name, status: "unknown" };
    if (known === undefined) {
      accounts[id] = { name };
      file.save();
    }
    return withId(id);
  };
  const find = (user: string) => (uuid.test(user) ? withId(user) : withName(user));
  return {
    withId,
    withName,
    /** Returns the user of an id or a name. */
    find,
    set: (user: string, status: AccountStatus) => {
      const { id, name } = find(user);
      accounts[id] = { name, status };
      file.save();
    },
    /** Gives a user a new name. The id stays. */
    rename: (user: string, name: string) => {
      const { id } = find(user);
      accounts[id] = { ...accounts[id], name };
      renamed.push([folded(name), id]);
      file.save();
    },
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const folded = (name: string): string => name.toLowerCase();
