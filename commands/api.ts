import * as z from "zod";

/** The API that a command speaks to (decision G13). */
export interface Api {
  /** Sends a call and returns the answer's status and JSON. Rejects with a readable reason when there is no answer. */
  call(
    method: "GET" | "POST",
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
}

/**
 * @param url address of the deployment with the surface's path, as in `https://core.example.com/core`
 * @param token bearer token; commands take it from the environment, never from their arguments, which others can see
 */
export function connectApi(url: string, token: string): Api {
  const base = url.replace(/\/+$/, "");
  return {
    async call(method, path, body) {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      };
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      const response = await fetch(`${base}${path}`, { ...init, signal: AbortSignal.timeout(60_000) }).catch(
        (error: unknown) => {
          throw new Error(`${base} does not answer: ${reasonOf(error)}`);
        },
      );
      const text = await response.text();
      return { status: response.status, body: text === "" ? undefined : jsonOf(text) };
    },
  };
}

const reasonOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
};

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const refusal = z.union([
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ error_message: z.string() }).transform(({ error_message }) => error_message),
]);

/** Why a call was refused, as a person is told. */
export const refusalOf = ({ status, body }: { status: number; body: unknown }): string =>
  `${refusal.safeParse(body).data ?? "refused"} (${status})`;
