import * as z from "zod";
import type { Account, Accounts } from "../idp/accounts.ts";
import type { IdpTokens } from "../idp/tokens.ts";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { readBody } from "../read-body.ts";
import type { PingOneDevices } from "./devices.ts";
import { invalid, notFound, pingOneRefusal } from "./errors.ts";
import type { PingOneSettings } from "./settings.ts";

interface Environment {
  readonly id: string;
  readonly tokens: IdpTokens;
  readonly accounts: Accounts;
  readonly devices: PingOneDevices;
  readonly chosen: PingOneSettings;
}

const ACTIVATION = "application/vnd.pingidentity.device.activate+json";
const PATH =
  /^\/v1\/environments\/(?<environment>[^/]+)\/(?:(?<settings>mfaSettings)|users)(?:\/(?<user>[^/]+)(?<devices>\/devices(?:\/(?<device>[^/]+)(?<nickname>\/nickname)?)?)?)?$/;

const newDevice = z.object({
  type: z.literal("FIDO2"),
  rp: z.object({ id: z.string().min(1), name: z.string().min(1) }),
  policy: z.object({ id: z.string().min(1) }).optional(),
  nickname: z.string().min(1).max(100).optional(),
});
const naming = z.object({ nickname: z.string().min(1) });

/** Returns the routes of PingOne's API for users and their FIDO devices. */
export async function pingOneRoutes(of: Environment, call: HttpCall): Promise<HttpAnswer | undefined> {
  const path = PATH.exec(call.path)?.groups;
  if (path === undefined) return undefined;
  if (!of.tokens.accepts(call))
    throw pingOneRefusal(401, "ACCESS_FAILED", "The request could not be completed. You do not have access.");
  if (path.environment !== of.id) throw notFound();
  if (path.settings !== undefined) {
    if (call.method !== "GET") throw notAllowed();
    if (!of.chosen.readsSettings) throw pingOneRefusal(403, "ACCESS_FAILED", "You do not have access.");
    return { status: 200, body: { _links: {}, pairing: { maxAllowedDevices: of.chosen.maxDevices } } };
  }
  if (path.user === undefined) {
    if (call.method !== "GET") throw notAllowed();
    return { status: 200, body: search(of, call.query.get("filter")) };
  }
  const user = of.accounts.withId(path.user);
  const accountStatus = user.status;
  if (accountStatus === "unknown") throw notFound();
  if (accountStatus === "forbidden") throw pingOneRefusal(403, "ACCESS_FAILED", "You do not have access.");
  const { method, body } = call;
  const { device } = path;
  if (path.devices === undefined) {
    if (method !== "GET") throw notAllowed();
    return { status: 200, body: shown(user) };
  }
  if (device === undefined) {
    if (method === "GET") {
      const devices = of.devices.of(user.id);
      return { status: 200, body: { _links: {}, _embedded: { devices }, size: devices.length, count: devices.length } };
    }
    if (method !== "POST") throw notAllowed();
    if (accountStatus === "blocked") throw invalid("policy", "The policy allows this user no FIDO2 device.");
    const { rp, policy, nickname } = readBody(newDevice, body, wrongBody);
    return { status: 201, body: of.devices.begin(user, { rp, policyId: policy?.id, ...(nickname && { nickname }) }) };
  }
  if (path.nickname !== undefined) {
    if (method !== "PUT") throw notAllowed();
    return { status: 200, body: of.devices.rename(user.id, device, readBody(naming, body, wrongBody).nickname) };
  }
  switch (method) {
    case "GET":
      return { status: 200, body: of.devices.one(user.id, device) };
    case "DELETE":
      of.devices.remove(user.id, device);
      return { status: 204 };
    case "POST":
      // The media type selects the operation of a device.
      if (call.headers["content-type"] !== ACTIVATION)
        throw pingOneRefusal(415, "UNSUPPORTED_MEDIA_TYPE", "The content type names no operation.");
      if (accountStatus === "blocked") throw invalid("policy", "The policy allows this user no FIDO2 device.");
      return { status: 200, body: await of.devices.activate(user.id, device, body) };
    default:
      throw notAllowed();
  }
}

/** Finds at most one user, by user name only (RFC 7644 section 3.4.2.2). */
function search(of: Environment, filter: string | null): object {
  const [, literal] = /^username eq ("(?:[^"\\]|\\.)*")$/.exec(filter ?? "") ?? [];
  if (literal === undefined) throw pingOneRefusal(400, "INVALID_FILTER", "The filter is not valid.");
  const name = JSON.parse(literal) as string;
  const user = of.accounts.withName(name);
  const users = user.status === "unknown" ? [] : [shown(user)];
  return { _embedded: { users }, count: users.length, size: users.length };
}

const shown = ({ id, name, status }: Account) => ({
  _links: {},
  environment: {},
  id,
  username: name,
  enabled: status !== "disabled",
  mfaEnabled: status !== "without_mfa",
  createdAt: "2026-01-31T10:00:00.000Z",
  updatedAt: "2026-01-31T10:00:00.000Z",
});

const wrongBody = (reason: string) => invalid("body", reason);

const notAllowed = () => pingOneRefusal(405, "INVALID_REQUEST", "The method is not allowed here.");
