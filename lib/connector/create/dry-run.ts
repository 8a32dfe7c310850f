import pLimit from "p-limit";
import { toResult } from "../../platform/async.ts";
import { Fault, type Problem } from "../../platform/fault.ts";
import type { ConnectorDeps } from "../deps.ts";
import { idpFault } from "../faults.ts";
import type { Idp } from "../idp/contract.ts";
import { notChecked, refusal, type UserProblem } from "../idp/user-check.ts";
import { challengeProblem } from "./ask-idps.ts";
import { checkReplacedKey, deliveryLimitViolations, requestProblems } from "./check-request.ts";
import { checkUser, usersOf } from "./check-users.ts";
import type { RequestDraft } from "./draft.ts";

/**
 * Makes every check of a create that stores nothing and changes nothing at a peer. Calls the IdPs only.
 * @returns the warnings
 * @throws Fault `invalid` with every problem, or `unavailable` if the only problem is that an IdP did not answer
 */
export async function dryRun(draft: RequestDraft, deps: ConnectorDeps): Promise<readonly Problem[]> {
  const signal = AbortSignal.timeout(deps.intervals.createMs);
  const users = usersOf(draft.keys, deps.idps.defaultId);
  const check = async (user: (typeof users)[number]) => {
    const idp = deps.idps.get(user.idpId);
    const found = idp === undefined ? [] : await checkAtIdp(user, idp, signal, deps);
    return found.map(({ message, code, ...kind }) => {
      const reason = `${message} (identity provider ${user.idpId})`;
      return { ...kind, problem: { path: draft.pathOf(user.at), reason, code } };
    });
  };
  const [ofUsers, replaced] = await Promise.all([
    pLimit(deps.concurrency).map(users, check),
    checkReplacedKey(draft, deps),
  ]);
  const all = ofUsers.flat();
  // What concerns an IdP as a whole is reported once, not for each user.
  const found = all.filter(
    ({ effect, isOfUser, problem: { reason } }, index) =>
      effect !== "warning" || isOfUser || all.findIndex(other => other.problem.reason === reason) === index,
  );
  const of = (effect: UserProblem["effect"]) => found.filter(each => each.effect === effect).map(each => each.problem);
  const tooLong = deliveryLimitViolations(draft).map(({ path, message, code }) => {
    return { path, reason: `is too long: ${message}`, code };
  });
  const refused = [...requestProblems(draft, deps), ...tooLong, ...replaced.problems, ...of("refused")];
  const problems = [...refused, ...of("unchecked")];
  const warnings = [...replaced.warnings, ...of("warning")];
  if (problems.length === 0) return warnings;
  const details = { problems, data: { warnings } };
  if (refused.length > 0) throw new Fault("invalid", "The request would be refused.", details);
  const waits = all
    .filter(({ effect }) => effect === "unchecked")
    .map(({ retryAfterSeconds = 30 }) => retryAfterSeconds);
  const retryAfterSeconds = Math.max(...waits);
  throw new Fault("unavailable", "Not everything could be checked.", { ...details, retryAfterSeconds });
}

/** Checks a user and, at an IdP that keeps no state of creation options, also a challenge. */
async function checkAtIdp(
  user: ReturnType<typeof usersOf>[number],
  idp: Idp,
  signal: AbortSignal,
  deps: ConnectorDeps,
): Promise<readonly UserProblem[]> {
  const asksOptions = idp.compensateUnanswered === undefined;
  const [checked, asked] = await Promise.all([
    checkUser(user, idp, { signal, asksOptions }, deps),
    asksOptions ? toResult(idp.creationOptions({ userId: user.userId, tag: "Dry run" }, signal)) : undefined,
  ]);
  // The IdP's own refusal says less than the check that found its reason.
  if (asked === undefined || checked.some(({ effect }) => effect === "refused")) return checked;
  if ("error" in asked) {
    const fault = idpFault(asked.error, idp);
    const refused = () => refusal("options_refused", `is refused: ${fault.message}`);
    return [...checked, fault.kind === "idp_refused" ? refused() : notChecked(fault)];
  }
  const unsuitable = user.keys.map(key => challengeProblem(asked.value, key, idp, deps)).find(Boolean);
  if (unsuitable === undefined) return checked;
  return [...checked, refusal("challenge_unsuitable", `cannot get a usable challenge: ${unsuitable}`)];
}
