import type { Client } from "openapi-fetch";
import * as z from "zod";
import type { paths } from "../../docs/openapi/connector.ts";
import { refusalOf } from "../api.ts";
import { type Answered, type Ask, ImportStopped } from "../import/calls.ts";
import type { Sent } from "../import/run-import.ts";
import { plain } from "../import/screen.ts";
import { problemByColumn } from "./order-columns.ts";
import type { Order } from "./order-lines.ts";

/** The connector, and how it is called. */
export interface Connector {
  readonly api: Client<paths>;
  readonly ask: Ask;
}

const problems = z.array(z.object({ path: z.string(), reason: z.string() }));
const planned = z.object({ data: z.object({ warnings: problems }) });
const created = z.object({ data: z.object({ credential_request_id: z.string(), shipment_id: z.string().optional() }) });
const refused = z.object({
  error_message: z.string(),
  error_data: z.object({ fields: problems.optional(), credential_request_id: z.string().optional() }).optional(),
});

/**
 * Checks an order by the connector's dry run. Throws `ImportStopped` for a failure that every other order would have too.
 * @param warn gets what does not prevent the order
 */
export async function checkOrder(
  { body }: Order,
  { api, ask }: Connector,
  warn: (text: string) => void,
): Promise<Sent<Order>> {
  const params = { query: { dry_run: true } };
  const answer = await ask(signal => api.POST("/v2/credential-requests", { params, body, signal }));
  if (answer === undefined) return { outcome: "open", reason: "not checked" };
  const plan = answer.status === 200 ? planned.safeParse(answer.body).data : undefined;
  if (plan === undefined) return refusalOfOrder(answer);
  for (const text of sentences(plan.data.warnings)) warn(text);
  return { outcome: "open", reason: "not ordered, or without a response" };
}

/** Places an order (C6). Throws `ImportStopped` for a failure that every other order would have too. */
export async function sendOrder(order: Order, { api, ask }: Connector): Promise<Sent<Order>> {
  const { body, idempotencyKey } = order;
  const params = { header: { "Idempotency-Key": idempotencyKey } };
  const answer = await ask(
    signal => api.POST("/v2/credential-requests", { params, body, signal }),
    ({ body }) => requestOf(body) !== undefined,
  );
  if (answer === undefined) return { outcome: "open", reason: "without a response: it may have been ordered" };
  const ids = answer.status === 201 ? created.safeParse(answer.body).data?.data : undefined;
  if (ids === undefined) return withRequest(order, refusalOfOrder(answer), answer.body);
  const isReplayed = answer.headers.get("idempotent-replayed") === "true";
  const item = { ...order, requestId: ids.credential_request_id, shipmentId: ids.shipment_id ?? "" };
  return { outcome: isReplayed ? "present" : "ordered", reason: "", item };
}

/** Adds the request that exists although the call failed. */
function withRequest(order: Order, sent: Sent<Order>, body: unknown): Sent<Order> {
  const requestId = requestOf(body);
  return requestId === undefined ? sent : { ...sent, item: { ...order, requestId } };
}

const requestOf = (body: unknown): string | undefined =>
  refused.safeParse(body).data?.error_data?.credential_request_id;

function refusalOfOrder(answer: Answered): Sent<Order> {
  const { status, headers, body } = answer;
  const isUndecided = status === 409 && headers.has("retry-after");
  const isLookedUp = isUndecided && requestOf(body) !== undefined;
  if (isUndecided && !isLookedUp) return { outcome: "open", reason: "an earlier call still runs" };
  const known = refused.safeParse(body).data;
  if (known === undefined || ![400, 409, 413, 500].includes(status)) throw stoppedBy(status);
  const fields = sentences(known.error_data?.fields ?? []);
  const reason = fields.length > 0 ? fields.join("; ") : plain(refusalOf(status, body));
  return { outcome: status === 500 || isLookedUp ? "failed" : "refused", reason };
}

/** Several keys of a line have the same problem. */
const sentences = (found: z.output<typeof problems>): readonly string[] => [
  ...new Set(found.map(each => plain(problemByColumn(each)))),
];

function stoppedBy(status: number): ImportStopped {
  const reasons: Readonly<Record<number, string>> = {
    401: "the token is refused (401): it is wrong, expired or revoked",
    403: "the token has no access (403): it must have the role Connector.Call, or be an API token of the connector with the role call",
    404: "there is no connector at this address (404)",
  };
  const other = status < 300 ? "the service at this address is not a connector" : `the address responds with ${status}`;
  return new ImportStopped(reasons[status] ?? other);
}
