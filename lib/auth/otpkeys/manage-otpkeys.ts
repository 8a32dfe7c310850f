import { Fault } from "../../fault.ts";
import { omitUndefined } from "../../omit-undefined.ts";
import { conflict, retryOnConflict } from "../../retry-on-conflict.ts";
import type { AuthDeps } from "../deps.ts";
import type { KeyDraft, KeyForm, KeySecret } from "../otp/contract.ts";
import { sameSecret, secretContext, secretFromText, secretToText } from "../otp/key-secret.ts";
import { type OtpKindName, otpKind } from "../otp/kinds.ts";
import { raiseCounter } from "../otp/raise-counter.ts";
import type { NewOtpKey, OtpKey, UserRef } from "../store.ts";
import { prefixPointer } from "../user-hash.ts";
import { noSuchUser } from "../users/manage-users.ts";

export const noSuchKey = (): Fault => new Fault("not_found", "There is no such otpkey.");

/** An OTP key to import (A10). */
export interface ImportedKey extends KeyDraft {
  readonly prefix: string;
  readonly kind?: OtpKindName | undefined;
  /** Whether the import may replace another secret. */
  readonly replace: boolean;
}

/** Returns a new OTP key: enabled, without failures. */
const newKey = (prefix: string, form: KeyForm, kind: OtpKindName | undefined): NewOtpKey => ({
  prefix,
  ...(kind !== undefined && { kind }),
  enabled: true,
  failures: 0,
  stopped: false,
  form,
});

const unusedForm: KeyForm = { state: { counter: 0 } };

/**
 * Imports one OTP key: creates it, or adds the secret to one that has none. Importing the same secret again only raises the
 * counter; with `replace` it sets the counter. Another secret is a conflict without `replace`. Without a kind, an existing key
 * stays as it is.
 * Throws Fault `invalid`, `conflict`.
 * @returns `isNew` is true if there was no OTP key, or one without a secret
 */
export async function importKey(
  imported: ImportedKey,
  deps: AuthDeps,
): Promise<{ readonly key: OtpKey; readonly isNew: boolean }> {
  const { prefix, kind } = imported;
  const prepared = prepare(imported);
  return retryOnConflict(async () => {
    const there = await deps.otpkeys.find(prefix);
    if (there === undefined) {
      const sealed = await sealedSecret(prefix, prepared.secret, deps);
      const created = await deps.otpkeys.create({ ...newKey(prefix, prepared.form, kind), ...sealed });
      if (created === undefined) return conflict;
      deps.log.info("otpkey_imported", { prefix, kind });
      return { key: created.value, isNew: true };
    }
    if (kind === undefined) return { key: there.value, isNew: false };
    const next = await mergeImport(there.value, { ...imported, kind }, prepared, deps);
    const saved = await deps.otpkeys.save(there, next.key);
    if (saved === undefined) return conflict;
    deps.log.info(next.event, { prefix, kind });
    return { key: saved.value, isNew: there.value.kind === undefined };
  });
}

interface PreparedKey {
  readonly form: KeyForm;
  readonly secret?: KeySecret;
}

function prepare({ kind, ...draft }: ImportedKey): PreparedKey {
  if (kind === undefined) return { form: unusedForm };
  const prepared = otpKind(kind).prepare(draft);
  if (prepared.ok) return prepared;
  const problems = prepared.problems.map(({ field, reason }) => ({ path: wireNames[field], reason }));
  throw new Fault("invalid", "The request is not valid.", { problems });
}

const wireNames: Record<keyof KeyDraft, string> = {
  secret: "secret",
  privateId: "private_id",
  digits: "digits",
  counter: "counter",
  period: "period",
  algorithm: "algorithm",
};

/** Returns what an import changes in an existing OTP key. Throws Fault `conflict`. */
async function mergeImport(
  there: OtpKey,
  { kind, replace, prefix, counter, ...given }: ImportedKey & { readonly kind: OtpKindName },
  prepared: PreparedKey,
  deps: AuthDeps,
): Promise<{ readonly key: NewOtpKey; readonly event: string }> {
  if (there.kind === kind && (await hasSecret(there, prepared.secret, deps))) {
    // Without a given counter the stored one stays: the default, 0, would let used OTPs pass again.
    const isSet = replace && counter !== undefined;
    const form = changeForm(there.form, given);
    const state = isSet ? prepared.form.state : raiseCounter(form.state, prepared.form.state);
    return { key: { ...there, form: { ...form, state } }, event: isSet ? "otpkey_counter_set" : "otpkey_imported" };
  }
  const replaced = there.kind !== undefined;
  if (replaced && !replace) {
    throw new Fault("conflict", "The otpkey has another secret. Set `replace` to replace it.");
  }
  const { sealedSecret: _, ...kept } = there;
  const sealed = await sealedSecret(prefix, prepared.secret, deps);
  const event = replaced ? "otpkey_secret_replaced" : "otpkey_imported";
  return { key: { ...kept, kind, form: prepared.form, ...sealed }, event };
}

