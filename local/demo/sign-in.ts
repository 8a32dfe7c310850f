import { randomBytes } from "node:crypto";
import * as z from "zod";
import { oathCode } from "../console/software-keys/codes.ts";
import { sampleRequest } from "../start/sample-request.ts";
import type { Calls } from "./calls.ts";
import type { Narrator } from "./print.ts";

const created = z.object({ id: z.int() });
const loggedIn = z.object({ session: z.string() });
const status = z.object({ username: z.string(), prefix: z.string() });

/** What the OTP key of the story types before its codes. */
const prefix = "ubhe00001815";

/** Plays how a person signs in with password and OTP, and how a lost key is disabled. Rejects if a response is another one. */
export async function playSignIn(calls: Calls, narrator: Narrator): Promise<void> {
  const username = sampleRequest.recipient.email;
  const password = randomBytes(12).toString("base64url");
  const secret = randomBytes(20);
  const otp = (use: number): string => prefix + oathCode({ secret, digits: 6 }, use);

  narrator.title("A person signs in with password and OTP");
  narrator.step("A user and an OTP key are registered", "An administrator's program calls the Core API.");
  const { id } = created.parse(await calls.api("POST", "/core/users", 201, { username, password }));
  const key = { prefix, kind: "hotp", secret: secret.toString("hex") };
  await calls.api("POST", "/core/otpkeys", 201, key);
  await calls.api("POST", `/core/users/${id}/otpkeys`, 204, { otpkey: prefix });
  narrator.note(`user ${id} is ${username}; the key types ${prefix} and six digits`);

  narrator.step("The person signs in", "The browser or the server of an application calls the Client API.");
  narrator.note(`password ${"•".repeat(8)}, OTP ${otp(0)}`);
  const credentials = { username, password, otp: otp(0) };
  const { session } = loggedIn.parse(await calls.api("POST", "/client/login", 200, credentials));
  const { username: signedIn } = status.parse(await calls.api("GET", "/client/status", 200, undefined, session));
  if (signedIn !== username) throw new Error(`the session belongs to ${signedIn}.`);
  narrator.note(`the session belongs to ${signedIn}`);

  narrator.step("The OTP is replayed", "An OTP counts once. The response is the same as for a wrong password.");
  await calls.api("POST", "/client/login", 401, credentials);

  narrator.step("The key is lost", "An administrator disables it, and ends the sessions that were opened with it.");
  await calls.api("POST", `/core/otpkeys/${prefix}/disable`, 204, { end_sessions: true });
  await calls.api("GET", "/client/status", 401, undefined, session);
  narrator.note("the session has ended, and the next OTP of the key is refused:");
  await calls.api("POST", "/client/login", 401, { ...credentials, otp: otp(1) });
}
