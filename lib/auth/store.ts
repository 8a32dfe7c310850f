import type { Instant } from "../time.ts";
import type { AddressCount } from "./model/address-limit.ts";
import type { AttributeHead } from "./model/attributes.ts";
import type { Parsed } from "./model/parsed.ts";
import type { Session, SessionKey } from "./model/session.ts";
import type { Throttle } from "./model/throttle.ts";
import type { Username, UserReference } from "./model/username.ts";
import type { KeyForm } from "./otp/contract.ts";
import type { OtpKindName } from "./otp/kinds.ts";
import type { StoredPassword } from "./passwords/password-hash.ts";

/** A value as read, with the version that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly version: string;
}

export interface UserSummary {
  readonly id: number;
  readonly name: string;
}

export interface User extends UserSummary {
  /** Of the folded name, see `userHandle`. */
  readonly handle: string;
  /** Absent: no password (decision A4). */
  readonly password?: StoredPassword;
  /** Moves with every change that ends sessions (decision A15). */
  readonly epoch: number;
  readonly createdAt: Instant;
}

export type Attributes = Readonly<Record<string, string>>;

export interface UserView extends UserSummary {
  readonly attributes: Attributes;
  /** Prefixes of the assigned keys. */
  readonly otpkeys: readonly string[];
}

/** A user as pointed to: found only while the name that has the handle is the one of that id. */
export interface UserPointer {
  readonly by: "handle";
  readonly handle: string;
  readonly id: number;
}

export type UserRef = UserReference | UserPointer;

/** A key as assigned: one made anew under its prefix has another id and is not meant. */
export interface AssignedKey {
  readonly prefix: string;
  readonly id: number;
}

/** A name's throttle as read, `noFailures` where none is kept. It counts for whoever had the name then, or for nobody. */
export interface ThrottleState {
  readonly handle: string;
  readonly userId?: number;
  readonly value: Throttle;
  /** Absent where none is kept. */
  readonly version?: string;
}

/** All that a login needs to know of a name, at one moment. */
export interface SignInState {
  readonly user?: Stored<User>;
  readonly throttle: ThrottleState;
  readonly otpkeys: readonly AssignedKey[];
}

/** Part of a list in the order of ids. */
export interface Range {
  /** Ids above this one. */
  readonly after?: number;
  /** Most entries, at least 1. */
  readonly top: number;
}

export interface Page<T> {
  readonly entries: readonly T[];
  /** The `after` of the next page; absent on the last. */
  readonly next?: number;
}

/** All must hold (decision A11). */
export interface UserFilter {
  readonly attributes: ReadonlyMap<string, string>;
  /** Prefix of an assigned key. */
  readonly otpkey?: string;
}

/** Every change by version is undefined where another was faster: nothing was written then, or this very write's answer got lost. */
export interface Users {
  /** With epoch 1. Undefined where the folded name is taken. An id is never given twice. */
  create(user: { readonly username: Username; readonly password?: StoredPassword }): Promise<Stored<User> | undefined>;
  find(whom: UserRef): Promise<Stored<User> | undefined>;
  view(whom: UserRef): Promise<UserView | undefined>;
  /** Undefined where an id never was given; with `user` absent where nobody has the name. */
  standing(whom: UserRef): Promise<SignInState | undefined>;
  /** Writes password and epoch. */
  save(user: Stored<User>, next: Pick<User, "password" | "epoch">): Promise<Stored<User> | undefined>;
  /** With attributes, assignments and throttle; keys stay (decision A17). False where there is none. */
  remove(whom: UserRef): Promise<boolean>;
  list(range: Range, filter?: UserFilter): Promise<Page<UserSummary>>;
}

/** Whose attributes. With both, the key's own, where it is assigned to that user (decision A14). */
export type AttributeOwner =
  | { readonly user: UserRef; readonly otpkey?: undefined }
  | { readonly user?: undefined; readonly otpkey: string }
  | { readonly user: UserRef; readonly otpkey: string };

/** Keys and values are taken as valid (decision A14). */
export interface AttributeStore {
  /** Undefined where there is no such owner. */
  all(owner: AttributeOwner): Promise<Attributes | undefined>;
  /** `null` where it is not set, undefined where there is no such owner. */
  get(owner: AttributeOwner, key: string): Promise<string | null | undefined>;
  /** Refused where the owner would have too much. Undefined where there is no such owner. */
  set(owner: AttributeOwner, key: string, value: string): Promise<Parsed<AttributeHead> | undefined>;
  /** Absent is fine. False where there is no such owner. */
  remove(owner: AttributeOwner, key: string): Promise<boolean>;
}