/** Returns the form with the given parameters. With another time step the counter stays at the same point in time. */
function changeForm(
  form: KeyForm,
  { digits, period, algorithm }: Pick<KeyDraft, "digits" | "period" | "algorithm">,
): KeyForm {
  const steps = form.period === undefined || period === undefined ? 1 : form.period / period;
  const state = steps === 1 ? form.state : { counter: Math.ceil(form.state.counter * steps) };
  return { ...form, ...omitUndefined({ digits, period, algorithm }), state };
}

async function hasSecret(
  { sealedSecret, prefix }: OtpKey,
  secret: KeySecret | undefined,
  deps: AuthDeps,
): Promise<boolean> {
  if (sealedSecret === undefined || secret === undefined) return sealedSecret === undefined && secret === undefined;
  return sameSecret(secretFromText(await deps.sealer.open(sealedSecret, secretContext(prefix))), secret);
}

const sealedSecret = async (prefix: string, secret: KeySecret | undefined, { sealer }: AuthDeps) =>
  secret === undefined ? {} : { sealedSecret: await sealer.seal(secretToText(secret), secretContext(prefix)) };

/**
 * Assigns an OTP key to a user. An unknown prefix creates the key, of kind `remote` if validation servers are configured (A9).
 * Throws Fault `not_found` for an unknown user.
 */
export async function assignKey(userRef: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  await retryOnConflict(async () => {
    const outcome = await deps.otpkeys.assign(userRef, prefix);
    if (outcome === "no_user") throw noSuchUser();
    if (outcome === "assigned") return outcome;
    await deps.otpkeys.create(newKey(prefix, unusedForm, deps.rules.usesValidationServers ? "remote" : undefined));
    return conflict;
  });
  deps.log.info("otpkey_assigned", { prefix, user: userRef });
}

/** Unassigns an OTP key (specification section 4, rule 2). Throws Fault `not_found` if the user does not have it. */
export async function unassignKey(userRef: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.unassign(userRef, prefix))) throw noSuchKey();
  deps.log.info("otpkey_unassigned", { prefix, user: userRef });
}

/** Deletes an OTP key, its data and every assignment (specification section 4, rule 3). Throws Fault `not_found`. */
export async function deleteKey(prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.remove(prefix))) throw noSuchKey();
  deps.log.info("otpkey_deleted", { prefix });
}

/**
 * Enables or disables an OTP key. Enabling also clears the stop, the failures and the throttle of its prefix (A6, A12).
 * Throws Fault `not_found`.
 */
export async function setKeyEnabled(prefix: string, enabled: boolean, deps: AuthDeps): Promise<void> {
  await retryOnConflict(async () => {
    const key = await deps.otpkeys.find(prefix);
    if (key === undefined) throw noSuchKey();
    const { stoppedAt: _, ...kept } = key.value;
    const next = enabled ? { ...kept, failures: 0, stopped: false } : key.value;
    return (await deps.otpkeys.save(key, { ...next, enabled })) ?? conflict;
  });
  if (enabled) await deps.throttles.clear(prefixPointer(prefix).userHash);
  deps.log.info(enabled ? "otpkey_enabled" : "otpkey_disabled", { prefix });
}

/** Time within which a sign-in that passed before its OTP key was disabled has written its session. */
const signInDurationMs = 1000;

/**
 * Disables an OTP key and ends the sessions that were opened with it, also those of previous holders. Searches a second time
 * for sessions of sign-ins that were in progress. Throws Fault `not_found`.
 */
export async function disableKeyAndEndSessions(prefix: string, deps: AuthDeps): Promise<void> {
  await setKeyEnabled(prefix, false, deps);
  const ended = await deps.sessions.endByPrefix(prefix);
  await deps.sleep(signInDurationMs);
  const endedLater = await deps.sessions.endByPrefix(prefix);
  deps.log.info("sessions_ended", { prefix, sessions: ended + endedLater });
}
