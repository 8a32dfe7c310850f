import { randomUUID } from "node:crypto";
import * as z from "zod";
import { readBody, withControlBody } from "../control-body.ts";
import { type HttpAnswer, type HttpCall, type Peer, startPeer } from "../peer.ts";
import { openState } from "../state-file.ts";
import { isSigned } from "./access.ts";
import { mailPage } from "./mail-page.ts";
import {
  type Mail,
  type MailOutcome,
  type MailQuota,
  mailMessage,
  mailOutcome,
  mailQuota,
  mailSuppression,
} from "./message.ts";

export interface MailService extends Peer {
  /** `endpoint=…;accesskey=…`, as the real client expects it. */
  readonly connectionString: string;
  /** Delivered emails, oldest first. */
  mails(): readonly Mail[];
  clearMails(): void;
  /** Sets how the next sends end; by default they succeed. Only an email that succeeds is delivered. */
  outcome(outcome: MailOutcome): void;
  quota(quota: MailQuota | undefined): void;
  /** The suppression list: addresses whose emails came back. */
  readonly suppressed: Set<string>;
}

interface Operation {
  readonly status: "Succeeded" | "Failed" | "Canceled";
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  runningPolls: number;
}

/**
 * Starts a simulated mail service with the email wire protocol of Azure Communication Services. It drops no duplicates: each
 * accepted send is one more email, also with a known operation id, because the real service drops them for 5 minutes at best
 * (C14). An email is in the mailbox as soon as its send is accepted. Suppressed addresses get no email; an email to suppressed addresses only is
 * accepted, and then fails.
 * @param accessKey base64
 * @param retryAfter seconds that callers are asked to wait between look-ups
 */
