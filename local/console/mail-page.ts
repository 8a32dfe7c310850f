import * as z from "zod";
import { outcomeOf } from "../../commands/console/calls.ts";
import type { HttpAnswer } from "../../commands/http-exchange.ts";

const mail = z.object({ html: z.string() });

/** The markup is not trusted: it has its styles, and can run and load nothing. */
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** Returns the HTML of an email in the mailbox as a page of its own, for a frame. */
export async function mailPage(
  id: string,
  peers: Readonly<Record<string, string>>,
  gone: AbortSignal,
): Promise<HttpAnswer | undefined> {
  if (peers.mail === undefined) return undefined;
  const { body } = await outcomeOf(`${peers.mail}/_control/mails/${id}`, { method: "GET" }, gone);
  const { data } = mail.safeParse(body);
  if (data === undefined) return undefined;
  return {
    status: 200,
    headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
    body: data.html,
  };
}
