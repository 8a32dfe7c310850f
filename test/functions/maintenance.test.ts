import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { authTasks } from "../../functions/auth/start/maintenance-tasks.ts";
import { connectorTasks } from "../../functions/connector/start/maintenance-tasks.ts";
import { taskTemplate } from "../../lib/platform/http/task.ts";
import { localTokens } from "../../local/start/tokens.ts";
import { hotpKey } from "../support/auth/software-key.ts";
import { connectorHostOfFile } from "../support/connector/host.ts";
import { newUser, orderBody, peersOfFile } from "../support/connector/test-connector.ts";
import { consoleEvents } from "../support/host/console-events.ts";
import { until } from "../support/until.ts";

const events = consoleEvents();

const peers = await peersOfFile();
const host = connectorHostOfFile(peers, {
  SERVICE_APIS: "core,client,connector",
  LOGGING_LEVEL_COM_SERVICE: "INFO",
});

const tasks = Object.entries({ auth: authTasks, connector: connectorTasks }).flatMap(([service, all]) =>
  Object.keys(all).map(name => `/${taskTemplate(service, name)}`),
);

const asAdmin = (path: string, body?: object) =>
  host.call(`POST ${path}`, { ...(body && { body }), headers: { "x-functions-key": host.masterKey } });
const core = (route: string, body?: object) =>
  host.call(route, { token: localTokens(peers.vault).core, ...(body && { body }) });

async function signedUp() {
  const user = { username: `user-${randomBytes(4).toString("hex")}`, password: randomBytes(16).toString("hex") };
  const { body } = await core("POST /core/users", user);
  return { ...user, id: Number(body.id) };
}

describe("maintenance over HTTP", () => {
  it.each(tasks)(
    "POST %s asks for the master key: neither nothing, nor a caller's token, nor another key is enough",
    async path => {
      const { core: coreToken, connector } = localTokens(peers.vault);
      const before = events.length;
      for (const token of ["", coreToken, connector]) {
        for (const headers of [{}, { "x-functions-key": "another" }])
          expect((await host.call(`POST ${path}`, { token, headers })).status).toBe(401);
      }
      expect(events.slice(before).filter(({ event }) => event === "task_started")).toEqual([]);
    },
  );

  it.each(tasks)("%s is nothing to other methods", async path => {
    expect((await host.call(`GET ${path}`, { headers: { "x-functions-key": host.masterKey } })).status).toBe(404);
  });

  it("refuses a wrong input by its fields, an unknown backup, and tables that are not empty", async () => {
    await signedUp();
    const wrong = await asAdmin("/maintenance/auth/restore", { backup: 7, otp_uses: -1, more: true });
    expect(wrong.status).toBe(400);
    const paths = wrong.body.fields.map(({ path }: { path: string }) => path);
    expect(paths.sort()).toEqual(["backup", "more", "otp_uses"]);
    expect(wrong.body.fields).toContainEqual({ path: "more", reason: "is not a known field" });
    const unknown = { backup: "2020-01-01T00-00-00.000Z-00000000" };
    expect((await asAdmin("/maintenance/auth/restore", unknown)).status).toBe(404);
    const { data } = (await asAdmin("/maintenance/auth/back-up")).body;
    expect(await asAdmin("/maintenance/auth/restore", { backup: data.backup })).toMatchObject({
      status: 409,
      body: { error: expect.stringMatching(/not empty/) },
    });
  });

  it("backs up users and keys and restores them, and ends every session", async () => {
    const [user, key] = [await signedUp(), hotpKey()];
    await core("POST /core/otpkeys", key.fields);
    await core(`POST /core/users/${user.id}/otpkeys`, { otpkey: key.prefix });
    const { password, username } = user;
    const login = async (otp: number) =>
      (await host.call("POST /client/login", { body: { username, password, otp: key.otp(otp) } })).body;
    const { session } = await login(0);
    const isSignedIn = async () =>
      (await host.call("GET /client/status", { headers: { "x-service-session": session } })).status === 200;
    expect(await isSignedIn()).toBe(true);
    const { backup } = (await asAdmin("/maintenance/auth/back-up")).body.data;
    expect((await core(`POST /core/users/${user.id}/delete`)).status).toBe(204);
    const { status, body } = await asAdmin("/maintenance/auth/restore", { backup, replace: true, otp_uses: 3 });
    expect([status, body.data.users > 0, body.data.otpkeys]).toEqual([200, true, 1]);
    expect(await isSignedIn()).toBe(false);
    expect((await login(3)).session).toBeUndefined();
    expect((await login(4)).session).toEqual(expect.any(String));
  });

  it("restores credential requests with every list that they are found by", async () => {
    const [to, since] = [newUser(), new Date(Date.now() - 1).toISOString()];
    const order = orderBody([1], to);
    const user = order.shipment.shipment_items[0]?.credentials[0]?.user_id ?? "";
    const { body } = await host.call("POST /v2/credential-requests", { body: order });
    const id = body.data.credential_request_id;
    const lists = ["state=started", `user_id=${encodeURIComponent(user)}`, `created_after=${since}`];
    const found = async () =>
      (await Promise.all(lists.map(list => host.call(`GET /v2/credential-requests?${list}`)))).map(
        answer => answer.body,
      );
    const before = await found();
    for (const each of before) expect(each).toMatchObject([{ credential_request_id: id }]);
    const { backup } = (await asAdmin("/maintenance/connector/back-up")).body.data;
    const later = await host.call("POST /v2/credential-requests", { body: orderBody([1]) });
    expect(later.status).toBe(201);
    const restored = await asAdmin("/maintenance/connector/restore", { backup, replace: true });
    expect(restored.body.data).toEqual({ requests: 1, open: 1, blobs: 0, skipped: 0 });
    expect(await found()).toEqual(before);
    // An erasure finds its person by the lists, also by the address that is in no filter.
    await peers.delivery.control(body.data.shipment_id, { state: 101 });
    const person = { email: to.toUpperCase() };
    // The credential may have been activated after the backup.
    expect((await asAdmin("/maintenance/connector/erase", { ...person, dry_run: true })).body.data).toMatchObject({
      erased: 0,
      left: [{ credential_request_id: id, reason: expect.stringContaining("may have been registered") }],
    });
    const erased = await asAdmin("/maintenance/connector/erase", { ...person, leave_active_credentials: true });
    expect(erased.body.data).toMatchObject({ erased: 1, left: [] });
    expect(await found()).toEqual([[], [], []]);
  });
});

describe("the host's admin endpoint", () => {
  const start = (name: string) =>
    host.call(`POST /admin/functions/${name}`, { body: {}, headers: { "x-functions-key": host.masterKey } });

  it.each(["scheduledAuthBackUp", "scheduledConnectorBackUp"])(
    "starts the timer %s, which creates a backup",
    async name => {
      const runs = () => events.filter(({ event, job }) => event === "job" && job === name);
      expect((await start(name)).status).toBe(202);
      await until(
        () => runs().length > 0,
        () => JSON.stringify(events.slice(-5)),
      );
      expect(runs()[0]).toMatchObject({ trigger: "timer", backup: expect.any(String), removed: 0 });
    },
  );
});
