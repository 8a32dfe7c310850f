import { once } from "node:events";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name, every value as received. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
}

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array;
  readonly chunked?: boolean;
}

/** One request on a connection of its own, the path sent as it stands. */
export async function call(host: { readonly port: number }, path: string, options: Call = {}): Promise<RawAnswer> {
  const { method = "GET", headers = {}, body, chunked = false } = options;
  const length = body === undefined || chunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const sent = request({ host: "127.0.0.1", port: host.port, path, method, agent: false });
  for (const [name, value] of Object.entries({ ...length, ...headers }))
    sent.setHeader(name, value as string | string[]);
  if (chunked) sent.setHeader("transfer-encoding", "chunked");
  sent.end(body);
  const [response] = await once(sent, "response");
  const bytes = await buffer(response);
  return { status: response.statusCode, headers: response.headersDistinct, bytes, text: bytes.toString() };
}
