import { createRequire } from "node:module";
import { InvocationContext } from "@azure/functions";
import type { Call, Cookie, Reply } from "../http/call.ts";

/**
 * The part of `@azure/functions-core` that is used here. Only Azure's worker has that module, and no package has its
 * types.
 */
interface FunctionsCore {
  getProgrammingModel?(): ProgrammingModel | undefined;
}

interface ProgrammingModel {
  getInvocationModel(invocation: Invocation): unknown;
}

type Nullable<T> = T | null | undefined;

/** An invocation as the worker gives it to the library. */
interface Invocation {
  readonly invocationId: string;
  readonly metadata: {
    readonly name?: Nullable<string>;
    readonly bindings?: Nullable<Readonly<Record<string, object>>>;
  };
  readonly request: {
    /** The input of the trigger, which has the name of its binding. */
    readonly inputData?: Nullable<
      readonly {
        readonly name?: Nullable<string>;
        readonly data?: Nullable<{ readonly http?: Nullable<RpcRequest> }>;
      }[]
    >;
    readonly traceContext?: Nullable<{
      readonly traceParent?: Nullable<string>;
      readonly traceState?: Nullable<string>;
    }>;
  };
}

type RpcValues = Nullable<Readonly<Record<string, Nullable<{ readonly value?: Nullable<string> }>>>>;

interface RpcRequest {
  readonly method?: Nullable<string>;
  readonly url?: Nullable<string>;
  readonly nullableHeaders?: RpcValues;
  readonly nullableParams?: RpcValues;
  readonly body?: Nullable<{ readonly bytes?: Nullable<Uint8Array>; readonly string?: Nullable<string> }>;
}

const functionNames = new Set<string>();
const changedModels = new WeakSet<ProgrammingModel>();

/**
 * Lets the worker call the handler of an HTTP function with a `Call` and send its `Reply`, without the web `Request`
 * and `Response` that `@azure/functions` (4.16.5) makes of both. These take several times as much of the event loop as
 * the 503 of an overloaded app. The library's request also throws on a header value with a character above U+00FF: one
 * such cookie would make every call a 500 without a body. Call it after the registration of the function: the first one
 * creates the programming model.
 * Throws in a worker that does not have the expected interface, where each call would fail.
 */
export function invokeWithCall(functionName: string): void {
  functionNames.add(functionName);
  const core = functionsCore();
  if (core === undefined) return;
  const model = core.getProgrammingModel?.();
  if (model === undefined) throw new Error("The Functions worker has no programming model after a registration.");
  if (changedModels.has(model)) return;
  changedModels.add(model);
  const original = model.getInvocationModel.bind(model);
  // The worker calls these in this order. The invocation hooks of the app, as those of telemetry, see the context, the
  // inputs and the result.
  model.getInvocationModel = invocation => {
    const request = invocation.request.inputData?.[0]?.data?.http;
    if (!request || !functionNames.has(invocation.metadata.name ?? "")) return original(invocation);
    const { invocationId } = invocation;
    return {
      getArguments: async () => ({ context: contextOf(invocation), inputs: [toCall(request, invocationId)] }),
      invokeFunction: async (context: unknown, inputs: readonly unknown[], handler: (...args: unknown[]) => unknown) =>
        handler(...inputs, context),
      getResponse: async (_context: unknown, reply: Reply) => ({
        invocationId,
        outputData: [],
        returnValue: { http: toRpcResponse(reply) },
      }),
    };
  };
}

/**
 * Returns what hooks read. Without the library's log, because every log line goes to the console, and without retries,
 * which no function has.
 */
function contextOf({ invocationId, metadata, request: { inputData, traceContext } }: Invocation): InvocationContext {
  const name = inputData?.[0]?.name ?? "";
  return new InvocationContext({
    invocationId,
    functionName: metadata.name ?? "",
    traceContext: {
      traceParent: traceContext?.traceParent ?? undefined,
      traceState: traceContext?.traceState ?? undefined,
    },
    options: { trigger: { ...metadata.bindings?.[name], type: "httpTrigger", name } },
  });
}

function toCall({ method, url, nullableHeaders, nullableParams, body }: RpcRequest, invocationId: string): Call {
  const headers = new Map<string, string>();
  const params: Record<string, string> = {};
  for (const [name, header] of Object.entries(nullableHeaders ?? {}))
    headers.set(name.toLowerCase(), header?.value ?? "");
  for (const [name, param] of Object.entries(nullableParams ?? {})) params[name] = param?.value ?? "";
  return {
    // The host passes the letter case of the caller on.
    method: (method ?? "").toUpperCase(),
    url: new URL(url ?? ""),
    params,
    headers: { get: name => headers.get(name.toLowerCase()) ?? null },
    invocationId,
    body: body?.bytes ?? new TextEncoder().encode(body?.string ?? ""),
  };
}

/** Throws TypeError for a header that cannot be sent: a line break in a value would begin another header. */
function toRpcResponse({ status, headers = {}, body, csv, cookies = [] }: Reply) {
  const text = csv ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = csv === undefined ? "application/json" : "text/csv";
  const sent: Readonly<Record<string, string>> =
    text === undefined ? headers : { "content-type": `${type}; charset=utf-8`, ...headers };
  for (const [name, value] of Object.entries(sent)) {
    if (!/^[a-z0-9-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new TypeError(`The header ${JSON.stringify(name)} cannot be sent.`);
  }
  return {
    statusCode: String(status),
    headers: sent,
    cookies: cookies.map(toRpcCookie),
    enableContentNegotiation: false,
    body: { bytes: new TextEncoder().encode(text ?? "") },
  };
}

const rpcSameSite = { Lax: "lax", Strict: "strict", None: "explicitNone" } as const;

const toRpcCookie = ({ name, value, path, secure, httpOnly, sameSite, maxAge }: Cookie) => ({
  name,
  value,
  path: { value: path },
  secure: { value: secure },
  httpOnly: { value: httpOnly },
  sameSite: rpcSameSite[sameSite],
  ...(maxAge === undefined ? {} : { maxAge: { value: maxAge } }),
});

/** Returns undefined outside of a host, where the library registers nothing either. */
function functionsCore(): FunctionsCore | undefined {
  try {
    return createRequire(import.meta.url)("@azure/functions-core");
  } catch {
    return undefined;
  }
}
