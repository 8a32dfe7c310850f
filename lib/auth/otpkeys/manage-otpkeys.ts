import { Fault } from "../../fault.ts";
import type { AuthDeps } from "../deps.ts";
import type { KeyDraft, KeyForm, KeySecret } from "../otp/contract.ts";
import { sameSecret, secretContext, secretFromText, secretToText } from "../otp/key-secret.ts";
import { raised } from "../otp/key-state.ts";
import { type OtpKindName, otpKind } from "../otp/kinds.ts";
import type { NewOtpKey, OtpKey, Stored, UserRef } from "../store.ts";
import { prefixPointer } from "../user-hash.ts";
import { noSuchUser } from "../users/manage-users.ts";

export const noSuchKey = (): Fault => new Fault("not_found", "There is no such otpkey.");

/** A key as imported (decision A10). */
export interface ImportedKey extends KeyDraft {
  readonly prefix: string;
  readonly kind?: OtpKindName | undefined;
  /** Another secret takes the place of the one that is there. */
  readonly replace: boolean;
}

/** A new key: enabled, with nothing counted against it. */
const freshKey = (prefix: string, form: KeyForm, kind: OtpKindName | undefined): NewOtpKey => ({
  prefix,
  ...(kind !== undefined && { kind }),
  enabled: true,
  failures: 0,
  stopped: false,
  form,
});

const unusedForm: KeyForm = { state: { counter: 0 } };

/**
 * Imports one key (decision A10): a new one, or a secret for one that has none. The same secret again changes nothing but that
 * its counter may grow, or is set where it shall be replaced; another one is a conflict unless it shall replace. Without a kind,
 * a key that is there stays as it is.
 * Throws Fault `invalid`, `conflict`.
 * @returns `isNew` where there was no key, or one that had no secret yet
 */
export async function importKey(
  imported: ImportedKey,
  deps: AuthDeps,
): Promise<{ readonly key: OtpKey; readonly isNew: boolean }> {
  const { prefix, kind } = imported;
  const prepared = prepare(imported);
  for (;;) {
    const there = await deps.otpkeys.find(prefix);
    if (there === undefined) {
      const sealed = await sealedSecret(prefix, prepared.secret, deps);
      const created = await deps.otpkeys.create({ ...freshKey(prefix, prepared.form, kind), ...sealed });
      if (created === undefined) continue;
      deps.log.info("otpkey_imported", { prefix, kind });
      return { key: created.value, isNew: true };
    }
    if (kind === undefined) return { key: there.value, isNew: false };
    const next = await merged(there.value, { ...imported, kind }, prepared, deps);
    const saved = await deps.otpkeys.save(there, next.key);
    if (saved === undefined) continue;
    deps.log.info(next.event, { prefix, kind });
    return { key: saved.value, isNew: there.value.kind === undefined };
  }
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
};

/** What an import makes of a key that is there. */
async function merged(
  there: OtpKey,
  { kind, replace, prefix, counter, digits = there.form.digits }: ImportedKey & { readonly kind: OtpKindName },
  prepared: PreparedKey,
  deps: AuthDeps,
): Promise<{ readonly key: NewOtpKey; readonly event: string }> {
  if (there.kind === kind && (await hasSecret(there, prepared.secret, deps))) {
    // Without a counter nothing is set: the default, 0, would let used OTPs pass again.
    const isSet = replace && counter !== undefined;
    const state = isSet ? prepared.form.state : raised(there.form.state, prepared.form.state);
    const form = { ...(digits !== undefined && { digits }), state };
    return { key: { ...there, form }, event: isSet ? "otpkey_counter_set" : "otpkey_imported" };
  }
  const replaced = there.kind !== undefined;
  if (replaced && !replace) {
    throw new Fault("conflict", "The otpkey has another secret; `replace` takes its place.");
  }
  const { sealedSecret: _, ...kept } = there;
  const sealed = await sealedSecret(prefix, prepared.secret, deps);
  const event = replaced ? "otpkey_secret_replaced" : "otpkey_imported";
  return { key: { ...kept, kind, form: prepared.form, ...sealed }, event };
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
 * Assigns a key to a user; an unknown prefix creates it, of kind `remote` where validation servers are configured (decision A9).
 * Throws Fault `not_found` for an unknown user.
 */
export async function assignKey(whom: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  for (;;) {
    const outcome = await deps.otpkeys.assign(whom, prefix);
    if (outcome === "no_user") throw noSuchUser();
    if (outcome === "assigned") break;
    await deps.otpkeys.create(freshKey(prefix, unusedForm, deps.rules.asksServers ? "remote" : undefined));
  }
  deps.log.info("otpkey_assigned", { prefix, user: whom });
}

/** Takes a key from a user (specification section 4, rule 2). Throws Fault `not_found` for a user who does not have it. */
export async function unassignKey(whom: UserRef, prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.unassign(whom, prefix))) throw noSuchKey();
  deps.log.info("otpkey_unassigned", { prefix, user: whom });
}

/** Deletes a key, its data and every assignment (specification section 4, rule 3). Throws Fault `not_found`. */
export async function deleteKey(prefix: string, deps: AuthDeps): Promise<void> {
  if (!(await deps.otpkeys.remove(prefix))) throw noSuchKey();
  deps.log.info("otpkey_deleted", { prefix });
}

/**
 * Enables a key, which clears stop, count and the throttle of its prefix (decisions A6, A10, A12), or disables it. Throws Fault
 * `not_found`.
 */
export async function setEnabled(prefix: string, enabled: boolean, deps: AuthDeps): Promise<void> {
  let key: Stored<OtpKey> | undefined = await deps.otpkeys.find(prefix);
  while (key !== undefined) {
    const cleared = enabled ? { failures: 0, stopped: false } : {};
    if ((await deps.otpkeys.save(key, { ...key.value, ...cleared, enabled })) !== undefined) {
      if (enabled) await deps.throttles.clear(prefixPointer(prefix).handle);
      deps.log.info(enabled ? "otpkey_enabled" : "otpkey_disabled", { prefix });
      return;
    }
    key = await deps.otpkeys.find(prefix);
  }
  throw noSuchKey();
}

/** Time in which a sign-in that passed before its key was disabled has written its session. Milliseconds. */
const underWayMs = 1000;

/**
 * Disables a key and ends the sessions that were opened with it, also those of users who had it before (decision A10). Sessions of
 * sign-ins that were under way are looked for a second time. Throws Fault `not_found`.
 */
export async function disableWithSessions(prefix: string, deps: AuthDeps): Promise<void> {
  await setEnabled(prefix, false, deps);
  const atOnce = await deps.sessions.endOfPrefix(prefix);
  await deps.sleep(underWayMs);
  const later = await deps.sessions.endOfPrefix(prefix);
  deps.log.info("sessions_ended", { prefix, sessions: atOnce + later });
}
