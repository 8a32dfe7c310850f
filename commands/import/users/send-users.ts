import * as z from "zod";
import { refusalOf } from "../../api.ts";
import type { Sent } from "../run-import.ts";
import { plain } from "../screen.ts";
import { type Core, stoppedBy } from "../send.ts";
import type { ImportUser } from "./imported-user.ts";

const results = z.object({
  results: z.array(
    z.object({
      index: z.int(),
      status: z.union([200, 201, 400, 409, 500].map(status => z.literal(status))),
      error: z.string().optional(),
      problems: z.array(z.object({ field: z.string() })).optional(),
    }),
  ),
});
type Result = z.output<typeof results>["results"][number];

/** Sends users in one call (A25). Throws `ImportStopped` for a failure that every other user would have too. */
export async function sendUsers(users: readonly ImportUser[], { api, ask }: Core): Promise<readonly Sent[]> {
  const body = { users: users.map(({ note: _, ...user }) => ({ ...user, otpkeys: [...user.otpkeys] })) };
  const answer = await ask(signal => api.POST("/core/users/batch", { body, signal }));
  if (answer === undefined) return users.map(() => ({ outcome: "open", reason: "no response" }));
  if (answer.status === 500) return users.map(() => ({ outcome: "failed", reason: "Core failed at it (500)" }));
  if (answer.status === 400 || answer.status === 413) {
    const reason = responded(refusalOf(answer.status, answer.body), users);
    return users.map(() => ({ outcome: "refused", reason }));
  }
  const parsed = answer.status === 200 ? results.safeParse(answer.body).data?.results : undefined;
  if (parsed?.length !== users.length || parsed.some(({ index }, position) => index !== position))
    throw stoppedBy(answer);
  return parsed.map((result, index) => resultOf(result, users[index]?.note));
}

function resultOf({ status, error, problems = [] }: Result, note = ""): Sent {
  if (status === 201 || status === 200) return { outcome: status === 201 ? "imported" : "present", reason: note };
  if (status === 500) return { outcome: "failed", reason: "Core failed at it (500)" };
  if (status === 409) {
    const fields = problems.map(({ field }) => plain(field)).join(", ");
    return { outcome: "refused", reason: `Core has a user of this name with another ${fields}` };
  }
  return { outcome: "refused", reason: `Core responded: ${plain(refusalOf(status, { error }))}` };
}

/** Returns a reason with a text of a response, without the secrets of the users: a proxy's error page might quote the request. */
function responded(text: string, users: readonly ImportUser[]): string {
  const secrets = users.flatMap(({ password, password_hash: hash }) => [password, hash]);
  const quotes = secrets.some(secret => secret && text.includes(secret));
  return `Core responded: ${quotes ? "a text that quotes a secret" : plain(text)}`;
}
