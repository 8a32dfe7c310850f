import type { Accounts } from "../idp/accounts.ts";
import type { IdpTokens } from "../idp/tokens.ts";
import type { HttpAnswer, HttpCall } from "../peer.ts";
import { badRequest, graphRefusal } from "./errors.ts";
import type { FidoMethod, FidoMethods } from "./methods.ts";
import { policyView } from "./policy.ts";
import type { EntraSettings } from "./settings.ts";

interface Graph {
  readonly tokens: IdpTokens;
  readonly accounts: Accounts;
  readonly methods: FidoMethods;
  readonly chosen: EntraSettings;
}

const USERS =
  /^\/(?<version>beta|v1\.0)\/users(?:\/(?<id>[^/]+)|\('(?<quoted>[^']+)'\))(?<methods>\/authentication\/fido2Methods(?:\/(?:(?<rest>creationOptions.*)|(?<methodId>[^/]+)))?)?$/;
const POLICY = /^\/(?:beta|v1\.0)\/policies\/authenticationMethodsPolicy\/authenticationMethodConfigurations\/fido2$/;

/** Returns the routes of Microsoft Graph for the keys of users. */
export async function graphRoutes(
  { tokens, accounts, methods, chosen }: Graph,
  call: HttpCall,
): Promise<HttpAnswer | undefined> {
  const path = USERS.exec(call.path)?.groups ?? {};
  const { version, id, quoted, rest, methodId } = path;
  const user = id ?? quoted;
  if (user === undefined && !POLICY.test(call.path)) return undefined;
  if (!tokens.accepts(call))
    throw graphRefusal(401, "InvalidAuthenticationToken", "Access token is missing, malformed or expired.");
  if (user === undefined) {
    if (call.method !== "GET") throw methodNotAllowed();
    if (!chosen.readsPolicies) throw accessDenied();
    return { status: 200, body: policyView(chosen.policy) };
  }
  const account = accounts.find(user);
  const { id: userId, status: accountStatus } = account;
  if (accountStatus === "unknown")
    throw graphRefusal(404, "Request_ResourceNotFound", `Resource '${user}' does not exist.`);
  if (accountStatus === "forbidden") throw graphRefusal(403, "accessDenied", "Request Authorization failed");
  if (path.methods === undefined) {
    if (call.method !== "GET") throw methodNotAllowed();
    if (!chosen.readsUsers) throw accessDenied();
    const userType = accountStatus === "guest" ? "Guest" : "Member";
    return { status: 200, body: { id: userId, accountEnabled: accountStatus !== "disabled", userType } };
  }
  const shown = (method: FidoMethod) => ({
    "@odata.type": "#microsoft.graph.fido2AuthenticationMethod",
    id: methods.idOf(method),
    ...view(method),
  });

  const { method } = call;
  if (methodId !== undefined) {
    if (method !== "DELETE") throw methodNotAllowed();
    methods.remove(userId, decodeURIComponent(methodId));
    return { status: 204 };
  }
  if (rest === undefined) {
    if (method === "GET") return { status: 200, body: { value: methods.of(userId).map(shown) } };
    if (method !== "POST") throw methodNotAllowed();
    if (accountStatus === "blocked") throw blocked();
    // Guests get creation options but no keys.
    if (accountStatus === "guest") throw badRequest("Guest users cannot register passkeys.");
    return { status: 201, body: shown(await methods.register(userId, call.body)) };
  }
  // Graph does not find the function if the call has a query.
  if (method !== "GET" || call.query.size > 0) throw methodNotAllowed();
  const minutes = Math.min(minutesOf(rest, version === "beta"), chosen.grantedMinutes);
  if (accountStatus === "blocked") throw blocked();
  return { status: 200, body: methods.creationOptions(account, minutes) };
}

/** Five minutes, unless the beta gets a value from 5 to 43200. */
function minutesOf(call: string, beta: boolean): number {
  if (call === "creationOptions" || call === "creationOptions()") return 5;
  const [, given] = /^creationOptions\(challengeTimeoutInMinutes=(\d{1,9})\)$/.exec(call) ?? [];
  if (given === undefined || !beta) throw badRequest(`Resource not found for the segment '${call}'.`);
  const minutes = Number(given);
  if (minutes < 5 || minutes > 43_200) throw badRequest("challengeTimeoutInMinutes must be between 5 and 43200.");
  return minutes;
}

const blocked = () => badRequest("User or group restriction policy failed.");
const accessDenied = () =>
  graphRefusal(403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.");
const methodNotAllowed = () => graphRefusal(405, "methodNotAllowed", "Specified HTTP method is not allowed.");

const view = (method: FidoMethod) => ({
  displayName: method.displayName,
  createdDateTime: method.createdDateTime,
  aaGuid: method.aaGuid,
  model: "Simulated Key",
  attestationCertificates: [method.certificateThumbprint],
  attestationLevel: "attested",
  passkeyType: "deviceBound",
});
