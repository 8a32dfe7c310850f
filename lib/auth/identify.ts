import type { Credentials } from "./audit.ts";
import type { OtpCandidates } from "./check-otp.ts";
import type { AuthDeps } from "./deps.ts";
import { cuts, split } from "./otp/split.ts";
import { identifiedBy } from "./policy.ts";
import type { Standing, UserPointer, Whom } from "./ports.ts";
import { parseUsername } from "./username.ts";

/** Who is meant by an attempt, with what was read already to find that out. */
export interface Named {
  readonly whom: Whom;
  readonly standing?: Standing;
  readonly candidates?: OtpCandidates;
}

/**
 * Who is meant: by name, or by the key of the OTP, where the deployment allows that, the key is enabled and one user's alone
 * (decision A6). Undefined for nobody.
 */
export async function identify({ username, otp }: Credentials, deps: AuthDeps): Promise<Named | undefined> {
  if (username !== undefined) {
    const parsed = parseUsername(username);
    return parsed.ok ? { whom: { by: "name", folded: parsed.value.folded } } : undefined;
  }
  return otp !== undefined && deps.rules.identifyByOtp ? holderOf(otp, deps) : undefined;
}

/** Candidates that are looked at side by side. */
const atOnce = 8;

async function holderOf(otp: string, { otpkeys, users }: AuthDeps): Promise<Named | undefined> {
  const found = (await Promise.all(cuts(otp).map(({ prefix }) => otpkeys.findHolders(prefix)))).filter(
    holders => holders !== undefined,
  );
  const shaped = found.map(holders => {
    const { prefix, kind, form } = holders.key.value;
    return { prefix, kind, digits: form.digits, holders };
  });
  const named = split(otp, prefix => shaped.find(key => key.prefix === prefix))?.key.holders;
  if (named === undefined) return undefined;
  const { enabled, id } = named.key.value;
  const holding: { readonly whom: UserPointer; readonly standing: Standing }[] = [];
  // The second who has it is enough to know that it names nobody, however many share it.
  for (let start = 0; start < named.candidates.length && holding.length < 2; start += atOnce) {
    const some = named.candidates.slice(start, start + atOnce);
    const standings = await Promise.all(some.map(whom => users.standing(whom)));
    for (const [index, whom] of some.entries()) {
      const standing = standings[index];
      if (standing?.otpkeys.some(key => key.id === id)) holding.push({ whom, standing });
    }
  }
  const userId = identifiedBy({ enabled, users: holding.map(({ whom }) => whom.id) });
  const holder = holding.find(({ whom }) => whom.id === userId);
  if (holder === undefined) return undefined;
  return { whom: holder.whom, standing: holder.standing, candidates: found.map(({ key }) => key) };
}
