import { AsyncLocalStorage } from "node:async_hooks";
import type {
  EmailClient,
  EmailClientOptions,
  EmailMessage,
  EmailSendOptionalParams,
} from "@azure/communication-email";
import { withTimeout } from "../async.ts";
import { Fault } from "../fault.ts";
import type { Mail, Mailer, MailStatus } from "../mail.ts";
import { PeerFailure, traceCall } from "../peer-failure.ts";
import { between, type Now } from "../time.ts";
import { errorCode, toMailFailure, unreadableMailResponse } from "./mail-failure.ts";
import { isLocalService, localAccessKey, type Policies, type ServiceAccess } from "./services.ts";

type MailOptions = ServiceAccess & {
  /** Sender address, of a verified domain. */
  readonly sender: string;
  /** Time limit of one call. */
  readonly timeoutMs: number;
  readonly now: Now;
};

/**
 * Opens the mail service of Azure Communication Services (C14). A call is at most one HTTP request; only the caller
 * repeats it. `send` resolves when the service has accepted the email, which is sent later. Loads the SDK at the first
 * call.
 */
export function openMailer(options: MailOptions): Mailer {
  const { sender, timeoutMs, now } = options;
  const local = isLocalService(endpointOf(options));
  let opened: Promise<EmailClient> | undefined;

  const call = (operation: string, message: EmailMessage, more: EmailSendOptionalParams) => {
    const startedAt = now();
    const isLate = () => between(startedAt, now()) >= timeoutMs;
    const response = lateness.run(isLate, () =>
      withTimeout(timeoutMs, async abortSignal => {
        opened ??= openClient(options, local);
        return readFirstResponse(await opened, message, more, abortSignal);
      }),
    );
    return response.catch((error: unknown) => {
      throw toMailFailure(operation, error, now);
    });
  };

  const send = async ({ to, subject, text, html, operationId }: Mail): Promise<void> => {
    const message: EmailMessage = {
      senderAddress: sender,
      recipients: { to: to.map(address => ({ address })) },
      content: { subject, plainText: text, html },
      disableUserEngagementTracking: true,
    };
    const { httpStatus, body } = await call("send", message, { operationId });
    if (typeof body?.id !== "string") throw unreadableMailResponse("send", httpStatus);
  };

  const statusOf = async (operationId: string): Promise<MailStatus> => {
    const resumeFrom = JSON.stringify({
      state: {
        status: "running",
        config: {
          operationLocation: `/emails/operations/${encodeURIComponent(operationId)}`,
          metadata: { mode: "OperationLocation" },
        },
      },
    });
    const { httpStatus, body } = await call("status", emptyMessage, { resumeFrom });
    if (httpStatus === 404) {
      // Without the service's error code the 404 may be a proxy's, and the email may be sent already.
      if (errorCode(body?.error?.code) === undefined)
        throw new PeerFailure("mail", "status", "missing", { status: 404 });
      return { status: "unknown" };
    }
    const status = statuses[String(body?.status)];
    if (status === undefined) throw unreadableMailResponse("status", httpStatus);
    const code = status === "failed" ? errorCode(body?.error?.code) : undefined;
    return { status, ...(code !== undefined && { code }) };
  };

  return {
    send: mail => traceCall("mail", "send", () => send(mail)),
    status: operationId => traceCall("mail", "status", () => statusOf(operationId)),
  };
}

const statuses: Readonly<Record<string, MailStatus["status"]>> = {
  NotStarted: "running",
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "failed",
};

/** The SDK requires a message also for a status query. */
const emptyMessage: EmailMessage = { senderAddress: "", recipients: {}, content: { subject: "", plainText: "" } };

/** Returns whether the time limit of the current call has passed. */
const lateness = new AsyncLocalStorage<() => boolean>();

/**
 * Sends nothing after the time limit. The timers of a process that was suspended have not run yet, and another process
 * may have sent the same email since the lease expired (C15).
 */
const rejectLateRequest: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "rejectLateRequest",
    sendRequest(request, next) {
      if (lateness.getStore()?.()) throw new Fault("unavailable", "The mail service was not called in time.");
      return next(request);
    },
  },
};

/** @param local whether it is a simulated service on this machine */
async function openClient(access: ServiceAccess, local: boolean): Promise<EmailClient> {
  const { EmailClient } = await import("@azure/communication-email");
  const options: EmailClientOptions = {
    retryOptions: { maxRetries: 0 },
    redirectOptions: { maxRetries: 0 },
    allowInsecureConnection: local,
    additionalPolicies: [rejectLateRequest],
  };
  if ("connectionString" in access) return new EmailClient(access.connectionString, options);
  return new EmailClient(access.endpoint, local ? { key: localAccessKey } : access.credential, options);
}

function endpointOf(access: ServiceAccess): string {
  if ("endpoint" in access) return access.endpoint;
  return /(?:^|;)\s*endpoint=([^;]+)/i.exec(access.connectionString)?.[1] ?? "";
}

/** A 2xx response, or the 404 of a status query. */
interface MailResponse {
  readonly httpStatus: number;
  readonly body?: {
    readonly id?: unknown;
    readonly status?: unknown;
    readonly error?: { readonly code?: unknown } | undefined;
  };
}

/**
 * Starts the SDK's long-running operation and returns its first response: to the POST or, for a resumed operation, to
 * the status query. Then aborts it: the SDK would poll at once, and a failed poll would look like a failed send.
 */
async function readFirstResponse(
  client: EmailClient,
  message: EmailMessage,
  options: EmailSendOptionalParams,
  limit: AbortSignal,
): Promise<MailResponse> {
  const stop = new AbortController();
  let first: MailResponse | undefined;
  try {
    await client.beginSend(message, {
      ...options,
      abortSignal: AbortSignal.any([stop.signal, limit]),
      onResponse: ({ status, parsedBody }) => {
        const missing = status === 404 && options.resumeFrom !== undefined;
        if (status < 300 || missing) first ??= { httpStatus: status, body: parsedBody };
        stop.abort();
      },
    });
  } catch (error) {
    if (first === undefined) throw error;
  }
  if (first === undefined) throw new Error("The mail SDK returned no response");
  return first;
}
