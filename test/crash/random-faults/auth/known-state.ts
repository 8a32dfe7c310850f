import { hotpKey, type SoftwareKey } from "../../../support/auth/software-key.ts";
import { newPassword } from "../../../support/auth/test-auth.ts";
import {
  beginWrite,
  createHistory,
  createLogicalClock,
  type History,
  type LogicalClock,
  type Write,
} from "./history.ts";

/** A user whose id a caller knows. */
export interface KnownUser {
  readonly id: number;
  readonly exists: History<boolean>;
  readonly name: History<string>;
  readonly password: History<string>;
  readonly attributes: ReadonlyMap<string, History<string | null>>;
  /** Whether the user has the OTP key, by prefix. */
  readonly otpkeys: ReadonlyMap<string, History<boolean>>;
}

export interface KnownOtpKey {
  readonly prefix: string;
  readonly enabled: History<boolean>;
  /** "no secret": it was created by an assignment. */
  readonly exists: History<"imported" | "no secret" | "absent">;
  /** What the next import has. Replaced when a deletion begins. */
  software: SoftwareKey;
  nextCounter: number;
  /** OTPs that were accepted, of all software keys of the prefix. */
  readonly accepted: {
    readonly counter: number;
    readonly software: SoftwareKey;
    readonly respondedAt: number;
  }[];
}

export interface KnownSession {
  readonly value: string;
  readonly user: KnownUser;
  readonly prefix: string | undefined;
  readonly isAlive: History<boolean>;
}

/** A write that ends sessions, including those that are created while it runs. */
export interface SessionEnd {
  readonly write: Write<boolean>;
  ends(session: KnownSession): boolean;
}

/** What callers know of users, OTP keys and sessions, from the responses to their calls. */
export interface KnownState {
  readonly clock: LogicalClock;
  readonly users: KnownUser[];
  readonly otpkeys: readonly KnownOtpKey[];
  readonly sessions: KnownSession[];
  readonly sessionEnds: SessionEnd[];
  /** Deletions of OTP keys. A deletion ends all assignments, including those of users who are created while it runs. */
  readonly keyDeletions: { readonly prefix: string; readonly write: Write<boolean> }[];
  /** Users whose creation had no response. */
  readonly unknownCreates: Set<{ readonly name: string; readonly password: string }>;
  /** Every password that a call set or tried to set. */
  readonly passwords: string[];
  /** A sentence for each response that contradicts the others. */
  readonly wrong: string[];
  newPassword(): string;
  addUser(user: {
    readonly id: number;
    readonly name: string;
    readonly password: string;
    readonly from: number;
  }): KnownUser;
  addSession(session: Omit<KnownSession, "isAlive"> & { readonly from: number }): void;
  /** Begins a write that ends sessions. */
  endSessions(ends: SessionEnd["ends"]): Write<boolean>;
}

export const usernames = ["ann", "bob", "cia"];
export const attributeKeys = ["k", "l"];
export const attributeValues = ["1", "2", "3"];

export function createKnownState(): KnownState {
  const clock = createLogicalClock();
  const atStart = <T>(value: T) => createHistory<T>(clock, { value, calledAt: 0, respondedAt: 0 });
  const known: KnownState = {
    clock,
    users: [],
    otpkeys: [1, 2, 3].map(() => {
      const software = hotpKey();
      const { prefix } = software;
      return { prefix, enabled: atStart(true), exists: atStart("absent"), software, nextCounter: 0, accepted: [] };
    }),
    sessions: [],
    sessionEnds: [],
    keyDeletions: [],
    unknownCreates: new Set(),
    passwords: [],
    wrong: [],
    newPassword: () => {
      const password = newPassword();
      known.passwords.push(password);
      return password;
    },
    addUser: ({ id, name, password, from }) => {
      const created = { calledAt: from, respondedAt: clock.next() };
      const history = <T>(value: T) => createHistory<T>(clock, { value, ...created });
      const user: KnownUser = {
        id,
        exists: history(true),
        name: history(name),
        password: history(password),
        attributes: new Map(attributeKeys.map(key => [key, history<string | null>(null)])),
        otpkeys: new Map(known.otpkeys.map(({ prefix }) => [prefix, history(false)])),
      };
      for (const { prefix, write } of known.keyDeletions) user.otpkeys.get(prefix)?.add(write);
      known.users.push(user);
      return user;
    },
    addSession: ({ from, ...given }) => {
      const isAlive = createHistory(clock, { value: true, calledAt: from, respondedAt: clock.next() });
      const session: KnownSession = { ...given, isAlive };
      for (const { write, ends } of known.sessionEnds)
        if (write.respondedAt > from && ends(session)) isAlive.add(write);
      known.sessions.push(session);
    },
    endSessions: ends => {
      const write = beginWrite(clock, false);
      known.sessionEnds.push({ write, ends });
      for (const session of known.sessions.filter(ends)) session.isAlive.add(write);
      return write;
    },
  };
  return known;
}
