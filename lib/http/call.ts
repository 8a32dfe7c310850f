/** A request as it arrived, free of any platform's types. */
export interface Call {
  readonly method: string;
  /** As sent: path letters, encoding and repeated query keys untouched (decision G4). */
  readonly url: URL;
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
