import type { EmailClient, EmailMessage, EmailSendOptionalParams } from "@azure/communication-email";

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
 * Starts the SDK's long-running operation and returns its first response: to the POST or, for a resumed operation, to the status query.
 * Then aborts it: the SDK would poll at once, and a failed poll would look like a failed send.
 */
export async function readFirstResponse(
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
