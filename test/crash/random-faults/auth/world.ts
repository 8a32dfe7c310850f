import { hotpKey, type SoftwareKey } from "../../../support/auth/software-key.ts";
import { newPassword } from "../../../support/auth/test-auth.ts";
import { beginWrite, createHistory, createMoments, type History, type Moments, type Write } from "./history.ts";

/** A user of whom a caller got the id. */
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
  /** What is imported next: another one after each deletion. */
  software: SoftwareKey;
  nextFactor: number;
  /** OTPs that were accepted, of all software keys of the prefix. */
  readonly accepted: {
    readonly otp: string;
    readonly factor: number;
    readonly by: SoftwareKey;
    readonly until: number;
  }[];
}

export interface KnownSession {
  readonly value: string;
  readonly user: KnownUser;
  readonly prefix: string | undefined;
  readonly lives: History<boolean>;
}

/** A write that ends sessions, also those that are created while it runs. */
export interface SessionEnd {
  readonly write: Write<boolean>;
  ends(session: KnownSession): boolean;
}

/** What callers know of users, OTP keys and sessions, from the responses to their calls. */
export interface World {
  readonly moments: Moments;
  readonly users: KnownUser[];
  readonly otpkeys: readonly KnownOtpKey[];
  readonly sessions: KnownSession[];
  readonly sessionEnds: SessionEnd[];
  /** Deletions of OTP keys, which end assignments, also those to users who are created while they run. */
  readonly keyDeletions: { readonly prefix: string; readonly write: Write<boolean> }[];
  /** Users whose creation had no response. */
  readonly unknownCreates: { readonly name: string; readonly password: string }[];
  /** Every password that was ever set, or was to be. */
  readonly passwords: string[];
  /** A sentence for each thing that must not have happened. */
  readonly wrong: string[];
  newPassword(): string;
  addUser(user: {
    readonly id: number;
    readonly name: string;
    readonly password: string;
    readonly from: number;
  }): KnownUser;
  addSession(session: Omit<KnownSession, "lives"> & { readonly from: number }): void;
  /** Begins a write that ends sessions. */
  endSessions(ends: SessionEnd["ends"]): Write<boolean>;
}

export const usernames = ["ann", "bob", "cia"];
export const attributeKeys = ["k", "l"];
export const attributeValues = ["1", "2", "3"];

export function createWorld(): World {
  const moments = createMoments();
  const atStart = <T>(value: T) => createHistory<T>(moments, { value, from: 0, until: 0 });
  const world: World = {
    moments,
    users: [],
    otpkeys: [1, 2, 3].map(() => {
      const software = hotpKey();
      const { prefix } = software;
      return { prefix, enabled: atStart(true), exists: atStart("absent"), software, nextFactor: 0, accepted: [] };
    }),
    sessions: [],
    sessionEnds: [],
    keyDeletions: [],
    unknownCreates: [],
    passwords: [],
    wrong: [],
    newPassword: () => {
      const password = newPassword();
      world.passwords.push(password);
      return password;
    },
    addUser: ({ id, name, password, from }) => {
      const created = { from, until: moments.next() };
      const history = <T>(value: T) => createHistory<T>(moments, { value, ...created });
      const user: KnownUser = {
        id,
        exists: history(true),
        name: history(name),
        password: history(password),
        attributes: new Map(attributeKeys.map(key => [key, history<string | null>(null)])),
        otpkeys: new Map(world.otpkeys.map(({ prefix }) => [prefix, history(false)])),
      };
      for (const { prefix, write } of world.keyDeletions) user.otpkeys.get(prefix)?.add(write);
      world.users.push(user);
      return user;
    },
    addSession: ({ from, ...given }) => {
      const lives = createHistory(moments, { value: true, from, until: moments.next() });
      const session: KnownSession = { ...given, lives };
      for (const { write, ends } of world.sessionEnds) if (write.until > from && ends(session)) lives.add(write);
      world.sessions.push(session);
    },
    endSessions: ends => {
      const write = beginWrite(moments, false);
      world.sessionEnds.push({ write, ends });
      for (const session of world.sessions.filter(ends)) session.lives.add(write);
      return write;
    },
  };
  return world;
}
