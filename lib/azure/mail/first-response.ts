import type { EmailClient, EmailMessage, EmailSendOptionalParams } from "@azure/communication-email";

/** A 2xx, or the 404 of a look-up. */
export interface MailResponse {
  readonly httpStatus: number;
  readonly body?: {
    readonly id?: unknown;
    readonly status?: unknown;
    readonly error?: { readonly code?: unknown } | undefined;
  };
}

/**
 * Starts the SDK's long-running operation and takes its first answer: that of the POST or, when resumed, of the look-up.
 * The SDK would ask on at once, and a failure of that asking would look like one of the send, so it is cut off.
 */
export async function readFirstResponse(
  client: EmailClient,
  message: EmailMessage,
  options: EmailSendOptionalParams,
  limit: AbortSignal,
): Promise<MailResponse> {
  const enough = new AbortController();
  let answer: MailResponse | undefined;
  try {
    await client.beginSend(message, {
      ...options,
      abortSignal: AbortSignal.any([enough.signal, limit]),
      onResponse: ({ status, parsedBody }) => {
        const missing = status === 404 && options.resumeFrom !== undefined;
        if (status < 300 || missing) answer ??= { httpStatus: status, body: parsedBody };
        enough.abort();
      },
    });
  } catch (error) {
    if (answer === undefined) throw error;
  }
  if (answer === undefined) throw new Error("The mail SDK gave no answer");
  return answer;
}
