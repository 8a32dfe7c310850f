import { describe, expect, test } from "vitest";
import { resendPin } from "../../../../lib/connector/pin/resend-pin.ts";
import { days, hours, minutes } from "../../../../lib/platform/time.ts";
import { pinIn } from "../../../support/connector/in-a-state.ts";
import {
  type AuthenticatorWish,
  authenticator,
  authenticatorsOf,
  idAt,
  mixedBody,
  onSiteBody,
} from "../../../support/connector/on-site.ts";
import {
  type ConnectorOptions,
  peersOfFile,
  refusalOf,
  testConnector,
} from "../../../support/connector/test-connector.ts";
import { storedText } from "../../../support/storage/stored-text.ts";

const peers = await peersOfFile();
const mailsTo = (address: string) => peers.mail.mails().filter(({ to }) => to.includes(address));
const fetches = () => peers.rfpr.count("GET", /authenticator-requests/);

/** A request of one authenticator with this PIN, enrolled, activated and whatever mail there is sent. */
async function enrolled(pin: AuthenticatorWish["pin_request"], by: Parameters<typeof peers.rfpr.enroll>[1] = {}) {
  const connector = await testConnector(peers);
  const body = onSiteBody([authenticator(1, { pin_request: pin })]);
  const { requestId } = await connector.order(body);
  const seen = await peers.rfpr.enroll(idAt(requestId), by);
  await connector.runCredentials();
  return { connector, requestId, seen, mails: mailsTo(body.recipient.email), to: body.recipient.email };
}

describe("the PIN of an authenticator", () => {
  test("that is generated and delivered by mail is fetched from the pre-registration API, opened, and mailed", async () => {
    const { requestId, seen, mails } = await enrolled({});
    expect(seen.shownPin).toBeUndefined();
    expect(mails).toHaveLength(1);
    expect(pinIn(mails[0]?.text)).toMatch(/^\d{6}$/);
    expect(peers.rfpr.opens(idAt(requestId), pinIn(mails[0]?.text))).toBe(true);
    // Once for the responses, once for the PIN.
    expect(fetches()).toBe(2);
  });

  test("may be longer than requested if the authenticator requires it", async () => {
    const { requestId, mails } = await enrolled({ min_length: 4 }, { insistsOn: 9 });
    expect(pinIn(mails[0]?.text)).toHaveLength(9);
    expect(peers.rfpr.opens(idAt(requestId), pinIn(mails[0]?.text))).toBe(true);
  });

  test.each<[AuthenticatorWish["pin_request"], string | undefined, boolean]>([
    [{ delivery_method: "app" }, undefined, true],
    [{ delivery_method: "none" }, undefined, true],
    [{ entry_method: "user_entered" }, "271828", false],
    [{ entry_method: "user_entered", delivery_method: "app" }, "271828", false],
    [{ entry_method: "user_entered", delivery_method: "none" }, "271828", false],
    [undefined, undefined, false],
  ])("of %j is neither asked for, nor kept, nor mailed; its credentials become active", async (wanted, pin, shown) => {
    const { connector, requestId, seen, mails } = await enrolled(wanted, pin === undefined ? {} : { pin });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(mails).toEqual([]);
    expect(fetches()).toBe(1);
    expect(seen.shownPin !== undefined).toBe(shown);
    const key = await connector.keyRow(requestId, "a-01");
    expect(key).toMatchObject({ mail: { state: "none", number: 0 } });
    expect(key.pinResponseKey).toBeUndefined();
    expect((await connector.context.responses.get(key.responses ?? ""))?.pinResponse).toBeUndefined();
    expect(await refusalOf(resendPin(requestId, connector.context))).toMatchObject({ status: 409 });
    const secret = pin ?? seen.shownPin;
    const response = [...(await storedText(connector.storage)), ...connector.lines];
    if (secret !== undefined) expect(response.filter(text => text.includes(`"${secret}"`))).toEqual([]);
  });

  test("is mailed with its own key's in a mixed request, and resent from the copies when both peers have purged them", async () => {
    const connector = await testConnector(peers);
    const body = mixedBody([1], [authenticator(2), authenticator(1, { pin_request: { delivery_method: "app" } })]);
    const to = body.recipient.email;
    const { requestId, shipmentId = "" } = await connector.order(body);
    for (const position of [0, 1]) await peers.rfpr.enroll(idAt(requestId, position));
    await connector.runJobs();
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    const expectBoth = async (mails: ReturnType<typeof mailsTo>) => {
      const shipped = (await peers.delivery.shipments()).find(({ id }) => id === shipmentId)?.keys[0];
      const [onSite] = authenticatorsOf(peers, requestId);
      const texts = mails.map(({ text = "" }) => text);
      const ofShipped = texts.filter(text => text.includes(shipped?.serial ?? "none"));
      const ofOnSite = texts.filter(text => text.includes(onSite?.serialNumber ?? "none"));
      expect([ofShipped.length, ofOnSite.length, texts.length]).toEqual([1, 1, 2]);
      expect(pinIn(ofShipped[0])).toBe(shipped?.pin);
      expect(peers.rfpr.opens(idAt(requestId), pinIn(ofOnSite[0]))).toBe(true);
      const users = body.authenticators[0]?.credentials.map(({ user_id }) => user_id).join(", ") ?? "none";
      expect(ofOnSite[0]).toContain(users);
    };
    await expectBoth(mailsTo(to));

    peers.mail.clearMails();
    await peers.delivery.control(shipmentId, { purge: true });
    peers.rfpr.fail({ kind: "refuse", method: "GET", status: 404, body: { code: "not_found" }, times: 10 });
    expect(await resendPin(requestId, connector.context)).toEqual({ sent: 2, unsent: [] });
    await expectBoth(mailsTo(to));
  });

  test("is nowhere in storage or log, nor is a credential or token of the pre-registration API, also after failures", async () => {
    const tokens: string[] = [];
    const watching: ConnectorOptions["fetch"] = (input, init) => {
      const authorization = new Headers(init?.headers).get("authorization");
      if (String(input).startsWith(peers.rfpr.url)) tokens.push(authorization?.replace("Bearer ", "") ?? "");
      return fetch(input, init);
    };
    const connector = await testConnector(peers, { fetch: watching });
    const body = onSiteBody([authenticator(1, { pin_request: { min_length: 12 } })]);
    peers.enrollment.fail({ kind: "nonsense" });
    peers.rfpr.fail({ kind: "refuse", method: "PUT", status: 500 });
    const { requestId } = await connector.order(body);
    await peers.rfpr.enroll(idAt(requestId));
    peers.rfpr.fail({ kind: "refuse", method: "GET", status: 500, times: 3 });
    await connector.runCredentials();
    connector.advance(minutes(5));
    peers.rfpr.fail({ kind: "refuse", method: "GET", status: 401, times: 2 });
    await connector.runCredentials();
    peers.mail.fail({ kind: "drop", method: "POST" });
    for (let hour = 0; hour < 3; hour++) {
      connector.advance(hours(1));
      await connector.runCredentials();
    }
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    const pin = pinIn(mailsTo(body.recipient.email)[0]?.text);
    const credential = peers.vault.get("enrollment-credential") ?? "";
    expect([pin.length, credential.length > 20, tokens.length > 3]).toEqual([12, true, true]);
    const response = [...(await storedText(connector.storage)), ...connector.lines];
    const secrets = [pin, credential, ...tokens];
    expect(secrets.filter(secret => response.some(text => text.includes(secret)))).toEqual([]);
    const people = [body.recipient.email, "Lovelace"];
    expect(people.filter(name => connector.lines.some(line => line.includes(name)))).toEqual([]);
  });
});

