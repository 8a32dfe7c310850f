import { isDeepStrictEqual } from "node:util";
import { omitUndefined } from "../../platform/collections.ts";
import { SealError } from "../../platform/crypto.ts";
import { Fault } from "../../platform/fault.ts";
import { conflict, retryOnConflict } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import type { NewOtpKey, OtpKey } from "../store.ts";
import type { ValidImport } from "./imported-key.ts";
import type { KeyDraft, KeyParameters, KeySecret, KeyState } from "./kinds/contract.ts";
import { sameSecret, secretContext, secretFromText, secretToText } from "./kinds/key-secret.ts";
import { otpKind } from "./kinds/kinds.ts";
import { adminRequired, newKey } from "./manage-otpkeys.ts";
import { changeValidity, hasSameValidity, logValiditySet } from "./otpkey-state.ts";

/**
 * Imports one OTP key: creates it, or adds the secret to one that has none. Importing the same secret again raises the
 * counter and sets the other given values; with `replace` it sets counter and drift too. Another secret is a conflict
 * without `replace`. Without a kind, the secret of an existing key stays as it is.
 * Throws Fault `invalid` for a validity that ends before it begins, `conflict`; `forbidden` for a change that is not
 * allowed.
 * @returns `isNew` is true if there was no OTP key, or one without a secret; `isCreated` if there was none
 */
export async function importKey(
  imported: ValidImport,
  deps: AuthDeps,
): Promise<{ readonly key: OtpKey; readonly isNew: boolean; readonly isCreated: boolean }> {
  const { prefix, kind } = imported;
  return retryOnConflict(async () => {
    const existing = await deps.otpkeys.find(prefix);
    if (existing === undefined) {
      const created = await deps.otpkeys.create(await toNewKey(imported, deps));
      if (created === undefined) return conflict;
      deps.log.info("otpkey_imported", { prefix, kind });
      return { key: created.value, isNew: true, isCreated: true };
    }
    const { next, event, isNew } = await mergeInto(existing.value, imported, deps);
    // An import that is repeated changes nothing, and needs no write.
    const saved = isDeepStrictEqual(next, existing.value) ? existing : await deps.otpkeys.save(existing, next);
    if (saved === undefined) return conflict;
    if (event !== undefined) deps.log.info(event, { prefix, kind });
    if (!hasSameValidity(existing.value, saved.value)) logValiditySet(saved.value, deps);
    return { key: saved.value, isNew, isCreated: false };
  });
}

/** Returns the OTP key that an import creates. */
export async function toNewKey({ prefix, kind, validity, prepared }: ValidImport, deps: AuthDeps): Promise<NewOtpKey> {
  const sealed = await sealedSecret(prefix, prepared.secret, deps);
  return { ...newKey(prefix, prepared.parameters, kind), ...validity, ...sealed };
}

/** Checks that an import may change an OTP key as it is now. Throws Fault `invalid`, `conflict`, `forbidden`. */
export async function checkImport(imported: ValidImport, deps: AuthDeps): Promise<void> {
  const existing = await deps.otpkeys.find(imported.prefix);
  if (existing !== undefined) await mergeInto(existing.value, imported, deps);
}

/** Returns an existing OTP key after an import. Throws Fault `invalid`, `conflict`, `forbidden`. */
async function mergeInto(
  existing: OtpKey,
  imported: ValidImport,
  deps: AuthDeps,
): Promise<{ readonly next: NewOtpKey; readonly event?: string | undefined; readonly isNew: boolean }> {
  const { key, event } = await mergeSecret(existing, imported, deps);
  const next = changeValidity(key, imported.validity);
  const isNew = imported.kind !== undefined && existing.kind === undefined;
  if (!isNew && !imported.mayTakeOver) requireHarmless(existing, next, deps);
  return { next, event, isNew };
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
  const kind = existing.kind && otpKind(existing.kind);
  if (kind?.checkedBy !== "authentication-server") return;
  const { counter } = kind.advancePastUses(existing.parameters, windows.lookAhead, { now: now(), windows });
  if (next.parameters.state.counter > counter) throw adminRequired("To raise the counter of an existing otpkey so far");
}

/** Returns an existing OTP key with the secret and the parameters of an import. Throws Fault `conflict`. */
async function mergeSecret(
  existing: OtpKey,
  { kind, replace, prefix, counter, drift, prepared, ...given }: ValidImport,
  deps: AuthDeps,
): Promise<{ readonly key: NewOtpKey; readonly event?: string }> {
  if (kind === undefined) return { key: existing };
  const isSame = existing.kind === kind ? await hasSecret(existing, prepared.secret, deps) : false;
  if (isSame === true) {
    // Without a given counter the stored one stays: the default, 0, would let used OTPs pass again. The stored drift
    // may be newer than that of the import.
    const { counter: preparedCounter } = prepared.parameters.state;
    const set = replace ? omitUndefined({ counter: counter === undefined ? undefined : preparedCounter, drift }) : {};
    const isSet = Object.keys(set).length > 0;
    const parameters = changeParameters(existing.parameters, given);
    const { resync: _, ...kept } = parameters.state;
    const state = isSet ? { ...kept, ...set } : raiseCounter(parameters.state, prepared.parameters.state);
    return {
      key: { ...existing, parameters: { ...parameters, state } },
      event: isSet ? "otpkey_counter_set" : "otpkey_imported",
    };
  }
  const replaced = existing.kind !== undefined;
  if (replaced && !replace) {
    const why = isSame === "unreadable" ? "The stored secret cannot be decrypted." : "The otpkey has another secret.";
    throw new Fault("conflict", `${why} Set \`replace\` to replace it.`);
  }
  const { sealedSecret: _, ...kept } = existing;
  const sealed = await sealedSecret(prefix, prepared.secret, deps);
  const event = replaced ? "otpkey_secret_replaced" : "otpkey_imported";
  return { key: { ...kept, kind, parameters: prepared.parameters, ...sealed }, event };
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

const sealedSecret = async (prefix: string, secret: KeySecret | undefined, { sealer }: AuthDeps) =>
  secret === undefined ? {} : { sealedSecret: await sealer.seal(secretToText(secret), secretContext(prefix)) };

/**
 * Returns the state with its counter raised to at least that of `minimum`. The counter never decreases, the drift stays
 * (A10).
 */
export function raiseCounter(state: KeyState, minimum: KeyState): KeyState {
  const counter = Math.max(state.counter, minimum.counter);
  const { resync, ...kept } = state;
  return { ...kept, counter, ...(resync !== undefined && resync >= counter && { resync }) };
}