export async function startMail({
  port,
  statePath,
  accessKey,
  retryAfter = 1,
}: {
  port?: number;
  statePath?: string;
  accessKey: string;
  retryAfter?: number;
}): Promise<MailService> {
  const state = openState<{ mails: Mail[]; operations: Record<string, Operation> }>(statePath, {
    mails: [],
    operations: {},
  });
  let outcomes: z.output<typeof mailOutcome>[] = [];
  let limit: z.output<typeof mailQuota> | undefined;
  let accepted: readonly number[] = [];
  let lookedUp: readonly number[] = [];
  const suppressed = new Set<string>();

  const nextOutcome = () => {
    const [outcome = mailOutcome.parse({}), ...others] = outcomes;
    outcomes = outcome.times > 1 ? [{ ...outcome, times: outcome.times - 1 }, ...others] : others;
    return outcome;
  };

  /** Returns the calls of the period of the quota. */
  const inPeriod = (calls: readonly number[], now: number) =>
    calls.filter(at => at > now - (limit?.seconds ?? 0) * 1000);

  /** Returns the response to a call that the quota does not allow. @param earlier the calls of the period */
  const throttled = (earlier: readonly number[], most: number | undefined, now: number): HttpAnswer | undefined => {
    if (limit === undefined || most === undefined || earlier.length < most) return undefined;
    const seconds = Math.max(1, Math.ceil(((earlier.at(-most) ?? now) + limit.seconds * 1000 - now) / 1000));
    return refused(429, "TooManyRequests", "Too many requests", { "retry-after": String(seconds) });
  };

  const send = (call: HttpCall): HttpAnswer => {
    const operationId = call.headers["operation-id"] ?? randomUUID();
    if (!z.guid().safeParse(operationId).success) return refused(400, "BadRequest", "Operation-Id is no UUID");
    const reading = readBody(mailMessage, call.body);
    if (!reading.ok) return refused(400, "BadRequest", reading.error);
    const now = Date.now();
    accepted = inPeriod(accepted, now);
    const refusal = throttled(accepted, limit?.sends, now);
    if (refusal !== undefined) return refusal;
    accepted = [...accepted, now];

    const id = String(operationId);
    const { senderAddress, recipients, content } = reading.input;
    const to = recipients.to.map(({ address }) => address).filter(address => !suppressed.has(address));
    const { status, error, runningPolls } = to.length === 0 ? allSuppressed : nextOutcome();
    state.value.operations[id] = { status, error, runningPolls };
    if (status === "Succeeded")
      state.value.mails.push({
        id: randomUUID(),
        operationId: id,
        from: senderAddress,
        to,
        subject: content.subject,
        text: content.plainText,
        html: content.html,
        at: new Date(now).toISOString(),
      });
    state.save();
    const location = `${peer.url}/emails/operations/${id}?api-version=${call.query.get("api-version")}`;
    return {
      status: 202,
      headers: { "operation-location": location, "retry-after": String(retryAfter) },
      body: { id, status: "Running" },
    };
  };

  const lookUp = (id: string): HttpAnswer => {
    const now = Date.now();
    lookedUp = inPeriod(lookedUp, now);
    const refusal = throttled(lookedUp, limit?.lookUps, now);
    if (refusal !== undefined) return refusal;
    lookedUp = [...lookedUp, now];
    const operation = state.value.operations[id];
    if (operation === undefined) return refused(404, "NotFound", `There is no operation ${id}`);
    if (operation.runningPolls === 0)
      return { status: 200, body: { id, status: operation.status, error: operation.error } };
    operation.runningPolls--;
    state.save();
    return { status: 200, headers: { "retry-after": String(retryAfter) }, body: { id, status: "Running" } };
  };

  const clearMails = () => {
    state.value.mails = [];
    state.save();
  };

  const peer = await startPeer("mail", {
    ...(port === undefined ? {} : { port }),
    handle: call => {
      if (!isSigned(call, accessKey)) return refused(401, "Denied", "Denied by the resource provider.");
      if (!call.query.has("api-version")) return refused(400, "MissingApiVersionParameter", "api-version is missing");
      if (call.method === "POST" && call.path === "/emails:send") return send(call);
      const [, id] = /^\/emails\/operations\/([^/]+)$/.exec(call.path) ?? [];
      return call.method === "GET" && id !== undefined ? lookUp(id) : undefined;
    },
    control: ({ method, path, query, body }) => {
      const [, mailId] = /^\/_control\/mails\/([^/]+)$/.exec(path) ?? [];
      if (method === "GET" && mailId !== undefined) {
        const mail = state.value.mails.find(({ id }) => id === mailId);
        return mail && { status: 200, body: mail };
      }
      switch (`${method} ${path}`) {
        case "GET /_control/mails":
          return { status: 200, body: query.size === 0 ? state.value.mails : mailPage(state.value.mails, query) };
        case "DELETE /_control/mails":
          clearMails();
          return { status: 204 };
        case "POST /_control/outcomes":
          return withControlBody(mailOutcome, body, input => {
            outcomes.push(input);
            return { status: 201, body: input };
          });
        case "POST /_control/suppressed":
          return withControlBody(mailSuppression, body, input => {
            suppressed.add(input.address);
            return { status: 201, body: input };
          });
        case "PUT /_control/quota":
          return withControlBody(mailQuota, body, input => {
            limit = input;
            return { status: 200, body: input };
          });
        case "DELETE /_control/quota":
          limit = undefined;
          return { status: 204 };
        default:
          return undefined;
      }
    },
  });

  return {
    ...peer,
    connectionString: `endpoint=${peer.url}/;accesskey=${accessKey}`,
    mails: () => [...state.value.mails],
    clearMails,
    outcome: outcome => {
      outcomes.push(mailOutcome.parse(outcome));
    },
    quota: quota => {
      limit = quota === undefined ? undefined : mailQuota.parse(quota);
    },
    suppressed,
  };
}

/** How an email ends whose addresses are all suppressed. */
const allSuppressed: Operation = {
  status: "Failed",
  error: {
    code: "EmailDroppedAllRecipientsSuppressed",
    message: "Message dropped because all recipients were suppressed",
  },
  runningPolls: 1,
};

/** Returns an error response, with its code also in a header. */
const refused = (status: number, code: string, message: string, headers: Record<string, string> = {}): HttpAnswer => ({
  status,
  headers: { "x-ms-error-code": code, ...headers },
  body: { error: { code, message } },
});
