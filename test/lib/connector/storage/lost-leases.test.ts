import { expect, test } from "vitest";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { withTable } from "../../../support/connector/crashing.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** Another host, for which the first write that takes a lease looks like a conflict although it was made. */
const losing = (connector: TestConnector): TestConnector => {
  let isLost = false;
  return connector.anotherInstance({
    tables: withTable("credentialrequests", table => ({
      replace: async (entity, etag) => {
        const written = await table.replace(entity, etag);
        if (isLost || entity.lease === undefined) return written;
        isLost = true;
        return undefined;
      },
    })),
  });
};

test("a lease whose response was lost delays no poll, no activation and no resend of a PIN", async () => {
  const connector = await testConnector(peers);
  const { requestId } = await connector.order();
  expect(await losing(connector).runShipments()).toMatchObject({ answered: 1 });
  await losing(connector).runCredentials();
  expect(await connector.keyRow(requestId)).toMatchObject({ state: "complete", mail: { state: "sent" } });
  expect(await resendPin(requestId, losing(connector).context)).toEqual({ sent: 1, unsent: [] });
  expect((await connector.keyRow(requestId)).mail).toMatchObject({ state: "sent", number: 2 });
});

test("a lease is not taken if another writer has changed the request", async () => {
  const connector = await testConnector(peers);
  const { requestId } = await connector.order();
  const outrun = connector.anotherInstance({
    ports: ({ requests }) => ({
      requests: {
        ...requests,
        save: async (loaded, changes, options) => {
          await requests.save(loaded, { request: { ...loaded.request, errorMessage: "changed" } });
          return requests.save(loaded, changes, options);
        },
      },
    }),
  });
  expect(await outrun.runShipments()).toMatchObject({ answered: 0 });
  expect(await connector.requestRow(requestId)).toMatchObject({ errorMessage: "changed" });
});
