import { createBodyV2 } from "../../../../lib/connector/api/body-to-draft.ts";
import { createRequest } from "../../../../lib/connector/create/create-request.ts";
import { Fault } from "../../../../lib/platform/fault.ts";
import { authenticator, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import { orderBody, type TestConnector } from "../../../support/connector/test-connector.ts";
import type { Random } from "../random.ts";

/** One order of a caller, who repeats it until a response has its id. It is valid, so no response refuses it for good. */
export interface Order {
  readonly idempotencyKey: string;
  readonly body: Body;
  readonly email: string;
  /** Users of its credentials, who are in no other order. */
  readonly users: readonly string[];
  /** From a response, including an error response that leaves the outcome open. */
  requestId?: string;
  /** Other ids that repeats returned. Must stay empty. */
  readonly otherRequestIds: string[];
  /** Number of calls for another mail of the PINs. */
  resends: number;
  isErased: boolean;
}

const idps = ["entra", "pingone", "aic"];

const bodies = [
  () => orderBody([1]),
  () => orderBody([1, 1]),
  () => orderBody([2]),
  () => onSiteBody([authenticator(1)]),
  () => onSiteBody([authenticator(2)]),
  () => mixedBody([1], [authenticator(1)]),
];

type Body = Partial<ReturnType<typeof mixedBody>> & Pick<ReturnType<typeof orderBody>, "recipient">;

/** An order of a create body. @param idpOf names the IdP of the next credential */
export function orderOf(body: Body, idpOf: () => string): Order {
  const atIdp = <K extends { readonly credentials: readonly { readonly user_id: string }[] }>(key: K) => ({
    ...key,
    credentials: key.credentials.map(credential => ({ ...credential, idp_id: idpOf() })),
  });
  const shipped = body.shipment?.shipment_items.map(atIdp);
  const authenticators = body.authenticators?.map(atIdp);
  const { email } = body.recipient;
  return {
    idempotencyKey: `order for ${email}`,
    body: {
      ...body,
      ...(body.shipment && shipped && { shipment: { ...body.shipment, shipment_items: shipped } }),
      ...(authenticators && { authenticators }),
    },
    email,
    users: [...(shipped ?? []), ...(authenticators ?? [])].flatMap(({ credentials }) =>
      credentials.map(({ user_id }) => user_id),
    ),
    otherRequestIds: [],
    resends: 0,
    isErased: false,
  };
}

export const newOrder = (random: Random): Order => orderOf(random.pick(bodies)(), () => random.pick(idps));

/** Sends an order, as a caller who knows its outcome only from the response. */
export async function submit(order: Order, { context }: TestConnector): Promise<unknown> {
  const caller = { kind: "api_token", application: "itsm" } as const;
  const recordRequestId = (requestId: string) => {
    order.requestId ??= requestId;
    if (order.requestId !== requestId) order.otherRequestIds.push(requestId);
  };
  try {
    const created = await createRequest(
      createBodyV2.parse(order.body),
      { caller, idempotencyKey: order.idempotencyKey },
      context,
    );
    recordRequestId(created.requestId);
    return created;
  } catch (error) {
    const { kind, data } = error instanceof Fault ? error : { kind: undefined, data: undefined };
    if (kind === "internal" && typeof data?.credential_request_id === "string")
      recordRequestId(data.credential_request_id);
    throw error;
  }
}

/** Whether the caller has a definite response. */
export const isAnswered = ({ requestId }: Order): boolean => requestId !== undefined;
