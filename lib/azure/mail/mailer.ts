import { AsyncLocalStorage } from "node:async_hooks";
import type {
  EmailClient,
  EmailClientOptions,
  EmailMessage,
  EmailSendOptionalParams,
} from "@azure/communication-email";
import { Fault } from "../../fault.ts";
import type { Mailer, MailStatus } from "../../mail.ts";
import { PeerFailure } from "../../peer-failure.ts";
import { between, type Now } from "../../time.ts";
import { type Access, isLocalService, localAccessKey } from "../credential.ts";
import { type Policies, withTimeout } from "../service-errors.ts";
import { readFirstResponse } from "./first-response.ts";
import { toMailFailure, unreadableResponse } from "./mail-failure.ts";

export type MailOptions = Access & {
  /** An address of a verified domain. */
  readonly sender: string;
  /** Of one call. */
  readonly timeoutMs: number;
  readonly now: Now;
};

/**
 * Azure Communication Services, e-mail (decision C14). A call is one HTTP request at most, never repeated here: the caller
 * repeats by its own rules. `send` resolves when the service has taken the mail, which is not yet sent then. The SDK is
 * loaded at the first call.
 */
export function openMailer(options: MailOptions): Mailer {
  const { sender, timeoutMs, now } = options;
  const local = isLocalService(endpointOf(options));
  let opened: Promise<EmailClient> | undefined;

  const ask = (operation: string, message: EmailMessage, more: EmailSendOptionalParams) => {
    const begun = now();
    const isLate = () => between(begun, now()) >= timeoutMs;
    const asked = lateness.run(isLate, () =>
      withTimeout(timeoutMs, async abortSignal => {
        opened ??= openClient(options, local);
        return readFirstResponse(await opened, message, more, abortSignal);
      }),
    );
    return asked.catch((error: unknown) => {
      throw toMailFailure(operation, error, now);
    });
  };

  return {
    async send({ to, subject, text, html, operationId }) {
      const message: EmailMessage = {
        senderAddress: sender,
        recipients: { to: to.map(address => ({ address })) },
        content: { subject, plainText: text, html },
        disableUserEngagementTracking: true,
      };
      const { httpStatus, body } = await ask("send", message, { operationId });
      if (typeof body?.id !== "string") throw unreadableResponse("send", httpStatus);
    },
    async status(operationId) {
      const resumeFrom = JSON.stringify({
        state: {
          status: "running",
          config: {
            operationLocation: `/emails/operations/${encodeURIComponent(operationId)}`,
            metadata: { mode: "OperationLocation" },
          },
        },
      });
      const { httpStatus, body } = await ask("status", emptyMessage, { resumeFrom });
      if (httpStatus === 404) {
        // Without the service's own words it may be a proxy's, and the mail sent already.
        if (typeof body?.error?.code !== "string") throw new PeerFailure("mail", "status", "missing", { status: 404 });
        return "unknown";
      }
      const status = statuses[String(body?.status)];
      if (status === undefined) throw unreadableResponse("status", httpStatus);
      return status;
    },
  };
}

const statuses: Readonly<Record<string, MailStatus>> = {
  NotStarted: "running",
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "failed",
};

/** The SDK wants a message also where it only looks one up. */
const emptyMessage: EmailMessage = { senderAddress: "", recipients: {}, content: { subject: "", plainText: "" } };

/** Whether the time of the call under way is over. */
const lateness = new AsyncLocalStorage<() => boolean>();

/**
 * A process that was stopped on the way here finds its timers not yet run: it must not send what another has sent since its
 * lease ran out (decision C15).
 */
const rejectLateRequest: Policies[number] = {
  position: "perRetry",
  policy: {
    name: "notLate",
    sendRequest(request, next) {
      if (lateness.getStore()?.()) throw new Fault("unavailable", "The mail service was not called in time.");
      return next(request);
    },
  },
};

/** @param local whether the service is a simulated one on this machine */
async function openClient(access: Access, local: boolean): Promise<EmailClient> {
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

function endpointOf(access: Access): string {
  if ("endpoint" in access) return access.endpoint;
  return /(?:^|;)\s*endpoint=([^;]+)/i.exec(access.connectionString)?.[1] ?? "";
}
