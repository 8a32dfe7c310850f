import type { TokenCredential } from "@azure/identity";
import * as z from "zod";
import { raceAbort, withTimeoutSignal } from "../async.ts";
import { callPeer, type PeerRequest, type PeerTools } from "../call-peer.ts";
import type { Mail, Mailer, MailStatus } from "../mail.ts";
import { PeerFailure } from "../peer-failure.ts";
import { plus } from "../time.ts";
import { accessToken, isLocalService, localCredential } from "./services.ts";

interface MailOptions extends PeerTools {
  readonly endpoint: string;
  readonly credential: TokenCredential;
  /** Sender address, of a verified domain. */
  readonly sender: string;
  /** Time limit of one call, including the token. */
  readonly timeoutMs: number;
}

const peer = "mail";
const apiVersion = "2025-09-01";
/** With both slashes, as the SDK of the service asks for it. */
const scope = "https://communication.azure.com//.default";

/**
 * Opens the mail service of Azure Communication Services (C14). A call is at most one HTTP request; only the caller
 * repeats it. `send` resolves when the service has accepted the email, which is sent later. Does not use the SDK, which
 * looks an email up as soon as it is accepted: a failed look-up would look like a failed send.
 */
export function openMailer({ endpoint, credential, sender, timeoutMs, ...tools }: MailOptions): Mailer {
  const identity = isLocalService(endpoint) ? localCredential : credential;
  const access = { ...tools, peer, timeLimitMs: timeoutMs, errorOf: (body: unknown) => ({ code: errorCode(body) }) };

  const call = <T>(path: string, request: Omit<PeerRequest<T>, "url">) => {
    // A process that was suspended for longer must not send: another may have sent the same email since (C15).
    const notAfter = plus(tools.now(), timeoutMs - 1);
    const noToken = (cause: unknown) => new PeerFailure(peer, request.operation, "unreachable", { cause });
    return withTimeoutSignal(timeoutMs, undefined, async signal => {
      const read = accessToken(identity, scope).catch((cause: unknown) => {
        throw noToken(cause);
      });
      const token = await raceAbort(read, signal, noToken);
      const url = `${endpoint}/emails${path}?api-version=${apiVersion}`;
      return callPeer(access, { ...request, url, token, signal, notAfter });
    });
  };

  return {
    async send({ to, subject, text, html, operationId }: Mail) {
      await call(":send", {
        operation: "send",
        method: "POST",
        headers: { "operation-id": operationId },
        body: {
          senderAddress: sender,
          recipients: { to: to.map(address => ({ address })) },
          content: { subject, plainText: text, html },
          userEngagementTrackingDisabled: true,
        },
        response: accepted,
      });
    },
    async status(operationId): Promise<MailStatus> {
      const path = `/operations/${encodeURIComponent(operationId)}`;
      try {
        const body = await call(path, { operation: "status", method: "GET", response: operation });
        const status = statuses[body.status];
        const code = status === "failed" ? errorCode(body) : undefined;
        return { status, ...(code !== undefined && { code }) };
      } catch (error) {
        if (error instanceof PeerFailure && error.isUnknownThere) return { status: "unknown" };
        throw error;
      }
    },
  };
}

const statuses = {
  NotStarted: "running",
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "failed",
} as const;

const accepted = z.lazy(() => z.object({ id: z.string() }));
const operation = z.lazy(() => z.looseObject({ status: z.enum(Object.keys(statuses) as (keyof typeof statuses)[]) }));
const failure = z.lazy(() => z.object({ error: z.object({ code: z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,63}$/) }) }));

/**
 * Returns the service's error code, which people read in messages, logs and events. A value that is not a word is left
 * out: it is no code, and could be an address. The service's texts are left out because they quote addresses (G10).
 */
const errorCode = (body: unknown): string | undefined => failure.safeParse(body).data?.error.code;
