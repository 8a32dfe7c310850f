import { beforeAll, expect, test } from "vitest";
import type { RunningAzureHost } from "../../local/azure-host/start-azure-host.ts";
import { newOrder, type Order } from "../crash/orders.ts";
import { describeOnAzureHost } from "../support/host/azure-host.ts";
import type { Limits } from "../support/host/limits.ts";
import { until } from "../support/until.ts";
import { type Product, productOfFile } from "./product.ts";

const settings = { SERVICE_APIS: "connector", POLL_AFTER_SECONDS: "0" };

/** Leases and intents of a killed host end while the test waits: Azure's host follows no clock of a test. */
const limits: Limits = {
  deliveryCallMs: 15_000,
  idpCallMs: 15_000,
  enrollmentCallMs: 15_000,
  mailCallMs: 15_000,
  leaseMs: 16_000,
  createMs: 15_000,
  receivedMaxAgeMs: 16_000,
  orderIntentMaxAgeMs: 1000,
  reconcileAfterMs: 16_000,
  shipmentPollMaxMs: 1000,
  retry: { minMs: 200, maxMs: 1000 },
  readBackAfterMs: 300,
  staleRowMs: 500,
};

describeOnAzureHost("two of Azure's Functions hosts on one storage", () => {
  let product: Product;
  let survivor: RunningAzureHost;
  let victim: RunningAzureHost;

  beforeAll(async () => {
    product = await productOfFile();
    [survivor, victim] = await Promise.all([product.startHost(settings, limits), product.startHost(settings, limits)]);
  });

  /**
   * Runs the jobs of the survivor until the PIN of the order is mailed. Expects one mail.
   * @param shipments expected number of all shipments
   */
  async function untilFulfilled(order: Order, shipments: number): Promise<void> {
    const { peers, call } = product;
    const mails = () => peers.mail.mails().filter(({ to }) => to.includes(order.email));
    let listed = "";
    const isMailed = async () => {
      await call(survivor, "GET", "/v2/operations/process-shipments");
      await call(survivor, "POST", "/v2/operations/process-credential-requests");
      const { body } = await call(
        survivor,
        "GET",
        `/v2/credential-requests?user_id=${encodeURIComponent(order.users[0] ?? "")}`,
      );
      listed = JSON.stringify(body);
      return mails().length > 0;
    };
    await until(isMailed, () => `not mailed: ${listed}`);
    expect(mails()).toHaveLength(1);
    expect(await peers.delivery.shipments()).toHaveLength(shipments);
  }

  test("fulfil an order whose host is killed before the delivery service has answered, with one shipment", async () => {
    const { peers, call } = product;
    const order = newOrder([1]);
    peers.delivery.fail({ kind: "hang", method: "POST", phase: "after" });
    const answer = call(victim, "POST", "/v2/credential-requests", order.body).catch(() => "lost");
    await peers.delivery.untilHanging();
    await victim.kill();
    peers.delivery.clearFaults();
    expect(await answer).toBe("lost");
    await untilFulfilled(order, 1);
  });

  test("finish the job of a host that is killed while it activates a credential, with one PIN email", async () => {
    const { peers, call, startHost } = product;
    const order = newOrder([1]);
    expect((await call(survivor, "POST", "/v2/credential-requests", order.body)).status).toBe(201);
    const another = await startHost(settings, limits);
    peers.entra.fail({ kind: "hang", method: "POST", phase: "after", path: "fido2Methods$" });
    const job = (async () => {
      for (;;) {
        await call(another, "GET", "/v2/operations/process-shipments");
        await call(another, "POST", "/v2/operations/process-credential-requests");
      }
    })().catch(() => "lost");
    await peers.entra.untilHanging();
    await another.kill();
    peers.entra.clearFaults();
    expect(await job).toBe("lost");
    await untilFulfilled(order, 2);
  });
});
