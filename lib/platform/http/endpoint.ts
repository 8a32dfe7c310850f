import type * as z from "zod";
import type { Caller, CallerRole } from "../caller.ts";
import { type FaultKind, invalidRequest, type Problem } from "../fault.ts";
import type { Call, Reply } from "./call.ts";
import { problemsOf, safeParse, shapeOf } from "./problems.ts";

/** `METHOD /path/{parameter}`, relative to the path prefix of the API (G2). */
export type Route = `${"GET" | "POST" | "DELETE"} /${string}`;

/**
 * Who may call an endpoint. Enforced before any input is read. `caller` requires a bearer token with the API's role
 * (G3), `session` a session of the Client API, `session_without_refresh` too, but does not update its access time. With
 * `optional_session` the endpoint decides what a call without a session may do. `open` requires nothing.
 */
export type Access = "open" | "caller" | "session" | "session_without_refresh" | "optional_session";

/** The headers that endpoints send with a success. The pipeline adds all others. */
export const responseHeaders = ["idempotent-replayed", "link", "location", "set-cookie"] as const;

interface SuccessResponse {
  readonly description: string;
  /** Headers that the endpoint can send. */
  readonly headers?: readonly (typeof responseHeaders)[number][];
  /** If absent, the response has no body. */
  readonly schema?: z.ZodType;
  /** Whether the body can be CSV instead of JSON, as the caller asks. */
  readonly csv?: boolean;
}

/** The call that an endpoint handles. */
export interface CallContext {
  readonly call: Call;
  readonly requestId: string;
  /** The caller's address, if a trusted proxy reports it (G7). */
  readonly address?: string | undefined;
}

/** The authenticated caller or session, depending on the endpoint's access. */
export interface Identity<S = unknown> {
  readonly caller?: Caller;
  readonly session?: S;
}

/** What a handler receives besides its input: the call, and the caller or session that its access requires. */
type Context<A extends Access, S> = CallContext &
  (A extends "caller" ? { readonly caller: Caller } : unknown) &
  (A extends "session" | "session_without_refresh" ? { readonly session: S } : unknown) &
  (A extends "optional_session" ? { readonly session?: S } : unknown);

/**
 * Input before validation. `body` is a JSON value or, in the Client API style, the fields of query and form, which
 * `query` has too.
 */
interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** What is unknown in the input and refused. */
  readonly problems?: readonly Problem[];
}

type Parsed<T extends Schema> = T extends z.ZodType ? z.output<T> : undefined;

interface Definition<
  P extends Schema,
  Q extends Schema,
  B extends Schema,
  H extends z.ZodObject | undefined,
  D,
  A extends Access,
  S,
  R extends CallerRole | undefined,
> {
  /** The route of the operation, then its aliases, which the OpenAPI document marks as deprecated. */
  readonly routes: readonly Route[];
  readonly access: A;
  /**
   * The role that a caller needs. Every endpoint of Core states one. Without one, the connector requires `call`.
   */
  readonly role?: R;
  /** The noun under which the OpenAPI document groups the operation. */
  readonly tag?: string;
  readonly summary: string;
  /** What a caller has to know, in Markdown, for the OpenAPI document. */
  readonly description?: string;
  readonly params?: P | undefined;
  readonly query?: Q | undefined;
  /** Headers that the endpoint reads, by the names that error messages use. */
  readonly headers?: H | undefined;
  readonly body?: B | undefined;
  /** Whether an unknown field of the body is ignored and reported, as callers of the creates expect (G4). */
  readonly ignoresUnknown?: boolean;
  /** Success responses by status. */
  readonly answers: Readonly<Record<number, SuccessResponse>>;
  /**
   * Faults that only this endpoint throws, for the OpenAPI document. Those of access and input are added automatically.
   * Outside Azure the pipeline responds 500 to a Fault that is not listed, so that the omission is noticed.
   */
  readonly refusals?: readonly FaultKind[];
  /**
   * Returns the problems that no schema of a field finds: by other fields, settings or the time. Always gets only the
   * sent fields of query and body that are valid by themselves: an absent field has no default. `isWrong` returns
   * whether a field was sent and is not valid.
   */
  readonly check?: (
    fields: Partial<Fields<Q> & Fields<B>>,
    deps: D,
    sent: { readonly call: Call; readonly isWrong: (name: string) => boolean },
  ) => Promise<readonly Problem[]> | readonly Problem[];
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

type Fields<T extends Schema> = T extends z.ZodType<object> ? z.output<T> : unknown;
type Schema = z.ZodType | undefined;
type Added = "role" | "refusals";

/**
 * An endpoint without its input types, so that all endpoints of an API fit into one record. `S` is the session type of
 * the API, `R` the minimum role that the endpoint states.
 */
export interface Endpoint<D, S = unknown, R extends CallerRole | undefined = CallerRole | undefined>
  extends Omit<
    Definition<Schema, Schema, Schema, z.ZodObject | undefined, D, Access, S, R>,
    Added | "check" | "handle"
  > {
  readonly role: R;
  readonly refusals: readonly FaultKind[];
  /** Validates all input, then calls the handler. Throws Fault `invalid` with all problems. */
  run(input: RawInput, deps: D, context: CallContext & Identity<S>): Promise<Reply>;
}

/** An endpoint of Core. It states the minimum role, so that none is open to a role, or closed to it, by omission. */
export type RoleEndpoint<D> = Endpoint<D, unknown, CallerRole>;

/** Creates an endpoint. The types of its schemas determine the input type of `handle`. */
export function endpoint<
  D,
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
  H extends z.ZodObject | undefined = undefined,
  A extends Access = Access,
  S = unknown,
  R extends CallerRole | undefined = undefined,
>(definition: Definition<P, Q, B, H, D, A, S, R>): Endpoint<D, S, R> {
  const { params, query, headers, body } = definition as { params: P; query: Q; headers: H; body: B };
  return {
    ...definition,
    role: definition.role as R,
    refusals: definition.refusals ?? [],
    async run(raw, deps, context) {
      const found: Problem[] = [];
      const parse = <T extends Schema>(schema: T, value: unknown): Parsed<T> => {
        const result = schema && safeParse(schema, value);
        if (result?.success === false) found.push(...problemsOf(result.error));
        return result?.data as Parsed<T>;
      };
      const names = Object.keys(headers?.shape ?? {});
      const given = Object.fromEntries(names.map(name => [name, context.call.headers.get(name) ?? undefined]));
      const input = {
        params: parse(params, raw.params),
        query: parse(query, raw.query),
        headers: parse(headers, given),
        body: parse(body, raw.body),
      };
      if (definition.check !== undefined) {
        const fields = { ...validFields(query, raw.query), ...validFields(body, raw.body) };
        const isWrong = (name: string) => found.some(({ path }) => path === name);
        const sent = { call: context.call, isWrong };
        const further = await definition.check(fields as Partial<Fields<Q> & Fields<B>>, deps, sent);
        found.push(...further.filter(({ path }) => !isWrong(path)));
      }
      found.push(...(raw.problems ?? []));
      if (found.length > 0) throw invalidRequest(found);
      return definition.handle(input, deps, context as Context<A, S>);
    },
  };
}

/** Returns the fields of an input that are valid by themselves, parsed. */
function validFields(schema: Schema, input: unknown): object {
  const shape = shapeOf(schema);
  const fields = Object.entries(Object(input)).flatMap(([name, value]) => {
    const result = Object.hasOwn(shape, name) ? safeParse(shape[name] as z.ZodType, value) : undefined;
    return result?.success ? [[name, result.data]] : [];
  });
  return Object.fromEntries(fields);
}
