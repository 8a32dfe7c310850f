import { randomUUID } from "node:crypto";
import * as z from "zod";
import { withBody } from "../control.ts";
import { type HttpAnswer, type HttpCall, type PeerPlace, startPeer } from "../peer.ts";
import { readBody } from "../read-body.ts";
import { PeerRefusal } from "../refusal.ts";
import { openState } from "../state-file.ts";
import { isSigned } from "./access.ts";
import { mailPage } from "./mail-page.ts";
import { type Mail, mailMessage, mailOutcome, mailSuppression } from "./message.ts";

export type MailService = Awaited<ReturnType<typeof startMail>>;

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
 * @param retryAfterSeconds seconds that callers are asked to wait between look-ups
 */
export async function startMail({
  port,
  statePath,
  accessKey,
  retryAfterSeconds = 1,
}: PeerPlace & { accessKey: string; retryAfterSeconds?: number }) {
  const state = openState<{ mails: Mail[]; operations: Record<string, Operation> }>(statePath, {
    mails: [],
    operations: {},
  });
  let outcomes: z.output<typeof mailOutcome>[] = [];
  /** The suppression list: addresses whose emails came back. */
  const suppressed = new Set<string>();

  const nextOutcome = () => {
    const [outcome = mailOutcome.parse({}), ...others] = outcomes;
    outcomes = outcome.times > 1 ? [{ ...outcome, times: outcome.times - 1 }, ...others] : others;
    return outcome;
  };

  const send = (call: HttpCall): HttpAnswer => {
    const operationId = call.headers["operation-id"] ?? randomUUID();
    if (!z.guid().safeParse(operationId).success) throw badRequest("Operation-Id is no UUID");
    const { senderAddress, recipients, content } = readBody(mailMessage, call.body, badRequest);

    const id = String(operationId);
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
        at: new Date().toISOString(),
      });
    state.save();
    const location = `${peer.url}/emails/operations/${id}?api-version=${call.query.get("api-version")}`;
    return {
      status: 202,
      headers: { "operation-location": location, "retry-after": String(retryAfterSeconds) },
      body: { id, status: "Running" },
    };
  };

  const lookUp = (id: string): HttpAnswer => {
    const operation = state.value.operations[id];
    if (operation === undefined) throw refused(404, "NotFound", `There is no operation ${id}`);
    if (operation.runningPolls === 0)
      return { status: 200, body: { id, status: operation.status, error: operation.error } };
    operation.runningPolls--;
    state.save();
    return { status: 200, headers: { "retry-after": String(retryAfterSeconds) }, body: { id, status: "Running" } };
  };

  const clearMails = () => {
    state.value.mails = [];
    state.save();
  };

  const peer = await startPeer("mail", {
    port,
    handle: call => {
      if (!isSigned(call, accessKey)) throw refused(401, "Denied", "Denied by the resource provider.");
      if (!call.query.has("api-version")) throw refused(400, "MissingApiVersionParameter", "api-version is missing");
      if (call.method === "POST" && call.path === "/emails:send") return send(call);
      const [, id] = /^\/emails\/operations\/([^/]+)$/.exec(call.path) ?? [];
      return call.method === "GET" && id !== undefined ? lookUp(id) : undefined;
    },
    control: {
      "GET mails": ({ query }) => (query.size === 0 ? state.value.mails : mailPage(state.value.mails, query)),
      "GET mails/:id": (_, wanted) => {
        const mail = state.value.mails.find(({ id }) => id === wanted);
        if (mail === undefined) throw refused(404, "NotFound", `There is no email ${wanted}`);
        return mail;
      },
      "DELETE mails": clearMails,
      "POST outcomes": withBody(mailOutcome, input => void outcomes.push(input)),
      "POST suppressed": withBody(mailSuppression, input => void suppressed.add(input.address)),
    },
  });

  return {
    ...peer,
    /** `endpoint=…;accesskey=…`, as the real client expects it. */
    connectionString: `endpoint=${peer.url}/;accesskey=${accessKey}`,
    /** Returns the delivered emails, oldest first. */
    mails: (): readonly Mail[] => [...state.value.mails],
    clearMails,
    /** Sets how the next sends end; by default they succeed. Only an email that succeeds is delivered. */
    outcome: (outcome: z.input<typeof mailOutcome>) => void outcomes.push(mailOutcome.parse(outcome)),
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

/** Returns a refusal, with its code also in a header. */
const refused = (status: number, code: string, message: string, headers: Record<string, string> = {}): PeerRefusal =>
  new PeerRefusal(message, {
    status,
    headers: { "x-ms-error-code": code, ...headers },
    body: { error: { code, message } },
  });

const badRequest = (reason: string) => refused(400, "BadRequest", reason);
