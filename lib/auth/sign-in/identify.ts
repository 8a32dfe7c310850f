import type { AuthDeps } from "../deps.ts";
import { identifiedBy } from "../model/policy.ts";
import { parseUsername } from "../model/username.ts";
import { cuts, split } from "../otp/split.ts";
import type { OtpKeys, SignInState, UserRef } from "../store.ts";
import { noUser, prefixPointer } from "../user-hash.ts";
import type { Credentials } from "./audit.ts";

/** A key and the users who may have it. */
type KeyHolders = NonNullable<Awaited<ReturnType<OtpKeys["findHolders"]>>>;

/** Whom an attempt names. */
export interface Named {
  /** Whose failures it counts to (decision A12): the name's, or those of the OTP's prefix where the OTP stands for a name. */
  readonly throttled: UserRef;
  /** Where the OTP stands for a name. */
  readonly byOtp?: {
    /** Every key that the OTP may be of. */
    readonly found: readonly KeyHolders[];
    /** The one that it is of. */
    readonly key?: KeyHolders;
  };
}

/**
 * Whom an attempt names: by username, or by the OTP's prefix where the deployment allows that (decision A6). Undefined where it
 * can name no user.
 */
export async function identify({ username, otp }: Credentials, deps: AuthDeps): Promise<Named | undefined> {
  if (username !== undefined) {
    const parsed = parseUsername(username);
    return parsed.ok ? { throttled: { by: "name", folded: parsed.value.folded } } : undefined;
  }
  return otp !== undefined && deps.rules.identifyByOtp ? identifyByOtp(otp, deps) : undefined;
}

async function identifyByOtp(otp: string, { otpkeys }: AuthDeps): Promise<Named | undefined> {
  const prefixes = cuts(otp).map(({ prefix }) => prefix);
  const found = (await Promise.all(prefixes.map(prefix => otpkeys.findHolders(prefix)))).filter(
    holders => holders !== undefined,
  );
  const shaped = found.map(holders => {
    const { prefix, kind, form } = holders.key.value;
    return { prefix, kind, digits: form.digits, holders };
  });
  const key = split(otp, prefix => shaped.find(shape => shape.prefix === prefix))?.key.holders;
  const prefix = key?.key.value.prefix ?? prefixes[0];
  if (prefix === undefined) return undefined;
  return { throttled: prefixPointer(prefix), byOtp: { found, ...(key && { key }) } };
}

/** Users that are read at once. */
const atOnce = 8;

/** The user that a key names: the key is enabled and that user's alone (decision A6). Undefined for none. */
export async function holderOf(holders: KeyHolders | undefined, { users }: AuthDeps): Promise<SignInState | undefined> {
  const { key, candidates = [] } = holders ?? {};
  const holding: SignInState[] = [];
  // The second user who has the key is enough to know that it names none, however many share it.
  for (let start = 0; start < candidates.length && holding.length < 2; start += atOnce) {
    const some = candidates.slice(start, start + atOnce);
    const standings = await Promise.all(some.map(whom => users.standing(whom)));
    const isHolding = (standing: SignInState | undefined) => standing?.otpkeys.some(({ id }) => id === key?.value.id);
    holding.push(...standings.filter(standing => standing !== undefined).filter(isHolding));
  }
  // One read also where there is no candidate: time must not tell who has a key.
  if (candidates.length === 0) await users.standing(noUser);
  const ids = holding.flatMap(({ user }) => (user === undefined ? [] : [user.value.id]));
  const named = identifiedBy({ enabled: key?.value.enabled === true, users: ids });
  return holding.find(({ user }) => named !== undefined && user?.value.id === named);
}