export interface OtpKey {
  readonly id: number;
  readonly prefix: string;
  /** Absent: no secret was imported yet (decision A9). */
  readonly kind?: OtpKindName;
  readonly enabled: boolean;
  /** Wrong OTPs in a row, and whether they stopped the key (decision A12). */
  readonly failures: number;
  readonly stopped: boolean;
  readonly form: KeyForm;
  /** Sealed (decision G8). */
  readonly sealedSecret?: string;
  readonly createdAt: Instant;
}

export type NewOtpKey = Omit<OtpKey, "id" | "createdAt">;

export interface OtpKeySummary {
  readonly id: number;
  readonly prefix: string;
  readonly enabled: boolean;
}

export interface OtpKeys {
  find(prefix: string): Promise<Stored<OtpKey> | undefined>;
  /**
   * A key and who may have it: all users who do are among the candidates; whether one does is told by the standing's
   * `otpkeys` (decision A6).
   */
  findHolders(
    prefix: string,
  ): Promise<{ readonly key: Stored<OtpKey>; readonly candidates: readonly UserPointer[] } | undefined>;
  /** With `of`, undefined also where it is not assigned to that user. */
  view(
    prefix: string,
    of?: UserRef,
  ): Promise<{ readonly key: Stored<OtpKey>; readonly attributes: Attributes } | undefined>;
  /** Undefined where the prefix is taken. */
  create(key: NewOtpKey): Promise<Stored<OtpKey> | undefined>;
  /**
   * Writes all but prefix and id, where nobody wrote since: so an OTP's use or failure, read and recorded, counts once
   * (decision A8).
   */
  save(key: Stored<OtpKey>, next: NewOtpKey): Promise<Stored<OtpKey> | undefined>;
  /** With its attributes and every assignment. False where there is none. */
  remove(prefix: string): Promise<boolean>;
  list(range: Range): Promise<Page<OtpKeySummary>>;
  /** Assigned already is fine. */
  assign(whom: UserRef, prefix: string): Promise<"assigned" | "no_user" | "no_key">;
  /** False where the user is none or does not have the key. */
  unassign(whom: UserRef, prefix: string): Promise<boolean>;
  /**
   * Takes an OTP that others check as used, until then (decision A8). False where it was used before.
   * @param otpHash SHA-256 in base64url
   */
  spend(prefix: string, otpHash: string, until: Instant): Promise<boolean>;
}

export interface Sessions {
  begin(key: SessionKey, session: Session): Promise<void>;
  /** The session and whoever has the handle now, side by side; whether they belong together is the caller's to judge. */
  find(key: SessionKey): Promise<{ readonly session?: Stored<Session>; readonly user?: Stored<User> }>;
  /** Undefined where it ended or changed since; never begins it again. */
  save(
    key: SessionKey,
    session: Stored<Session>,
    next: Pick<Session, "epoch" | "accessedAt">,
  ): Promise<Stored<Session> | undefined>;
  /** False where there was none. */
  end(key: SessionKey): Promise<boolean>;
  /** Ends every session that was opened with an OTP of that prefix; reads all sessions. @returns how many ended */
  endOfPrefix(prefix: string): Promise<number>;
}

export interface Throttles {
  /**
   * Writes what counts from now on. Undefined where another attempt was faster.
   * @param ends when nothing of it matters any more, absent where nothing does already (`throttleEnds`)
   */
  save(throttle: ThrottleState, next: Throttle, ends?: Instant): Promise<ThrottleState | undefined>;
  /** Forgets all that counts against the name (decision A10). */
  clear(handle: string): Promise<void>;
}

/** A caller address's count as read (decision A12). */
export interface AddressState {
  /** As `addressGroup` has it. */
  readonly group: string;
  readonly value?: AddressCount;
  /** Absent where none is kept. */
  readonly version?: string;
}

export interface AddressCounts {
  find(group: string): Promise<AddressState>;
  /** @param ends when it says nothing any more. Undefined where another attempt was faster */
  save(address: AddressState, next: AddressCount, ends: Instant): Promise<AddressState | undefined>;
}

/** How many were removed. */
export interface CleanedUp {
  readonly sessions: number;
  readonly throttles: number;
  readonly addresses: number;
  readonly spentOtps: number;
}

/** What the authentication server's verbs keep things in. */
export interface AuthStore {
  readonly users: Users;
  readonly attributes: AttributeStore;
  readonly otpkeys: OtpKeys;
  readonly sessions: Sessions;
  readonly throttles: Throttles;
  readonly addresses: AddressCounts;
  /** Removes what is over, in the order of expiry (decision A19). Ends early at the signal; the rest is for the next time. */
  cleanUp(signal?: AbortSignal): Promise<CleanedUp>;
}
