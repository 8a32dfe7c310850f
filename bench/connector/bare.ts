import { app, type HttpRequest, type HttpResponseInit } from "@azure/functions";
import pLimit from "p-limit";
import { openMailer } from "../../lib/platform/mail/mailer.ts";
import { instant } from "../../lib/platform/time.ts";
import { type BareKey, bareCrypto } from "./bare-crypto.ts";
import { type BarePeers, barePeers } from "./bare-peers.ts";
import { bareStorage } from "./bare-storage.ts";

/** A shipment as it was ordered: what opens its responses, in memory instead of in storage. */
interface Ordered {
  readonly shipmentId: string;
  readonly keys: readonly BareKey[];
  /** Of its rows, where it has some. */
  readonly id?: string | undefined;
  /** As they came. */
  responses?: Awaited<ReturnType<BarePeers["shipment"]>>;
}

/** As many requests as a job works on at once. */
const concurrency = 8;

/**
 * What the endpoints are measured against: functions of the same host that do the cryptography and call the peers as the work
 * cannot avoid, by hand, and nothing else: no checks, no retries. Under `/stored` they make the same calls of storage as well, for a
 * request with one key.
 */
export async function registerBare(environment: NodeJS.ProcessEnv): Promise<void> {
  const peers = await barePeers(environment);
  const crypto = await bareCrypto(peers);
  const mailer = openMailer({
    connectionString: environment.EMAIL_CONNECTION_STRING ?? "",
    sender: environment.EMAIL_SENDER_ADDRESS ?? "",
    timeoutMs: 30_000,
    now: () => instant(Date.now()),
  });
  const ordered: Ordered[] = [];
  const polled: Ordered[] = [];
  let users = 0;
  const storage = bareStorage(environment.CLOUD_STORAGE_CONNECTION_STRING ?? "");
  const http = (name: string, handler: (request: HttpRequest, isStored: boolean) => Promise<HttpResponseInit>) => {
    for (const isStored of [false, true]) {
      const route = `bare/${isStored ? "stored/" : ""}${name}`;
      app.http(route.replaceAll("/", "-"), {
        route,
        methods: ["POST"],
        authLevel: "anonymous",
        handler: request => handler(request, isStored),
      });
    }
  };

  http("create", async (request, isStored) => {
    const { items, credentials } = (await request.json()) as { items: number; credentials: number };
    const rows = isStored ? storage.create() : undefined;
    await rows?.received();
    const limit = pLimit(concurrency);
    const ask = () => limit(async () => crypto.credentialOrder(await peers.options(`bare${users++}@example.com`)));
    const keys = await Promise.all(
      Array.from({ length: items }, async () => ({
        credentials: await Promise.all(Array.from({ length: credentials }, ask)),
        pin: await crypto.pinOrder(),
      })),
    );
    await rows?.marked();
    const shipmentId = await peers.order(keys);
    ordered.push({ shipmentId, keys, id: await rows?.started() });
    return { status: 201, jsonBody: { shipmentId } };
  });

  http("process-shipments", async (_, isStored) => {
    if (isStored) await storage.dueRows();
    await each(ordered.splice(0), async shipment => {
      const rows = shipment.id === undefined ? undefined : storage.poll(shipment.id);
      await rows?.claimed();
      shipment.responses = await peers.shipment(shipment.shipmentId);
      for (const [at, key] of shipment.keys.entries())
        for (const [index, credential] of key.credentials.entries())
          await crypto.open(shipment.responses[at]?.credentials[index] ?? "", credential);
      await rows?.answered();
      polled.push(shipment);
    });
    return { status: 200 };
  });

  http("process-credential-requests", async (_, isStored) => {
    if (isStored) await storage.dueRows();
    await each(polled.splice(0), async ({ shipmentId, keys, responses, id }) => {
      const rows = id === undefined ? undefined : storage.key(id);
      for (const [at, key] of keys.entries()) {
        await rows?.tried();
        for (const [index, credential] of key.credentials.entries()) {
          const response = await crypto.open(responses?.[at]?.credentials[index] ?? "", credential);
          await peers.register(credential.userId, response);
        }
        await rows?.activated();
        const again = await peers.shipment(shipmentId);
        const { pin } = await crypto.open(again[at]?.pin ?? "", key.pin);
        await rows?.mailing();
        const operationId = globalThis.crypto.randomUUID();
        const [text, html] = [String(pin), String(pin)];
        await mailer.send({ to: ["bare@example.com"], subject: "PIN", text, html, operationId });
        await mailer.status(operationId);
        await rows?.mailed();
      }
    });
    return { status: 200 };
  });
}

/** So many at once, all of them. */
async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const limit = pLimit(concurrency);
  await Promise.all(all.map(one => limit(work, one)));
}
