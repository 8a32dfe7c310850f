import type { Instant } from "../time.ts";
import type { AddressCount } from "./model/address-limit.ts";
import type { AttributeHead } from "./model/attributes.ts";
import type { Parsed } from "./model/parsed.ts";
import type { Session, SessionKey } from "./model/session.ts";
import type { Throttle } from "./model/throttle.ts";
import type { Username, UserReference } from "./model/username.ts";
import type { KeyForm } from "./otp/contract.ts";
import type { OtpKindName } from "./otp/kinds.ts";
import type { TemporaryCode } from "./otp/temporary-code.ts";
import type { StoredPassword } from "./passwords/password-hash.ts";

/** A value as read, with the version (ETag) that a write must name. */
export interface Stored<T> {
  readonly value: T;
  readonly version: string;
}

export interface UserSummary {
  readonly id: number;
  readonly name: string;
}

export interface User extends UserSummary {
  /** Hash of the folded username, see `hashUsername`. */
  readonly userHash: string;
  /** Absent: the user has no password. */
  readonly password?: StoredPassword;
  /** Credential epoch: grows with every change that ends the user's sessions. */
  readonly epoch: number;
  readonly createdAt: Instant;
}

export type Attributes = Readonly<Record<string, string>>;

export interface UserView extends UserSummary {
  readonly attributes: Attributes;
  /** Prefixes of the assigned OTP keys. */
  readonly otpkeys: readonly string[];
  /** Time of the last granted sign-in; absent if there was none. */
  readonly lastLogin?: Instant;
}

/** Reference by username hash and id. Finds a user only by that id; a renamed user too. */
export interface UserPointer {
  readonly by: "userHash";
  readonly userHash: string;
  readonly id: number;
}

export type UserRef = UserReference | UserPointer;

/** An assigned OTP key. A key that was created later with the same prefix has another id and is not assigned. */
export interface AssignedKey {
  readonly prefix: string;
  readonly id: number;
}

/** The throttle of a username as read; `noFailures` if no row exists. Belongs to the user with `userId`, if there is one. */
export interface ThrottleState {
  readonly userHash: string;
  readonly userId?: number;
  readonly value: Throttle;
  /** Absent if no row exists. */
  readonly version?: string;
}

/** What a sign-in needs to know about a username, from one read. */
export interface SignInState {
  readonly user?: Stored<User>;
  readonly throttle: ThrottleState;
  readonly otpkeys: readonly AssignedKey[];
  /** Version of the record of the last sign-in by this name; absent if there is none. */
  readonly loginVersion?: string;
}

/** Part of a list, sorted by id. */
export interface Range {
  /** Only ids greater than this one. */
  readonly after?: number;
  /** Maximum number of entries, at least 1. */
  readonly top: number;
}

/**
 * A page of a filtered list can have fewer entries than requested, even none, although more follow: it examines at most
 * 1,000.
 */
export interface Page<T> {
  readonly entries: readonly T[];
  /** The `after` of the next page; absent on the last page. */
  readonly next?: number;
}

/** Part of the list sorted by name. */
export interface NameRange {
  /** `next` of the page before. */
  readonly after?: string;
  /** Maximum number of entries, at least 1. */
  readonly top: number;
}

/** A page of the list sorted by name. `next` is opaque. */
export interface NamePage {
  readonly entries: readonly UserSummary[];
  readonly next?: string;
}

/** A filter of users; all conditions must be true (A11). */
export interface UserFilter {
  readonly attributes: ReadonlyMap<string, string>;
  /** Prefix of an assigned OTP key. */
  readonly otpkey?: string;
  /** Only users who were created before this time and have not signed in since. */
  readonly unusedSince?: Instant;
}

/** A filter of OTP keys; all conditions must be true (A11). */
export interface OtpKeyFilter {
  readonly enabled?: boolean;
  readonly stopped?: boolean;
  /** Only OTP keys that were created before this time and have had no valid OTP since. */
  readonly unusedSince?: Instant;
}

/**
 * Storage of users. A write by version returns undefined after a conflict: another write came first, or this write succeeded
 * and its response was lost.
 */
