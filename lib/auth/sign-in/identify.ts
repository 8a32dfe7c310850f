import { chunksOf } from "../../chunks.ts";
import type { AuthDeps } from "../deps.ts";
import { identifyByKey } from "../model/policy.ts";
import { parseUsername } from "../model/username.ts";
import { possiblePrefixes, splitOtp } from "../otp/split-otp.ts";
import type { OtpKeys, SignInState, UserRef } from "../store.ts";
import { noUser, prefixPointer } from "../user-hash.ts";
import type { Credentials } from "./audit.ts";

/** An OTP key and the users to whom it may be assigned. */
export type KeyHolders = NonNullable<Awaited<ReturnType<OtpKeys["findHolders"]>>>;

/** The user whom an attempt names. */
export interface Identified {
  /** Owner of the throttle that counts the attempt: the username, or the OTP's prefix if no username was given. */
  readonly throttled: UserRef;
  /** Present if the OTP identifies the user. */
  readonly byOtp?: {
    /** Every OTP key that the OTP may belong to. */
    readonly found: readonly KeyHolders[];
    /** The OTP key whose kind matches the OTP. */
    readonly key?: KeyHolders;
  };
}

/**
 * Identifies the user by username, or by the OTP's prefix if the deployment allows that (A6). Returns undefined if the
 * credentials cannot name a user.
 */
export async function identify({ username, otp }: Credentials, deps: AuthDeps): Promise<Identified | undefined> {
  if (username !== undefined) {
    const parsed = parseUsername(username);
    return parsed.ok ? { throttled: { by: "name", folded: parsed.value.folded } } : undefined;
  }
  return otp !== undefined && deps.rules.identifyByOtp ? identifyByOtp(otp, deps) : undefined;
}

async function identifyByOtp(otp: string, { otpkeys }: AuthDeps): Promise<Identified | undefined> {
  const prefixes = possiblePrefixes(otp);
  const found = (await Promise.all(prefixes.map(prefix => otpkeys.findHolders(prefix)))).filter(
    holders => holders !== undefined,
  );
  const shaped = found.map(holders => {
    const { prefix, kind, form } = holders.key.value;
    return { prefix, kind, digits: form.digits, holders };
  });
  const key = splitOtp(otp, prefix => shaped.find(shape => shape.prefix === prefix))?.key.holders;
  const prefix = key?.key.value.prefix ?? prefixes[0];
  if (prefix === undefined) return undefined;
  return { throttled: prefixPointer(prefix), byOtp: { found, ...(key && { key }) } };
}

/** Number of users that are read in parallel. */
const batchSize = 8;

/** Returns the user whom an OTP key identifies: it is enabled and assigned to that user only. */
export async function findHolder(
  holders: KeyHolders | undefined,
  { users }: AuthDeps,
): Promise<SignInState | undefined> {
  const { key, candidates = [] } = holders ?? {};
  const found: SignInState[] = [];
  // Two holders are enough to know that the key identifies no user.
  for (const some of chunksOf(candidates, batchSize)) {
    if (found.length >= 2) break;
    const states = await Promise.all(some.map(userRef => users.signInState(userRef)));
    const isHolding = (state: SignInState | undefined) => state?.otpkeys.some(({ id }) => id === key?.value.id);
    found.push(...states.filter(state => state !== undefined).filter(isHolding));
  }
  // Without a candidate does a dummy read, so that timing does not reveal whether the key is assigned.
  if (candidates.length === 0) await users.signInState(noUser);
  const ids = found.flatMap(({ user }) => (user === undefined ? [] : [user.value.id]));
  const named = identifyByKey({ enabled: key?.value.enabled === true, users: ids });
  return found.find(({ user }) => named !== undefined && user?.value.id === named);
}
