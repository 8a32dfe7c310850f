import * as z from "zod";
import type { PeerAnswer } from "../peers/http-exchange.ts";
import { outcomeOf } from "./calls.ts";

const mails = z.array(z.object({ id: z.string(), html: z.string().optional() }));

/** Foreign markup: it may look as it likes, and do or fetch nothing. */
const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/** The HTML of a mail in the mailbox, as a page of its own for a frame. */
export async function mailPage(
  id: string,
  peers: Readonly<Record<string, string>>,
  gone: AbortSignal,
): Promise<PeerAnswer | undefined> {
  if (peers.mail === undefined) return undefined;
  const { body } = await outcomeOf(`${peers.mail}/_control/mails`, { method: "GET" }, gone);
  const html = mails.parse(body).find(mail => mail.id === id)?.html;
  if (html === undefined) return undefined;
  return {
    status: 200,
    headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": policy },
    body: html,
  };
}
