import { conflict, retryOnConflict } from "../../platform/retry-on-conflict.ts";
import type { Stored } from "../../platform/stored.ts";
import type { AuthDeps } from "../deps.ts";
import { isPasswordCode, usableCode } from "../password-change/password-code.ts";
import type { User } from "../store.ts";
import { type Attempt, padTiming } from "./limit-attempts.ts";

/**
 * Returns whether a typed code is the one of the user's reset. Uses up a try by a write before the comparison, so that
 * parallel guesses cannot pass together. Without a usable code does a dummy write, so that timing does not reveal whether
 * the user has one.
 */
export async function checkPasswordCode(
  code: string,
  user: Stored<User> | undefined,
  attempt: Attempt,
  deps: AuthDeps,
): Promise<boolean> {
  let current = user;
  return retryOnConflict(async () => {
    const usable = usableCode(current?.value.passwordCode, deps.now());
    if (current === undefined || usable === undefined) {
      await padTiming(attempt, deps);
      return false;
    }
    const { value } = current;
    const passwordCode = { ...usable, triesLeft: usable.triesLeft - 1 };
    if ((await deps.users.save(current, { passwordCode })) !== undefined)
      return isPasswordCode(code, usable.hash, value.id, deps);
    current = await deps.users.find({ by: "id", id: value.id });
    return conflict;
  });
}
