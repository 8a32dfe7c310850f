import type { Fault } from "../fault.ts";
import type { Call, Reply } from "./call.ts";
import type { Access, Endpoint, Identity } from "./endpoint.ts";

/** A set of endpoints with one way to read bodies, to know callers and to refuse (decisions G1, G3, G4, G6). */
export interface Api<D, S = unknown> {
  readonly name: "core" | "client" | "connector";
  readonly title: string;
  readonly endpoints: Readonly<Record<string, Endpoint<D, S>>>;
  /** How bodies are read: JSON only, or form fields with JSON as an alternative. */
  readonly input: "json" | "fields";
  /** The largest body that is read (decision G4). */
  readonly bodyLimitBytes: number;
  /** Looks at every call before anything else; throws Fault, or gives headers for the answer. */
  readonly guard?: (call: Call, deps: D) => Readonly<Record<string, string>>;
  /** The wire shape of a refusal; exhaustive over the kinds. */
  refuse(fault: Fault): Reply;
}

/** Returns who calls, as far as the access asks for it. Throws Fault `unauthenticated`, `forbidden`. */
export type Identify<S = unknown> = (access: Access, call: Call) => Promise<Identity<S>>;
