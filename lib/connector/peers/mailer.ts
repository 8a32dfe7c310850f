import { createHash, createHmac } from "node:crypto";
import * as z from "zod";
import { callPeer, type PeerAccess, type PeerRequest, type PeerTools } from "../../platform/call-peer.ts";
import { PeerFailure } from "../../platform/peer-failure.ts";
import { type Now, plus } from "../../platform/time.ts";
import { createAccessTokens, peerApi } from "./access-token.ts";

/** What became of a send. */
export interface MailStatus {
  /** `unknown`: the service has no operation with this id. */
  readonly status: "succeeded" | "running" | "failed" | "unknown";
  /** The service's error code of a failed send: letters and digits, no personal data. */
  readonly code?: string;
}

/** The code of an email that was dropped because all its addresses are on the mail service's suppression list. */
export const allSuppressedCode = "EmailDroppedAllRecipientsSuppressed";

interface Mail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Names the send, so that its status can be read if its answer was lost. */
  readonly operationId: string;
}

/** The mail service of Azure Communication Services (C14). Its methods throw `PeerFailure`. */
export interface Mailer {
  /** Sends an email with at most one accepted request. The service sends it later. */
  send(mail: Mail): Promise<void>;
  /** Returns what became of an earlier `send`. */
  status(operationId: string): Promise<MailStatus>;
}

interface MailOptions extends PeerTools {
  /** The address of the service; or, for local runs, its connection string. */
  readonly endpoint: string;
  /** Sender address, of a verified domain. */
  readonly sender: string;
  /** Returns an access token of the app's own identity. */
  readonly managedIdentityToken: (scope: string) => Promise<string>;
  /** The time limit of one call, with its token. */
  readonly timeLimitMs: number;
}

const apiVersion = "2025-09-01";
/** With both slashes, as Microsoft's client asks for it. */
const scope = "https://communication.azure.com//.default";

/** Opens the mail service. Only the caller repeats a call. */
export function openMailer({ sender, endpoint, managedIdentityToken, ...tools }: MailOptions): Mailer {
  const { now, timeLimitMs } = tools;
  const access: PeerAccess = { ...tools, peer: "mail", errorOf };
  const [, address = endpoint, accessKey] = /^endpoint=([^;]+);accesskey=([^;]+)$/i.exec(endpoint) ?? [];
  const operate = peerApi(
    access,
    createAccessTokens(access, async () => ({ token: await managedIdentityToken(scope), expiresInSeconds: 0 })),
  );
  const call = <T>(path: string, request: Omit<PeerRequest<T>, "url">): Promise<T> => {
    const url = `${address.replace(/\/$/, "")}${path}?api-version=${apiVersion}`;
    // A process that was suspended sends nothing after the time limit: another one may have sent the same email since
    // the lease expired (C15).
    const whole = { ...request, url, notAfter: plus(now(), timeLimitMs) };
    return accessKey === undefined
      ? operate(undefined, api => api.send(whole))
      : callPeer(access, { ...whole, headers: { ...request.headers, ...signature(whole, accessKey, now) } });
  };

  return {
    send: async ({ to, subject, text, html, operationId }) => {
      const body = JSON.stringify({
        senderAddress: sender,
        recipients: { to: to.map(recipient => ({ address: recipient })) },
        content: { subject, plainText: text, html },
        userEngagementTrackingDisabled: true,
      });
      const headers = { "operation-id": operationId };
      await call("/emails:send", { operation: "send", method: "POST", headers, body, response: accepted });
    },
    status: operationId =>
      call(`/emails/operations/${encodeURIComponent(operationId)}`, {
        operation: "status",
        method: "GET",
        response: operationStatus,
      }).catch((error: unknown) => {
        // Without the service's error code the 404 may be a proxy's, and the email may be sent already.
        if (error instanceof PeerFailure && error.kind === "missing") return { status: "unknown" };
        throw error;
      }),
  };
}

const accepted = z.lazy(() => z.object({ id: z.string() }));

const statuses = {
  NotStarted: "running",
  Running: "running",
  Succeeded: "succeeded",
  Failed: "failed",
  Canceled: "failed",
} as const;

const operationStatus = z.lazy(() =>
  z
    .object({ status: z.enum(Object.keys(statuses) as [keyof typeof statuses]) })
    .loose()
    .transform(body => {
      const status = statuses[body.status];
      const { code } = errorOf(body);
      return { status, ...(status === "failed" && code !== undefined && { code }) };
    }),
);

const errorBody = z.lazy(() =>
  z.object({ error: z.object({ code: z.string().regex(/^[A-Za-z][A-Za-z0-9]{0,63}$/) }) }),
);

/**
 * Returns the service's error code, which people read in messages, logs and events. A value that is not a word is left
 * out: it is no code, and could be an address. So are the service's texts, which quote recipients' addresses (G10).
 */
const errorOf = (body: unknown): { readonly code?: string | undefined } => ({
  code: errorBody.safeParse(body).data?.error.code,
});

/** Returns the headers that sign a request with the access key of a connection string. */
function signature({ url, method, body = "" }: PeerRequest<unknown>, accessKey: string, now: Now) {
  const { pathname, search, host } = new URL(url);
  const date = new Date(now()).toUTCString();
  const hash = createHash("sha256").update(String(body)).digest("base64");
  const signed = createHmac("sha256", Buffer.from(accessKey, "base64"))
    .update(`${method}\n${pathname}${search}\n${date};${host};${hash}`)
    .digest("base64");
  return {
    "x-ms-date": date,
    "x-ms-content-sha256": hash,
    authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signed}`,
  };
}
