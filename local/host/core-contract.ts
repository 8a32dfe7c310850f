/**
 * The contract between `@azure/functions` and its host. No package contains the library's own declaration
 * (`@azure/functions-core`), so this file declares the part that is used here.
 */

export type LogLevel = "trace" | "debug" | "information" | "warning" | "error" | "critical" | "none";

/** Receives every line of host and functions. The categories are those of Azure's host (`Function.<name>.User`, `Host.*`). */
export type HostLog = (level: LogLevel, category: string, message: string) => void;

export interface Binding {
  readonly type: string;
  readonly direction?: "in" | "out";
  readonly [option: string]: unknown;
}

export interface HttpTrigger extends Binding {
  readonly route?: string;
  readonly methods: readonly string[];
  readonly authLevel: string;
}

export interface TimerTrigger extends Binding {
  readonly schedule: string;
}

export interface FunctionMetadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Binding>>;
}

export type FunctionCallback = (...args: unknown[]) => unknown;

interface Nullable<T> {
  readonly value: T;
}

export interface RpcHttpRequest {
  readonly method: string;
  readonly url: string;
  readonly nullableHeaders: Readonly<Record<string, Nullable<string>>>;
  readonly nullableQuery: Readonly<Record<string, Nullable<string>>>;
  readonly nullableParams: Readonly<Record<string, Nullable<string>>>;
  readonly body?: { readonly bytes: Uint8Array };
}

export interface RpcCookie {
  readonly name: string;
  readonly value: string;
  readonly path?: Nullable<string>;
  readonly secure?: Nullable<boolean>;
  readonly httpOnly?: Nullable<boolean>;
  /** `none` leaves the attribute out, `explicitNone` is its value `None`. */
  readonly sameSite?: "none" | "lax" | "strict" | "explicitNone";
  readonly maxAge?: Nullable<number>;
}

export interface RpcHttpResponse {
  readonly statusCode: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly RpcCookie[];
  readonly body?: { readonly bytes?: Uint8Array };
}

/** The trigger's input: an HTTP request, or JSON text. */
export type RpcInput = { readonly http: RpcHttpRequest } | { readonly json: string };

export interface InvocationResponse {
  readonly returnValue?: { readonly http?: RpcHttpResponse } | null;
}

export interface CoreInvocationContext {
  readonly invocationId: string;
  readonly metadata: FunctionMetadata;
  readonly request: {
    readonly inputData: readonly { readonly name: string; readonly data: RpcInput }[];
    readonly triggerMetadata: Readonly<Record<string, never>>;
    readonly traceContext: { readonly traceParent: string; readonly traceState: string };
  };
  log(level: LogLevel, category: "user" | "system", message: string): void;
  state?: "preInvocationHooks" | "invocation" | undefined;
}

export interface InvocationModel {
  getArguments(): Promise<{ context: object; inputs: unknown[] }>;
  invokeFunction(context: object, inputs: unknown[], callback: FunctionCallback): Promise<unknown>;
  getResponse(context: object, result: unknown): Promise<InvocationResponse>;
}

export interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: CoreInvocationContext): InvocationModel | Promise<InvocationModel>;
  getCapabilities(worker: object): Promise<Readonly<Record<string, unknown>>>;
}
