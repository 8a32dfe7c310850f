import type * as z from "zod";
import type { Caller } from "../caller.ts";
import { Fault, type FaultKind, type Problem } from "../fault.ts";
import type { Fields } from "../log.ts";
import type { Call, Reply } from "./call.ts";
import { ignoredFields } from "./input/ignored-fields.ts";
import { problems } from "./input/problems.ts";
import type { Route } from "./route.ts";

/**
 * Who may call, enforced before any input is read. `caller` needs a bearer token with the surface's role (decision G3), `session` a
 * session of the Client API; `untouched_session` too, but its access time stays as it is. `open` is for all. There is no default.
 */
export type Access = "open" | "caller" | "session" | "untouched_session";

export interface Answer {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
}

/** The call that an endpoint answers. */
export interface CallContext {
  readonly call: Call;
  readonly requestId: string;
}

/** Who was found to call, by the endpoint's access. */
export interface Identity<S = unknown> {
  readonly caller?: Caller;
  readonly session?: S;
  /** What names the caller in every log event of the call. */
  readonly logFields?: Fields;
}

/** What an endpoint is given besides its parsed input: the call, and the caller or the session that its access asks for. */
export type Context<A extends Access, S> = CallContext &
  (A extends "caller" ? { readonly caller: Caller } : unknown) &
  (A extends "session" | "untouched_session" ? { readonly session: S } : unknown);

/** Input before parsing. `body` is what the surface read: JSON, or the fields of query and form, which are then `query` too. */
export interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

type Parsed<T extends z.ZodType | undefined> = T extends z.ZodType ? z.output<T> : undefined;

interface Definition<
  P extends z.ZodType | undefined,
  Q extends z.ZodType | undefined,
  B extends z.ZodType | undefined,
  H extends z.ZodObject | undefined,
  D,
  A extends Access,
  S,
> {
  /** Equal routes of one operation; each becomes reachable. */
  readonly routes: readonly Route[];
  readonly access: A;
  readonly summary: string;
  readonly params?: P;
  readonly query?: Q;
  /** Headers that the endpoint reads, by the names that refusals show. */
  readonly headers?: H;
  readonly body?: B;
  /**
   * Checks that need more than the schemas. Called only where the schemas found problems, so that all are reported together; `handle`
   * makes the same checks of a body that fits.
   */
  readonly alsoCheck?: (raw: RawInput, deps: D) => readonly Problem[];
  /** Success answers by status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Refusals of this endpoint alone, for the OpenAPI document. Those that follow from its access and its input are known. */
  readonly refusals?: readonly FaultKind[];
  readonly handle: (
    input: {
      readonly params: Parsed<P>;
      readonly query: Parsed<Q>;
      readonly headers: Parsed<H>;
      readonly body: Parsed<B>;
    },
    deps: D,
    context: Context<A, S>,
  ) => Promise<Reply> | Reply;
}

/** An endpoint whose input types are closed over, so that endpoints of one surface can stand in one list. `S` is the surface's session. */
export interface Endpoint<D, S = unknown> {
  readonly routes: readonly Route[];
  readonly access: Access;
  readonly summary: string;
  readonly params: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
  readonly headers: z.ZodObject | undefined;
  readonly body: z.ZodType | undefined;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly refusals: readonly FaultKind[];
  /** Parses all input, refuses with every problem at once, then handles. */
  run(
    input: RawInput,
    deps: D,
    context: CallContext & Identity<S>,
  ): Promise<{ reply: Reply; ignored: readonly string[] }>;
}

/** Makes an endpoint from its definition (the types of its input schemas flow into `handle`). */
export function endpoint<
  D,
  P extends z.ZodType | undefined = undefined,
  Q extends z.ZodType | undefined = undefined,
  B extends z.ZodType | undefined = undefined,
  H extends z.ZodObject | undefined = undefined,
  A extends Access = Access,
  S = unknown,
>(definition: Definition<P, Q, B, H, D, A, S>): Endpoint<D, S> {
  const { params, query, headers, body } = definition as { params: P; query: Q; headers: H; body: B };
  return {
    ...definition,
    refusals: definition.refusals ?? [],
    params,
    query,
    headers,
    body,
    async run(raw, deps, context) {
      const found: Problem[] = [];
      const parse = <T extends z.ZodType | undefined>(schema: T, value: unknown): Parsed<T> => {
        const result = schema?.safeParse(value);
        if (result?.success === false) found.push(...problems(result.error));
        return result?.data as Parsed<T>;
      };
      const input = {
        params: parse(params, raw.params),
        query: parse(query, raw.query),
        headers: parse(headers, headersOf(headers, context.call)),
        body: parse(body, raw.body),
      };
      if (found.length > 0) {
        const paths = new Set(found.map(({ path }) => path));
        const more = definition.alsoCheck?.(raw, deps) ?? [];
        found.push(...more.filter(({ path }) => !paths.has(path)));
        throw new Fault("invalid", "The request is not valid.", { problems: found });
      }
      const ignored = body === undefined ? [] : ignoredFields(body, raw.body);
      return { reply: await definition.handle(input, deps, context as Context<A, S>), ignored };
    },
  };
}

/** The headers that a schema names. */
const headersOf = (schema: z.ZodObject | undefined, { headers }: Call): Record<string, string | undefined> =>
  Object.fromEntries(Object.keys(schema?.shape ?? {}).map(name => [name, headers.get(name) ?? undefined]));
