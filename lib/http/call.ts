/** A request as it arrived, free of any platform's types. */
export interface Call {
  readonly method: string;
  /**
   * The host has decoded the path and encoded it again, but for `%HH` that came out of the decoding: to decode it here would decode
   * twice. Read `params` instead. The query is as sent, repeated keys included (decision G4).
   */
  readonly url: URL;
  /** The path's parameters, decoded once by the host. `%2F`, and bytes that are not UTF-8, stay encoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: Headers;
  readonly invocationId: string;
  body(): Promise<Uint8Array>;
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite: "Strict" | "Lax" | "None";
  /** Seconds; 0 removes the cookie. */
  readonly maxAge?: number;
}

/** An answer. `body` is sent as JSON; absent means none. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly cookies?: readonly Cookie[];
}

export const ok = (body: unknown): Reply => ({ status: 200, body });
export const noContent: Reply = { status: 204 };
