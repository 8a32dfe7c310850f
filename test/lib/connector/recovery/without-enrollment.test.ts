import { describe, expect, test } from "vitest";
import { cancelRequest } from "../../../../lib/connector/cancel/cancel-request.ts";
import { eraseRecipient } from "../../../../lib/connector/cancel/erase-recipient.ts";
import { days, minutes } from "../../../../lib/platform/time.ts";
import { withPort } from "../../../support/connector/changed-peers.ts";
import { idAt, onSiteBody } from "../../../support/connector/on-site.ts";
import { peersOfFile, type TestConnector, testConnector } from "../../../support/connector/test-connector.ts";

const peers = await peersOfFile();

/** A connector on the same storage whose enrollment services were removed from the settings. */
const withoutEnrollment = (connector: TestConnector): TestConnector =>
  connector.anotherInstance({ settings: { ENROLLMENT_SERVICE_API_BASE_URL: "", RFPR_API_BASE_URL: "" } });

describe("a deployment whose enrollment services were removed from the settings", () => {
  const enrolled = async () => {
    const connector = await testConnector(peers);
    const body = onSiteBody();
    const { requestId } = await connector.order(body);
    await peers.rfpr.enroll(idAt(requestId));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    return { connector, requestId, email: body.recipient.email };
  };

  test("deletes old requests with authenticators", async () => {
    const { connector, requestId } = await enrolled();
    connector.advance(days(7));
    const without = withoutEnrollment(connector);
    expect(await without.runCleanUp(7)).toMatchObject({ deleted: 1 });
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
    expect(without.events("work_failed")).toEqual([]);
    expect(without.events("authenticators_left")).toMatchObject([{ credentialRequestId: requestId, count: 1 }]);
  });

  test("erases a person who has authenticators", async () => {
    const { connector, requestId, email } = await enrolled();
    const report = await eraseRecipient({ by: "email", name: email }, withoutEnrollment(connector).context, {
      leaveActive: true,
    });
    expect(report).toMatchObject({ erased: 1, left: [] });
    expect(await connector.context.requests.load(requestId)).toBeUndefined();
  });

  test("cancels a request whose authenticator waits", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(onSiteBody());
    const without = withoutEnrollment(connector);
    await cancelRequest(requestId, without.context);
    expect(without.events("authenticators_left")).toMatchObject([{ credentialRequestId: requestId, count: 1 }]);
    expect(await connector.read(requestId)).toMatchObject({ state: "cancelled" });
  });

  test("ends a request whose create was interrupted", async () => {
    const connector = await testConnector(peers);
    const enrolling = Promise.withResolvers<void>();
    const dying = connector.anotherInstance({
      ports: withPort("rfpr", () => ({
        put: () => {
          enrolling.resolve();
          return new Promise<never>(() => {});
        },
      })),
    });
    void dying.order(onSiteBody());
    await enrolling.promise;
    const [{ requestId } = { requestId: "" }] = await connector.queue("reconcile");
    connector.advance(minutes(5));
    await withoutEnrollment(connector).runCredentials("timer");
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
  });
});
