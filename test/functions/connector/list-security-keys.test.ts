import { parse } from "csv-parse/sync";
import { beforeAll, describe, expect, it } from "vitest";
import { AAGUIDS } from "../../../local/peers/security-key/authenticator-keys.ts";
import { altered, type Body } from "../../lib/connector/api/bodies.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { newUser, orderBody, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers, { PUBLIC_BASE_URL: "https://keys.example/front", CONNECTOR_PATH: "connector" });
const list = "GET /connector/v2/security-keys";

const user = newUser();
const formula = "=cmd,x@example.com";
const ids: string[] = [];
/** Four requests of two credentials each, which are active. One of their users would be a formula in a spreadsheet. */
beforeAll(async () => {
  peers.delivery.settings({ shipAfterMs: 0 });
  for (const keys of [[1, 1], [2], [1, 1], [1, 1]]) {
    const { body } = await host.call("POST /connector/v2/credential-requests", {
      body: altered(orderBody(keys), {
        "shipment.shipment_items[0].credentials[0].user_id": ids.length === 0 ? formula : user,
      }),
    });
    ids.push(body.data.credential_request_id);
  }
  await host.call("GET /connector/v2/operations/process-shipments");
  await host.call("POST /connector/v2/operations/process-credential-requests");
});

const idsOf = (body: Body) => body.map(({ credential_request_id }: Body) => ids.indexOf(credential_request_id));

/** The path of the next page; undefined on the last one. */
const nextOf = (headers: Headers) =>
  /^<https:\/\/keys\.example\/front(\/connector\/v2\/security-keys\?.*)>; rel="next"$/.exec(headers.get("link") ?? "");

describe("GET /v2/security-keys", () => {
  it("answers an entry for each credential, in the order of the requests", async () => {
    const { status, headers, body } = await host.call(list);
    expect([status, headers.get("link")]).toEqual([200, null]);
    expect(idsOf(body)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect(body[0]).toEqual({
      credential_request_id: ids[0],
      key_id: "s-01-001",
      credential: 1,
      serial_number: expect.any(String),
      firmware: "5.7.4",
      aaguid: AAGUIDS.hardware,
      idp_id: "entra",
      user_id: formula,
      state: "active",
      ordered_at: expect.stringMatching(/^\d{4}-.*Z$/),
      activated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it("pages by $top and the link to the next page, which keeps the filters and splits no request", async () => {
    const pages: number[][] = [];
    let route: string | undefined = `${list}?$top=3&state=active&aaguid=${AAGUIDS.hardware.toUpperCase()}`;
    while (route !== undefined) {
      const { body, headers } = await host.call(route);
      pages.push(idsOf(body));
      const next = nextOf(headers);
      route = next === null ? undefined : `GET ${next[1]}`;
    }
    expect(pages).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    const { body: first } = await host.call(`${list}?$top=1`);
    expect(idsOf(first)).toEqual([0, 0]);
  });

  it("filters by serial number, user, state and model together", async () => {
    const { body: all } = await host.call(list);
    const of = async (query: string) => idsOf((await host.call(`${list}?${query}`)).body);
    expect(await of(`user_id=${encodeURIComponent(user.toUpperCase())}`)).toEqual([1, 2, 3]);
    expect(await of(`serial_number=${all[4].serial_number}`)).toEqual([2]);
    expect(await of(`serial_number=${all[4].serial_number}&user_id=${encodeURIComponent(formula)}`)).toEqual([]);
    expect(await of(`user_id=${encodeURIComponent(user)}&state=failed`)).toEqual([]);
    expect(await of(`aaguid=${AAGUIDS.software}`)).toEqual([]);
  });

  it("answers CSV where the caller accepts it, with the same pages", async () => {
    const accept = (type: string, query = "") =>
      fetch(`${host.url}/connector/v2/security-keys${query}`, {
        headers: { authorization: `Bearer ${host.tokens.connector}`, accept: type },
      });
    for (const range of ["text/csv;q=0", "application/json, text/csv; q=0.000"])
      expect((await accept(range)).headers.get("content-type")).toContain("application/json");
    const response = await accept("text/html;q=0.5, Text/CSV;q=0.9", "?$top=2");
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(nextOf(response.headers)).not.toBeNull();
    const { body } = await host.call(`${list}?$top=2`);
    const [columns = [], ...lines] = parse(await response.text()) as string[][];
    expect(columns).toEqual([
      "credential_request_id",
      "key_id",
      "credential",
      "serial_number",
      "firmware",
      "aaguid",
      "idp_id",
      "user_id",
      "state",
      "may_be_registered",
      "ordered_at",
      "delivered_at",
      "activated_at",
      "revoked_at",
      "replaced_by",
    ]);
    const shown = (entry: Body) => columns.map(column => String(entry[column] ?? ""));
    expect(lines).toEqual(body.map((entry: Body) => shown(entry).map(cell => cell.replace(/^=/, "'="))));
    for (const type of ["*/*", "application/json", "text/*"])
      expect((await accept(type)).headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  it.each([
    ["state", "state=stuck"],
    ["user_id", "user_id="],
    ["serial_number", `serial_number=${"x".repeat(256)}`],
    ["aaguid", "aaguid=yubikey"],
    ["$top", "$top=0"],
    ["$skiptoken", "$skiptoken=5"],
    ["email", "email=ada@example.com"],
  ])("names %s in the refusal of %s", async (field, query) => {
    const { status, body } = await host.call(`${list}?${query}`);
    expect(status).toBe(400);
    expect(body.error_data.fields).toMatchObject([{ path: field }]);
  });
});
