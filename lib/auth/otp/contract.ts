import type { Instant } from "../../time.ts";

/** What follows the prefix in an OTP. */
export interface CodeForm {
  readonly length: number;
  readonly alphabet: "digits" | "modhex";
}

/** What a key shares with us. Stored sealed only (decision G8). */
export interface KeySecret {
  readonly secret: Uint8Array;
  readonly privateId?: Uint8Array;
}

/** What moves with every accepted OTP; a whole number each. */
export interface KeyState {
  /** The least moving factor that passes; what lies below is spent. It only grows. */
  readonly counter: number;
  /** The moving factor of the one code that ends a resynchronisation (decision A7). */
  readonly resync?: number;
}

/** A key as it is kept, without its secret. */
export interface KeyForm {
  /** Length of the codes, where the kind leaves it open. */
  readonly digits?: number;
  readonly state: KeyState;
}

/** How far a code may lie from the expected one (decision A7). */
export interface OtpWindows {
  /** Codes of `hotp` beyond the next expected one that pass. */
  readonly lookAhead: number;
  /** Codes of `hotp` beyond the next expected one among which a resynchronisation may begin. */
  readonly resync: number;
  /** Steps of `totp` on either side. */
  readonly steps: number;
}

/**
 * What a code is. A caller writes `nextState` by the ETag of the row that it read the state from, and says nothing before
 * that write succeeded (decision A8); where it lost, it reads and decides again.
 * - `valid`: genuine, and unused as `nextState` is written
 * - `out_of_step`: genuine, but too far ahead; it fails, and the next code will pass
 * - `replayed`: genuine, but used
 * - `invalid`: anything else
 */
export type Decision =
  | { readonly outcome: "valid" | "out_of_step"; readonly nextState: KeyState }
  | { readonly outcome: "replayed" | "invalid" };

/** What validation servers say; `unavailable` where none gave an answer that can be believed. */
export interface Answer {
  readonly outcome: "valid" | "replayed" | "invalid" | "unavailable";
  /** For the log: each server's status word or failure. Never the OTP. */
  readonly detail: string;
}

/** A key as an import describes it (decision A10). */
export interface KeyDraft {
  readonly secret?: Uint8Array | undefined;
  readonly privateId?: Uint8Array | undefined;
  readonly digits?: number | undefined;
  readonly counter?: number | undefined;
}

export interface DraftProblem {
  readonly field: keyof KeyDraft;
  /** The rest of a sentence that begins with the field; never a value. */
  readonly reason: string;
}

export type Prepared =
  | { readonly ok: true; readonly form: KeyForm; readonly secret?: KeySecret }
  | { readonly ok: false; readonly problems: readonly DraftProblem[] };

interface Kind {
  /** Every form that codes of this kind may have. */
  readonly forms: readonly CodeForm[];
  /** Checks what is imported, and fills in what is left out. */
  prepare(draft: KeyDraft): Prepared;
}

/** A kind whose codes are checked here, from the key's secret and state alone. */
export interface LocalKind extends Kind {
  readonly checked: "here";
  /** Whether codes are so short that guesses hit one: then an OTP counts only where the named user has its key (decision A5). */
  readonly isGuessable: boolean;
  /** @param code of one of the kind's forms, of the key's length */
  decide(
    key: { readonly secret: KeySecret; readonly form: KeyForm },
    code: string,
    at: { readonly now: Instant; readonly windows: OtpWindows },
  ): Decision;
  /** The state after so many uses that nobody recorded: what they gave does not pass, nor what passes by the clock until now. */
  afterUses(state: KeyState, uses: number, at: { readonly now: Instant; readonly windows: OtpWindows }): KeyState;
}

/** A kind whose OTPs others check. Its caller makes an OTP spent before it asks (decision A8). */
export interface RemoteKind extends Kind {
  readonly checked: "elsewhere";
  ask(otp: string, peers: OtpPeers): Promise<Answer>;
}

/** Asks validation servers by the validation protocol 2.0 (decision A7). */
export interface ValidationClient {
  /** What goes wrong at the servers is `unavailable`, with each one's trouble as detail. Rejects where our own key is away. */
  validate(otp: string): Promise<Answer>;
}

/** Whom kinds may ask; absent where not configured. */
export interface OtpPeers {
  readonly validation?: ValidationClient;
}

export type OtpKind = LocalKind | RemoteKind;
