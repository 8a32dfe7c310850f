import type { Fault } from "../fault.ts";
import type { Call, Reply } from "./call.ts";
import type { Access, Endpoint, Identity } from "./endpoint.ts";

/** A group of endpoints that share input style, authentication and error body (G1). */
export interface Api<D, S = unknown> {
  readonly name: "core" | "client" | "connector";
  readonly title: string;
  readonly endpoints: Readonly<Record<string, Endpoint<D, S>>>;
  /** Input style: JSON bodies, or fields of query, form or a flat JSON object. */
  readonly input: "json" | "fields";
  /** Maximum body size. */
  readonly bodyLimitBytes: number;
  /** Checks a call before anything else, such as its origin. Returns headers for the response or throws Fault. */
  readonly guard?: (call: Call, deps: D) => Readonly<Record<string, string>>;
  /** Returns the error response for a Fault. */
  refuse(fault: Fault): Reply;
}

/** Authenticates a call as the access requires. Throws Fault `unauthenticated` or `forbidden`. */
export type Identify<S = unknown> = (access: Access, call: Call) => Promise<Identity<S>>;
