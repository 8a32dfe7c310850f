import { expect, test } from "vitest";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { withTable } from "../../../support/connector/crashing.ts";
import { orderBody, peersOfFile, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

test.each([1, 2, 3])(
  "a PIN email is counted as sent if the response of the write of its outcome is lost: %d keys",
  async keys => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.orderAndRun(orderBody(Array(keys).fill(1)));
    const host = connector.anotherInstance({
      tables: withTable("credentialrequests", table => ({
        replace: async (entity, etag) => {
          const written = await table.replace(entity, etag);
          return entity.lease === undefined ? undefined : written;
        },
      })),
    });
    expect(await resendPin(requestId, host.context)).toEqual({ sent: keys });
    const stored = (await connector.load(requestId)).keys.map(({ value }) => value.mail);
    expect(stored).toEqual(Array(keys).fill(expect.objectContaining({ state: "sent", number: 2 })));
  },
);
