import { createBodyV2, createV2 } from "../../../../lib/connector/api/v2/body-to-draft.ts";
import { createOnce } from "../../../../lib/connector/create/create-once.ts";
import { Fault } from "../../../../lib/fault.ts";
import { authenticator, mixedBody, onSiteBody } from "../../../support/connector/on-site.ts";
import { newUser, orderBody, type TestConnector } from "../../../support/connector/test-connector.ts";
import type { Draw } from "../draw.ts";

/** One order of a caller, who repeats it until there is a definite response. */
export interface Order {
  readonly idempotencyKey: string;
  readonly body: ReturnType<typeof newBody>;
  readonly email: string;
  /** Of the response, also of one that says that the outcome is unknown. */
  requestId?: string;
  isRefused: boolean;
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

/** Every credential is for another user, at an IdP of its own. */
function newBody(draw: Draw) {
  const atSomeIdp = <K extends { readonly credentials: readonly unknown[] }>(key: K) => ({
    ...key,
    credentials: key.credentials.map(() => ({ idp_id: draw.pick(idps), user_id: newUser() })),
  });
  const body: Partial<ReturnType<typeof mixedBody>> & Pick<ReturnType<typeof orderBody>, "recipient"> =
    draw.pick(bodies)();
  return {
    ...body,
    ...(body.shipment && {
      shipment: { ...body.shipment, shipment_items: body.shipment.shipment_items.map(atSomeIdp) },
    }),
    ...(body.authenticators && { authenticators: body.authenticators.map(atSomeIdp) }),
  };
}

export function newOrder(draw: Draw): Order {
  const body = newBody(draw);
  const { email } = body.recipient;
  return { idempotencyKey: `order for ${email}`, body, email, isRefused: false, resends: 0, isErased: false };
}

/** Sends an order, as a caller who knows its outcome only from the response. */
export async function submit(order: Order, { context }: TestConnector): Promise<unknown> {
  const caller = { kind: "api_token", application: "itsm" } as const;
  const learn = (requestId: string) => {
    order.requestId ??= requestId;
    if (order.requestId !== requestId) throw new Error(`${order.idempotencyKey} has two requests`);
  };
  try {
    const created = await createOnce(
      createBodyV2.parse(order.body),
      createV2,
      { caller, idempotencyKey: order.idempotencyKey },
      context,
    );
    learn(created.requestId);
    return created;
  } catch (error) {
    const { kind, data } = error instanceof Fault ? error : { kind: undefined, data: undefined };
    if (kind === "internal" && typeof data?.credential_request_id === "string") learn(data.credential_request_id);
    if (kind === "idp_refused" || kind === "delivery_refused") order.isRefused = true;
    throw error;
  }
}

/** Whether the caller has a definite response. */
export const isAnswered = ({ requestId, isRefused }: Order): boolean => requestId !== undefined || isRefused;
