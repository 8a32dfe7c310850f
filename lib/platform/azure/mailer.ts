import { AsyncLocalStorage } from "node:async_hooks";
import type {
  EmailClient,
  EmailClientOptions,
  EmailMessage,
  EmailSendOptionalParams,
} from "@azure/communication-email";
import { withTimeout } from "../async.ts";
import { hasSentNothing } from "../connection-error.ts";
import { Fault } from "../fault.ts";
import type { Mailer, MailStatus } from "../mail.ts";
import { kindOfStatus, PeerFailure, traceCall } from "../peer-failure.ts";
import { readRetryAfter } from "../response-headers.ts";
import { between, type Now } from "../time.ts";
import { isLocalService, isServiceError, localAccessKey, type Policies, type ServiceAccess } from "./services.ts";

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

  const call = async (operation: string, message: EmailMessage, more: EmailSendOptionalParams) => {
    const startedAt = now();
    const isLate = () => between(startedAt, now()) >= timeoutMs;
    try {
      return await lateness.run(isLate, () =>
        withTimeout(timeoutMs, async abortSignal => {
          opened ??= openClient(options, local);
          return readFirstResponse(await opened, message, more, abortSignal);
        }),
      );
    } catch (error) {
      throw toFailure(operation, error, now);
    }
  };

  return {
    send: ({ to, subject, text, html, operationId }) =>
      traceCall("mail", "send", async () => {
        const message: EmailMessage = {
          senderAddress: sender,
          recipients: { to: to.map(address => ({ address })) },
          content: { subject, plainText: text, html },
          disableUserEngagementTracking: true,
        };
        const { status, body } = await call("send", message, { operationId });
        if (typeof body?.id !== "string") throw new PeerFailure("mail", "send", "unanswered", { status });
      }),
    status: operationId =>
      traceCall("mail", "status", async (): Promise<MailStatus> => {
        const operationLocation = `/emails/operations/${encodeURIComponent(operationId)}`;
        const config = { operationLocation, metadata: { mode: "OperationLocation" } };
        const resumeFrom = JSON.stringify({ state: { status: "running", config } });
        const { status, body } = await call("status", emptyMessage, { resumeFrom });
        const code = errorCode(body?.error?.code);
        // Without the service's error code the 404 may be a proxy's, and the email may be sent already.
        if (status === 404 && code === undefined) throw new PeerFailure("mail", "status", "unreachable", { status });
        if (status === 404) return { status: "unknown" };
        const state = statuses[String(body?.status)];
        if (state === undefined) throw new PeerFailure("mail", "status", "unanswered", { status });
        return { status: state, ...(state === "failed" && code !== undefined && { code }) };
      }),
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
  readonly status: number;
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
      onResponse: ({ status, parsedBody: body }) => {
        const missing = status === 404 && options.resumeFrom !== undefined;
        if (status < 300 || missing) first ??= { status, body };
        stop.abort();
      },
    });
  } catch (error) {
    if (first === undefined) throw error;
  }
  if (first === undefined) throw new Error("The mail SDK returned no response");
  return first;
}

function toFailure(operation: string, error: unknown, now: Now): PeerFailure {
  if (error instanceof Fault) return new PeerFailure("mail", operation, "unreachable", { cause: error });
  if (!isServiceError(error) || error.statusCode === undefined)
    return new PeerFailure("mail", operation, wasNotSent(error) ? "unreachable" : "unanswered", { cause: error });
  const { statusCode: status, response } = error;
  const retryAfterSeconds = readRetryAfter(response?.headers.get("retry-after"), now);
  // Without text and cause, because the service quotes recipients' addresses (G10).
  const details = { status, retryAfterSeconds, code: errorCode(error.code) };
  return new PeerFailure("mail", operation, kindOfStatus(status, details), details);
}

/** The SDK's error has the code and message of the system's error, but not its system call. */
const wasNotSent = (error: unknown): boolean =>
  error instanceof Error &&
  (hasSentNothing(error) ||
    (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ||
    /^(connect|getaddrinfo) /.test(error.message));

/**
 * Returns the service's error code, which people read in messages, logs and events. A value that is not a word is left
 * out: it is no code, and could be an address.
 */
const errorCode = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(value) ? value : undefined;