describe("clean-up at the pre-registration API", () => {
  const remaining = (requestId: string) => authenticatorsOf(peers, requestId).length;

  test("deletes nothing by 0 days; else what it deletes here, and the rows go last", async () => {
    const { connector, requestId } = await enrolled({});
    connector.advance(days(8));
    await connector.runCleanUp(0);
    expect(remaining(requestId)).toBe(1);
    peers.rfpr.fail({ kind: "refuse", method: "DELETE", status: 500, times: 3 });
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 0 });
    expect(await connector.read(requestId)).toMatchObject({ state: "complete" });
    expect(remaining(requestId)).toBe(1);
    expect(await connector.runCleanUp(7)).toMatchObject({ deleted: 1 });
    expect(remaining(requestId)).toBe(0);
    expect((await storedText(connector.storage)).filter(text => text.includes(requestId))).toEqual([]);
  });

  test("also deletes authenticators that were never enrolled, and makes no call for a shipment alone", async () => {
    const connector = await testConnector(peers);
    const { requestId } = await connector.order(onSiteBody());
    await connector.orderAndRun();
    // The IdP counts the challenge's 14 days by its own clock, which is a little ahead.
    connector.advance(days(14) + minutes(1));
    await connector.runCredentials();
    expect(await connector.read(requestId)).toMatchObject({ state: "failed" });
    connector.advance(days(1));
    expect(await connector.runCleanUp(1)).toMatchObject({ deleted: 2 });
    expect([remaining(requestId), peers.rfpr.count("DELETE", /./)]).toEqual([0, 1]);
  });
});
