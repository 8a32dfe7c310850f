import * as z from "zod";
import type { Immutable } from "../../../platform/stored.ts";
import type { Instant } from "../../../platform/time.ts";

/** Length and alphabet of the code that follows the prefix in an OTP. Kinds with the same format share the value. */
export interface CodeFormat {
  readonly length: number;
  readonly alphabet: "digits" | "modhex";
}

/** The shared secret of an OTP key. It is stored encrypted only (G8). */
export interface KeySecret {
  readonly secret: Uint8Array;
  readonly privateId?: Uint8Array;
}

/** Hash functions of `totp` keys (RFC 6238). */
export const totpAlgorithms = ["SHA1", "SHA256", "SHA512"] as const;
export type TotpAlgorithm = (typeof totpAlgorithms)[number];

/** The stored parameters of an OTP key, without its secret. */
export const parametersSchema = z.lazy(() =>
  z.object({
    /** Length of the codes, if the kind allows several. */
    digits: z.int().nonnegative().exactOptional(),
    /** Length of a time step in seconds, kind `totp` only. */
    period: z.int().nonnegative().exactOptional(),
    /** Hash function, kind `totp` only. */
    algorithm: z.enum(totpAlgorithms).exactOptional(),
    /** The state that genuine OTPs change, also one that is out of step. */
    state: z.object({
      /** The smallest moving factor that is accepted; smaller ones are used up. It only grows. */
      counter: z.int(),
      /** The moving factor of the code that completes a resynchronisation. */
      resync: z.int().exactOptional(),
      /** Steps by which the clock of the OTP key is ahead, negative if it is behind; kind `totp` only. Absent: 0. */
      drift: z.int().exactOptional(),
    }),
  }),
);
export type KeyParameters = Immutable<z.output<typeof parametersSchema>>;
export type KeyState = KeyParameters["state"];

/** How far a code may be from the expected one. */
export interface OtpWindows {
  /** Number of `hotp` codes after the next expected one that are accepted. */
  readonly lookAhead: number;
  /** Number of `hotp` codes after the next expected one in which a resynchronisation may begin. */
  readonly resync: number;
  /** Number of `totp` steps before and after the current one that are accepted. */
  readonly steps: number;
}

/**
 * The decision on a code. The caller writes `nextState` by the ETag of the row from which it read the state, and
 * returns no result before that write succeeds; after a conflict it reads and decides again (A8).
 * - `valid`: genuine, and not used before
 * - `out_of_step`: genuine, but too far ahead; it fails, and the next code is accepted
 * - `replayed`: genuine, but used before
 * - `invalid`: any other code
 */
export type Decision =
  | { readonly outcome: "valid" | "out_of_step"; readonly nextState: KeyState }
  | { readonly outcome: "replayed" | "invalid" };

/** The verdict of the validation servers; `unavailable` if none gave a response that can be trusted. */
export interface ValidationResult {
  readonly outcome: "valid" | "replayed" | "invalid" | "unavailable";
  /** For the log: each server's status or failure. Never contains the OTP. */
  readonly detail: string;
}

/** The fields of an imported OTP key (A10). */
export interface KeyDraft {
  readonly secret?: Uint8Array | undefined;
  readonly privateId?: Uint8Array | undefined;
  readonly digits?: number | undefined;
  readonly counter?: number | undefined;
  readonly period?: number | undefined;
  readonly algorithm?: TotpAlgorithm | undefined;
  /** See `KeyState`. */
  readonly drift?: number | undefined;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** What a kind allows in an import. Fields without a rule are not of the kind. */
export interface DraftRules {
  /** Bounds of the length in bytes. A secret, and a private id, that the kind has is required. */
  readonly secret?: Bounds;
  readonly privateId?: Bounds;
  readonly digits?: readonly number[];
  readonly period?: readonly number[];
  readonly algorithm?: readonly TotpAlgorithm[];
  readonly counter?: Bounds;
  readonly drift?: Bounds;
}

/** What is stored of an imported OTP key. */
export interface PreparedKey {
  readonly parameters: KeyParameters;
  readonly secret?: KeySecret;
}

interface Kind {
  /** All formats that codes of this kind can have. */
  readonly codeFormats: readonly CodeFormat[];
  readonly rules: DraftRules;
  /** Returns what is stored of a draft that keeps the rules, with the defaults. */
  prepare(draft: KeyDraft): PreparedKey;
}

/** A kind whose codes this service checks, by the OTP key's secret and state. */
export interface LocalKind extends Kind {
  readonly checkedBy: "authentication-server";
  /** Whether codes are short enough to guess. Then an OTP is checked only if the named user has its key. */
  readonly isGuessable: boolean;
  /** Decides on a code. @param code has one of the kind's formats and the key's length */
  decide(
    key: { readonly secret: KeySecret; readonly parameters: KeyParameters },
    code: string,
    at: { readonly now: Instant; readonly windows: OtpWindows },
  ): Decision;
  /**
   * Returns the state after a number of unrecorded uses: their codes are refused, and so are codes of times up to
   * `now`, also if one of the uses was a resynchronisation.
   */
  advancePastUses(
    parameters: KeyParameters,
    uses: number,
    at: { readonly now: Instant; readonly windows: OtpWindows },
  ): KeyState;
}

/** A kind whose OTPs validation servers check, by `validateOtp`. The OTP is marked as spent before. */
export interface RemoteKind extends Kind {
  readonly checkedBy: "validation-server";
}
