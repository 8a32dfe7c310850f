import { omitUndefined } from "../../platform/collections.ts";
import { SealError } from "../../platform/crypto.ts";
import { Fault, invalidRequest } from "../../platform/fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { NewOtpKey, OtpKey } from "../store.ts";
import type { UserRef } from "../users/username.ts";
import type { KeyDraft, KeyParameters, KeySecret, KeyState } from "./kinds/contract.ts";
import { sameSecret, secretContext, secretFromText } from "./kinds/key-secret.ts";
import { type OtpKindName, otpKinds } from "./kinds/kinds.ts";
import { adminRequired } from "./manage-otpkeys.ts";
import { hasSameValidity, type Validity, validityProblems } from "./otpkey-access.ts";

/** An OTP key to import, which keeps the rules of its kind (A10). */
export interface ImportedKey extends KeyDraft {
  readonly prefix: string;
  readonly kind?: OtpKindName | undefined;
  /** Whether the import may replace another secret. */
  readonly replace: boolean;
  readonly validity: Validity;
  /** The user to whom the OTP key is assigned, by name. */
  readonly owner?: Extract<UserRef, { readonly by: "name" }> | undefined;
  /**
   * Whether the caller may take over an OTP key that was imported before, revive it or end its use: replace its secret,
   * change validity and parameters, raise the counter by any number, and assign it although another user has it.
   */
  readonly mayTakeOver: boolean;
}

/** What an import would create. */
interface Draft {
  readonly draft: NewOtpKey;
  readonly secret: KeySecret | undefined;
}

/**
 * Returns an existing OTP key after an import, and the name of the audit event of its secret.
 * Throws Fault `invalid` for a validity that ends before it begins, `conflict`; `forbidden` for a change that is not
 * allowed.
 */
export async function mergeImport(
  existing: OtpKey,
  imported: ImportedKey,
  given: Draft,
  deps: AuthDeps,
): Promise<{ readonly next: NewOtpKey; readonly event?: string; readonly isNew: boolean }> {
  const merged = await mergeSecret(existing, imported, given, deps);
  const next = { ...merged.key, ...imported.validity };
  const problems = validityProblems(next);
  if (problems.length > 0) throw invalidRequest(problems);
  const isNew = imported.kind !== undefined && existing.kind === undefined;
  if (!isNew && !imported.mayTakeOver) requireHarmless(existing, next, deps);
  return { next, isNew, ...(merged.event !== undefined && { event: merged.event }) };
}

/**
 * Throws Fault `forbidden` for a change of an OTP key that can end its use: of the validity, of a parameter, or of the
 * counter beyond what as many uses as a sign-in tolerates would make of it.
 */
function requireHarmless(existing: OtpKey, next: NewOtpKey, { rules: { windows }, now }: AuthDeps): void {
  if (!hasSameValidity(existing, next)) throw adminRequired("To change the validity of an existing otpkey");
  const parameters = ["digits", "period", "algorithm"] as const;
  for (const name of parameters)
    if (next.parameters[name] !== existing.parameters[name])
      throw adminRequired(`To change the ${name} of an existing otpkey`);
  const kind = existing.kind && otpKinds[existing.kind];
  if (kind?.checkedBy !== "authentication-server") return;
  const { counter } = kind.advancePastUses(existing.parameters, windows.lookAhead, { now: now(), windows });
  if (next.parameters.state.counter > counter) throw adminRequired("To raise the counter of an existing otpkey so far");
}

/** Returns an existing OTP key with the secret and the parameters of an import. Throws Fault `conflict`. */
async function mergeSecret(
  existing: OtpKey,
  { kind, replace, counter, drift, ...given }: ImportedKey,
  { draft, secret }: Draft,
  deps: AuthDeps,
): Promise<{ readonly key: NewOtpKey; readonly event?: string }> {
  if (kind === undefined) return { key: existing };
  const isSame = existing.kind === kind && (await hasSecret(existing, secret, deps));
  if (isSame === true) {
    // Without a given counter the stored one stays: the default, 0, would let used OTPs pass again. The stored drift
    // may be newer than that of the import.
    const imported = draft.parameters.state;
    const set = replace ? omitUndefined({ counter: counter === undefined ? undefined : imported.counter, drift }) : {};
    const isSet = Object.keys(set).length > 0;
    const parameters = changeParameters(existing.parameters, given);
    const { resync: _, ...kept } = parameters.state;
    const state = isSet ? { ...kept, ...set } : raiseCounter(parameters.state, imported);
    return {
      key: { ...existing, parameters: { ...parameters, state } },
      event: isSet ? "otpkey_counter_set" : "otpkey_imported",
    };
  }
  const isReplaced = existing.kind !== undefined;
  if (isReplaced && !replace) {
    const why = isSame === "unreadable" ? "The stored secret cannot be decrypted." : "The otpkey has another secret.";
    throw new Fault("conflict", `${why} Set \`replace\` to replace it.`);
  }
  const { sealedSecret: _, ...kept } = existing;
  const { parameters, sealedSecret } = draft;
  return {
    key: { ...kept, kind, parameters, ...omitUndefined({ sealedSecret }) },
    event: isReplaced ? "otpkey_secret_replaced" : "otpkey_imported",
  };
}

/** Returns the parameters with those that are given. With another time step counter and drift stay the same times. */
function changeParameters(
  parameters: KeyParameters,
  { digits, period, algorithm }: Pick<KeyDraft, "digits" | "period" | "algorithm">,
): KeyParameters {
  const steps = parameters.period === undefined || period === undefined ? 1 : parameters.period / period;
  const { counter, drift } = parameters.state;
  const state =
    steps === 1
      ? parameters.state
      : { counter: Math.ceil(counter * steps), ...(drift !== undefined && { drift: Math.round(drift * steps) }) };
  return { ...parameters, ...omitUndefined({ digits, period, algorithm }), state };
}

/**
 * Returns whether an OTP key has the secret; `unreadable` if the stored one cannot be opened: then it can only be
 * replaced.
 */
async function hasSecret(
  { sealedSecret, prefix }: OtpKey,
  secret: KeySecret | undefined,
  deps: AuthDeps,
): Promise<boolean | "unreadable"> {
  if (sealedSecret === undefined || secret === undefined) return sealedSecret === undefined && secret === undefined;
  const stored = await deps.sealer.open(sealedSecret, secretContext(prefix)).catch((error: unknown) => {
    if (!(error instanceof SealError)) throw error;
    deps.log.error("row_failed", { error });
    return undefined;
  });
  return stored === undefined ? "unreadable" : sameSecret(secretFromText(stored), secret);
}

/**
 * Returns the state with its counter raised to at least that of `minimum`. The counter never decreases, the drift stays
 * (A10).
 */
export function raiseCounter(state: KeyState, minimum: KeyState): KeyState {
  const counter = Math.max(state.counter, minimum.counter);
  const { resync, ...kept } = state;
  return { ...kept, counter, ...(resync !== undefined && resync >= counter && { resync }) };
}
