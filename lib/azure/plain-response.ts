import { type Cookie, HttpResponse } from "@azure/functions";

interface Content {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly cookies?: readonly Cookie[] | undefined;
}

/**
 * A response that `@azure/functions` (4.16.5) accepts as its own. The library makes a web `Response` of every other result and reads
 * it back: for the eight headers and the short body of a typical response that takes more of the event loop than the endpoint.
 */
class PlainResponse {
  readonly status: number;
  readonly headers: { entries(): Iterable<readonly [string, string]> };
  readonly cookies: readonly Cookie[];
  readonly enableContentNegotiation = false;
  readonly arrayBuffer: () => Promise<Uint8Array>;

  constructor({ status, headers, body, cookies = [] }: Content) {
    this.status = status;
    this.headers = { entries: () => Object.entries(headers) };
    this.cookies = cookies;
    this.arrayBuffer = async () => new TextEncoder().encode(body);
  }
}
// The library asks with `instanceof`. The constructor of the class would make the web response.
Object.setPrototypeOf(PlainResponse.prototype, HttpResponse.prototype);

/** Throws TypeError for a header that cannot be sent: a line break in a value would begin another header. */
export function plainResponse(content: Content): HttpResponse {
  for (const [name, value] of Object.entries(content.headers)) {
    if (!/^[a-z0-9-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent.`);
    }
  }
  return new PlainResponse(content) as unknown as HttpResponse;
}
