import { beforeAll, describe, expect, it } from "vitest";
import { altered, type Body } from "../../lib/connector/api/bodies.ts";
import { connectorHostOfFile } from "../../support/connector/host.ts";
import { newUser, orderBody, peersOfFile } from "../../support/connector/test-connector.ts";

const peers = await peersOfFile();
const host = connectorHostOfFile(peers, { PUBLIC_BASE_URL: "https://keys.example/front", CONNECTOR_PATH: "connector" });
const create = "POST /connector/v2/credential-requests";
const list = "GET /connector/v2/credential-requests";

const user = newUser();
const ids: string[] = [];
beforeAll(async () => {
  for (let n = 0; n < 5; n++) {
    const body = orderBody();
    const ofUser = altered(body, { "shipment.shipment_items[0].credentials[0].user_id": user });
    const { body: reply } = await host.call(create, { body: n % 2 === 0 ? ofUser : body });
    ids.push(reply.data.credential_request_id);
  }
});

const idsOf = ({ body }: { body: Body }) => body.map(({ credential_request_id }: Body) => credential_request_id);

describe("GET /v2/credential-requests", () => {
  it("answers a bare array of the read models with the time of their creation, without a link where none follow", async () => {
    const { status, headers, body } = await host.call(list);
    expect(status).toBe(200);
    expect(headers.get("link")).toBeNull();
    expect(idsOf({ body })).toEqual(ids);
    const { body: read } = await host.call(`GET /connector/v2/credential-requests/${ids[0]}`);
    // Only the read of one request names the addresses of its PIN emails.
    const { enrollment_contacts: _, ...entry } = read.data;
    expect(body[0]).toEqual({ ...entry, created_at: expect.stringMatching(/^\d{4}-.*Z$/) });
  });

  it("pages by $top and the link to the next page, which keeps the filters", async () => {
    const seen: string[] = [];
    let route = `${list}?$top=2&user_id=${encodeURIComponent(user)}&state=started`;
    for (let page = 0; page < 2; page++) {
      const { body, headers } = await host.call(route);
      seen.push(...idsOf({ body }));
      const link = /^<https:\/\/keys\.example\/front(\/connector\/v2\/credential-requests\?.*)>; rel="next"$/.exec(
        headers.get("link") ?? "",
      );
      expect(link === null).toBe(page === 1);
      route = `GET ${link?.[1]}`;
    }
    expect(seen).toEqual([ids[0], ids[2], ids[4]]);
  });

  it("filters by state, user_id and created_after together", async () => {
    const { body: all } = await host.call(list);
    const after = encodeURIComponent(all[1].created_at);
    expect(idsOf(await host.call(`${list}?created_after=${after}`))).toEqual(ids.slice(2));
    const offset = encodeURIComponent(all[1].created_at.replace("Z", "+00:00"));
    expect(idsOf(await host.call(`${list}?created_after=${offset}`))).toEqual(ids.slice(2));
    for (const time of ["2020-01-31", "2020-01-31T10:00Z", "2020-01-31T10:00%2B02:00"])
      expect(idsOf(await host.call(`${list}?created_after=${time}`))).toEqual(ids);
    expect(idsOf(await host.call(`${list}?state=failed`))).toEqual([]);
    expect(idsOf(await host.call(`${list}?user_id=${encodeURIComponent(user)}&created_after=${after}`))).toEqual([
      ids[2],
      ids[4],
    ]);
  });

  it.each([
    ["state", "state=stuck"],
    ["state", "state="],
    ["user_id", "user_id="],
    ["user_id", `user_id=${"x".repeat(256)}`],
    ["created_after", "created_after=yesterday"],
    ["created_after", "created_after=2026-01-31T10:00:00"],
    ["created_after", "created_after=2026-01-31T10:00"],
    ["created_after", "created_after=9999-12-31T23:59:59-01:00"],
    ["created_after", "created_after=2026-02-31"],
    ["$top", "$top=0"],
    ["$top", "$top=1001"],
    ["$top", "$top=two"],
    ["$top", "$top=1.5"],
    ["$top", "$top="],
    ["$skiptoken", "$skiptoken=5"],
    ["$skiptoken", "$skiptoken="],
    ["stat", "stat=failed"],
    ["$skip", "$skip=5"],
    ["State", "State=failed"],
    ["state", "state=failed&state=started"],
  ])("answers 400 naming %s to ?%s", async (path, query) => {
    expect(await host.call(`${list}?${query}`)).toMatchObject({
      status: 400,
      body: { error_code: "api_error", error_data: { error_type: "validation", fields: [{ path }] } },
    });
  });

  it("says that a + is written %2B where a time has a space in its place", async () => {
    const reasonOf = async (query: string) =>
      (await host.call(`${list}?created_after=${query}`)).body.error_data.fields[0].reason;
    expect(await reasonOf("2026-01-31T10:00:00+02:00")).toMatch(/with its zone.*the \+ of a zone is written as %2B$/);
    expect(await reasonOf("yesterday")).not.toContain("%2B");
    const { status } = await host.call(`${list}?created_after=2026-01-31T10:00:00%2B02:00`);
    expect(status).toBe(200);
  });

  it("names the filters that it accepts where it refuses another one", async () => {
    const { body } = await host.call(`${list}?top=2`);
    const reason =
      "is not known: the call accepts state, customer_reference, email, external_id, serial_number, user_id, created_after, $top, $skiptoken";
    expect(body.error_data.fields).toEqual([{ path: "top", reason }]);
  });

  it("takes the bounds of $top, and a position that names nothing", async () => {
    expect(idsOf(await host.call(`${list}?$top=1`))).toEqual(ids.slice(0, 1));
    expect(idsOf(await host.call(`${list}?$top=1000`))).toEqual(ids);
    const past = "2020-01-31T10:00:00.000Z_00000000-0000-4000-8000-000000000000";
    expect(idsOf(await host.call(`${list}?$skiptoken=${encodeURIComponent(past)}`))).toEqual(ids);
  });
});
