import * as z from "zod";
import { type Immutable, type Stored, storedInstant } from "../platform/stored.ts";
import type { Instant } from "../platform/time.ts";
import type { Attributes } from "./attributes/attributes.ts";
import { parametersSchema } from "./otpkeys/kinds/contract.ts";
import { otpKindNames } from "./otpkeys/kinds/kinds.ts";
import { temporaryCodeSchema } from "./otpkeys/kinds/temporary-code.ts";
import { passwordCodeSchema } from "./passwords/password-code.ts";
import { passwordSchema } from "./passwords/password-hash.ts";
import type { Throttle } from "./sign-in/throttle.ts";
import type { UserRef } from "./users/username.ts";

const id = z.int().positive();

/** The OTP keys of a user. One that was created later with the same prefix has another id and is not assigned. */
export const assignedSchema = z.lazy(() => z.array(z.object({ prefix: z.string(), id })));
export type AssignedKey = Immutable<z.output<typeof assignedSchema>[number]>;

/** Returns the schema of a user. */
export const userSchema = () =>
  z.object({
    id,
    name: z.string(),
    /** Absent: the user has no password. */
    password: passwordSchema.exactOptional(),
    /** In place of a password, after a reset with a code. */
    passwordCode: passwordCodeSchema.exactOptional(),
    /** Credential epoch: 48 random bits, new with every change that ends the user's sessions. */
    epoch: z.int().nonnegative(),
    /** False: no sign-in is granted. */
    enabled: z.boolean(),
    otpkeys: assignedSchema,
    createdAt: storedInstant,
  });
export type User = Immutable<z.output<ReturnType<typeof userSchema>>>;
export type UserSummary = Pick<User, "id" | "name">;

/** Maximum number of OTP keys of a user. They are one column of the user's row. */
export const maxAssignedKeys = 256;

export interface UserView extends Omit<User, "otpkeys"> {
  readonly attributes: Attributes;
  /** Prefixes of the assigned OTP keys. */
  readonly otpkeys: readonly string[];
  /** Time of the last granted sign-in; absent if there was none. */
  readonly lastLogin?: Instant;
}

/** What a throttle counts: attempts for a username, for the prefix of an OTP key, or on a device. */
export interface ThrottleKey {
  readonly kind: "name" | "prefix" | "device";
  readonly text: string;
}

/** A throttle as read; `noFailures` if no row exists, or if it belongs to another owner of the name. */
export interface ThrottleState {
  readonly key: ThrottleKey;
  /** Id to which the name led then. Its next owner does not inherit the throttle. */
  readonly ownerId?: number;
  readonly value: Throttle;
  /** Absent if no row exists. */
  readonly version?: string;
}

/** Part of a list. */
export interface Range {
  /** Only entries after this position: `next` of the page before. */
  readonly after?: string;
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
  readonly next?: string;
}

/** A filter of users; all conditions must be true (A11). */
export interface UserFilter {
  readonly attributes?: ReadonlyMap<string, string>;
  /** Beginning of the username. The list is then sorted by name, else by id. */
  readonly beginning?: string;
  /** Prefix of an assigned OTP key. */
  readonly otpkey?: string;
  readonly enabled?: boolean;
  /** Only users who were created before this time and have not signed in since. */
  readonly unusedSince?: Instant;
  /** Whether the password is still an imported hash. */
  readonly hasImportedPassword?: boolean;
}

/** A filter of OTP keys; all conditions must be true (A11). */
export interface OtpKeyFilter {
  readonly enabled?: boolean;
  readonly stopped?: boolean;
  /** Whether a user may have the OTP key: there is an index row of a holder. */
  readonly assigned?: boolean;
  /** Beginning of the prefix. */
  readonly beginning?: string;
  /** Only OTP keys that were created before this time and have had no valid OTP since. */
  readonly unusedSince?: Instant;
}

/** The owner of attributes. Both fields together mean the OTP key, if it is assigned to that user (A14). */
export type AttributeOwner =
  | { readonly user: UserRef; readonly prefix?: undefined }
  | { readonly user?: undefined; readonly prefix: string }
  | { readonly user: UserRef; readonly prefix: string };

/** Returns the schema of an OTP key. */
export const otpKeySchema = () =>
  z.object({
    id,
    prefix: z.string(),
    /** Absent: no secret was imported yet. */
    kind: z.enum(otpKindNames).exactOptional(),
    enabled: z.boolean(),
    /** Number of wrong OTPs in a row. */
    failures: z.int().nonnegative(),
    /** Whether wrong OTPs stopped the OTP key until an administrator enables it again. */
    stopped: z.boolean(),
    /** Time at which the OTP key was stopped; absent if it is not stopped. */
    stoppedAt: storedInstant.exactOptional(),
    /** Time of the last valid OTP; absent if there was none. */
    lastUsed: storedInstant.exactOptional(),
    /** OTPs are accepted from this time on; absent: no limit. */
    validFrom: storedInstant.exactOptional(),
    /** OTPs are accepted until before this time; absent: no limit. */
    validUntil: storedInstant.exactOptional(),
    /** Replaces the OTPs of a lost key, which is disabled; absent: none was issued since the key was enabled. */
    temporaryCode: temporaryCodeSchema.exactOptional(),
    parameters: parametersSchema,
    /** Encrypted for storage. */
    sealedSecret: z.string().exactOptional(),
    createdAt: storedInstant,
  });
export type OtpKey = Immutable<z.output<ReturnType<typeof otpKeySchema>>>;

export type NewOtpKey = Omit<OtpKey, "id" | "createdAt">;
export type OtpKeySummary = Pick<OtpKey, "id" | "prefix" | "enabled">;

/** An OTP key and the ids of the users to whom it may be assigned. They include every holder. */
export interface KeyHolders {
  readonly key: Stored<OtpKey>;
  readonly userIds: readonly number[];
}
