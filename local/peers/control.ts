import type * as z from "zod";
import type { HttpAnswer, HttpCall } from "../../commands/http-exchange.ts";
import { readBody } from "./read-body.ts";
import { PeerRefusal, refusing } from "./refusal.ts";

/** Handles a `/_control/` call. Returns the body of the response, or undefined for 204. @param id the open segment of the path */
type ControlRoute = (call: HttpCall, id: string) => unknown;

/** Routes by method and path below `/_control/`, in which `:id` is one segment of any text. */
export type ControlRoutes = Readonly<Record<string, ControlRoute>>;

/** Responds to a control call; undefined if no route matches. */
export async function controlAnswer(routes: ControlRoutes, call: HttpCall): Promise<HttpAnswer | undefined> {
  const asked = `${call.method} ${call.path.slice("/_control/".length)}`;
  for (const [route, act] of Object.entries(routes)) {
    const found = new RegExp(`^${route.replace(":id", "([^/]+)")}$`).exec(asked);
    if (found === null) continue;
    const body = await act(call, found[1] ?? "");
    return { status: body === undefined ? 204 : 200, body };
  }
  return undefined;
}

/** Returns a route that passes the parsed body to `act`. It responds 400 with every wrong field if the body is invalid. */
export const withBody =
  <S extends z.ZodType>(schema: S, act: (input: z.output<S>, id: string) => unknown): ControlRoute =>
  ({ body }, id) =>
    act(readBody(schema, body, invalid), id);

/** Responds as {@link withBody} does, with the answer of `act`. */
export const withControlBody = <S extends z.ZodType>(
  schema: S,
  body: Buffer,
  act: (input: z.output<S>) => HttpAnswer | Promise<HttpAnswer>,
): Promise<HttpAnswer> => refusing(() => act(readBody(schema, body, invalid)));

const invalid = (error: string, problems: readonly object[]) =>
  new PeerRefusal(error, { status: 400, body: { error, problems } });