export interface Users {
  /** Creates a user with epoch 1 and an id that was never used before. Returns undefined if the folded name is taken. */
  create(user: { readonly username: Username; readonly password?: StoredPassword }): Promise<Stored<User> | undefined>;
  find(userRef: UserRef): Promise<Stored<User> | undefined>;
  view(userRef: UserRef): Promise<UserView | undefined>;
  /** Returns undefined for an id that was never issued, and a state without `user` for an unknown username. */
  signInState(userRef: UserRef): Promise<SignInState | undefined>;
  /** Writes password and epoch by version. */
  save(user: Stored<User>, next: Pick<User, "password" | "epoch">): Promise<Stored<User> | undefined>;
  /** Deletes a user with attributes, assignments and throttle; OTP keys stay. Returns false if there is no such user. */
  remove(userRef: UserRef): Promise<boolean>;
  /**
   * Renames a user and ends the sessions: the epoch grows. Id, password, attributes, assignments and last sign-in stay.
   * Returns `taken` if another user has the folded name.
   */
  rename(userRef: UserRef, username: Username): Promise<User | "no_user" | "taken">;
  /**
   * Records a granted sign-in whose throttle is not that of the username, see `Throttles.save`. Does nothing if another sign-in was
   * recorded since: it may be one of the next owner of the name.
   * @param version `loginVersion` of the sign-in state of this user
   */
  recordLogin(user: UserPointer, at: Instant, version?: string): Promise<void>;
  list(range: Range, filter?: UserFilter): Promise<Page<UserSummary>>;
  /** Lists the users whose names begin with a text, in any case, sorted by name. */
  listByName(prefix: string, range: NameRange, filter?: UserFilter): Promise<NamePage>;
}

/** The owner of attributes. Both fields together mean the OTP key, if it is assigned to that user (A14). */
export type AttributeOwner =
  | { readonly user: UserRef; readonly otpkey?: undefined }
  | { readonly user?: undefined; readonly otpkey: string }
  | { readonly user: UserRef; readonly otpkey: string };

/** Storage of attributes. Keys and values must be valid. */
export interface AttributeStore {
  /** Returns undefined if there is no such owner. */
  all(owner: AttributeOwner): Promise<Attributes | undefined>;
  /** Returns `null` if the attribute is not set, undefined if there is no such owner. */
  get(owner: AttributeOwner, key: string): Promise<string | null | undefined>;
  /** Refuses a value that would exceed the owner's limits. Returns undefined if there is no such owner. */
  set(owner: AttributeOwner, key: string, value: string): Promise<Parsed<AttributeHead> | undefined>;
  /** Deletes an attribute, if it is set. Returns false if there is no such owner. */
  remove(owner: AttributeOwner, key: string): Promise<boolean>;
}

export interface OtpKey {
  readonly id: number;
  readonly prefix: string;
  /** Absent: no secret was imported yet. */
  readonly kind?: OtpKindName;
  readonly enabled: boolean;
  /** Number of wrong OTPs in a row. */
  readonly failures: number;
  /** Whether wrong OTPs stopped the OTP key until an administrator enables it again. */
  readonly stopped: boolean;
  /** Time at which the OTP key was stopped; absent if it is not stopped. */
  readonly stoppedAt?: Instant;
  /** Time of the last valid OTP; absent if there was none. */
  readonly lastUsed?: Instant;
  /** OTPs are accepted from this time on; absent: no limit. */
  readonly validFrom?: Instant;
  /** OTPs are accepted until before this time; absent: no limit. */
  readonly validUntil?: Instant;
  /** Replaces the OTPs of a lost key, which is disabled; absent: none was issued since the key was enabled. */
  readonly temporaryCode?: TemporaryCode;
  readonly form: KeyForm;
  /** Encrypted for storage. */
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
   * Returns an OTP key and the users to whom it may be assigned. The candidates include every holder; a candidate is one only
   * if the `otpkeys` of its sign-in state contain the key.
   */
  findHolders(
    prefix: string,
  ): Promise<{ readonly key: Stored<OtpKey>; readonly candidates: readonly UserPointer[] } | undefined>;
  /** Returns undefined if there is no such OTP key, or if it is not assigned to the user `of`. */
  view(
    prefix: string,
    of?: UserRef,
  ): Promise<{ readonly key: Stored<OtpKey>; readonly attributes: Attributes } | undefined>;
  /** Returns undefined if the prefix is taken. */
  create(key: NewOtpKey): Promise<Stored<OtpKey> | undefined>;
  /**
   * Creates up to 100 OTP keys of different prefixes, without a look at what exists. The results have the order of the
   * keys: undefined if the prefix is taken, or the reason why this key's row could not be written. Rejects if the list
   * cannot be written; keys may exist then.
   */
  createMany(keys: readonly NewOtpKey[]): Promise<readonly PromiseSettledResult<Stored<OtpKey> | undefined>[]>;
  /**
   * Writes all columns but prefix and id, by version: the use or failure of an OTP counts exactly once. Returns
   * undefined after a conflict.
   */
  save(key: Stored<OtpKey>, next: NewOtpKey): Promise<Stored<OtpKey> | undefined>;
  /** Deletes an OTP key with its attributes and every assignment. Returns false if there is no such key. */
  remove(prefix: string): Promise<boolean>;
  list(range: Range, filter?: OtpKeyFilter): Promise<Page<OtpKeySummary>>;
  /**
   * Assigns an OTP key. Succeeds also if it is assigned to this user already. With `onlyIfFree` returns `taken` if
   * another user has it, or is about to get it. With `epoch` returns `no_user` if the user's credential epoch is another.
   */
  assign(
    userRef: UserRef,
    prefix: string,
    options?: { readonly onlyIfFree?: boolean; readonly epoch?: number },
  ): Promise<"assigned" | "no_user" | "no_key" | "taken">;
  /** Returns false if there is no such user, or the OTP key is not assigned to the user. */
  unassign(userRef: UserRef, prefix: string): Promise<boolean>;
  /**
   * Records an OTP of kind `remote` as used. Returns false if it was used before.
   * @param otpHash SHA-256 in base64url
   * @param until when the record may be deleted
   */
  spendOtp(prefix: string, otpHash: string, until: Instant): Promise<boolean>;
}

export interface Sessions {
  create(key: SessionKey, session: Session): Promise<void>;
  /** Reads the session, and in parallel the user who has the username now. The caller checks whether they belong together. */
  find(key: SessionKey): Promise<{ readonly session?: Stored<Session>; readonly user?: Stored<User> }>;
  /** Writes a session by version. Returns undefined if it has ended or changed; never recreates an ended one. */
  save(
    key: SessionKey,
    session: Stored<Session>,
    next: Pick<Session, "epoch" | "accessedAt">,
  ): Promise<Stored<Session> | undefined>;
  /** Deletes a session. Returns false if there is no such session. */
  end(key: SessionKey): Promise<boolean>;
  /** Deletes every session that was opened with an OTP of that prefix, and returns their number. Reads all sessions. */
  endByPrefix(prefix: string): Promise<number>;
}

export interface Throttles {
  /**
   * Writes a throttle by version. Returns undefined after a conflict.
   * @param ends when the row may be deleted, see `throttleExpiry`; absent: at once
   * @param login recorded in the same write, if the throttle still belongs to that user
   */
  save(
    throttle: ThrottleState,
    next: Throttle,
    ends?: Instant,
    login?: { readonly userId: number; readonly at: Instant },
  ): Promise<ThrottleState | undefined>;
  /** Deletes the throttle of a username. */
  clear(userHash: string): Promise<void>;
}

/** The count of a caller address as read. */
export interface AddressState {
  /** See `addressGroup`. */
  readonly group: string;
  readonly value?: AddressCount;
  /** Absent if no row exists. */
  readonly version?: string;
}

export interface AddressCounts {
  find(group: string): Promise<AddressState>;
  /** Writes a count by version. Returns undefined after a conflict. @param ends when the row may be deleted */
  save(address: AddressState, next: AddressCount, ends: Instant): Promise<AddressState | undefined>;
}

/** The number of rows that a clean-up deleted. */
export interface CleanedUp {
  readonly sessions: number;
  readonly throttles: number;
  readonly addresses: number;
  readonly spentOtps: number;
  readonly temporaryCodes: number;
  /** Former names of renamed users. */
  readonly renames: number;
}

/** Storage of the authentication server. */
export interface AuthStore {
  readonly users: Users;
  readonly attributes: AttributeStore;
  readonly otpkeys: OtpKeys;
  readonly sessions: Sessions;
  readonly throttles: Throttles;
  readonly addresses: AddressCounts;
  /** Deletes expired rows, sorted by expiry. Stops at the signal; the next run continues. */
  cleanUp(signal?: AbortSignal): Promise<CleanedUp>;
}
