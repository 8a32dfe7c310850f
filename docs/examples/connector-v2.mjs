// Orders keys for a ticket of an ITSM system, follows them, and has PINs mailed once more: version 2 of the connector.
//
//   export CONNECTOR_URL=https://keys.example.com API_TOKEN=connector_…
//   node connector-v2.mjs order REQ0012345 connector-order-v2.json   # orders once, however often it is run
//   node connector-v2.mjs follow <credential_request_id> [state]     # prints each change until the end or that state
//   node connector-v2.mjs resend-pin <credential_request_id>
//
// The ticket's number is the Idempotency-Key: a call whose answer got lost is simply made again. Within 7 days the same ticket with the
// same order has one answer, and with another order 409. So an order that was refused goes out under a new key once it is corrected,
// such as REQ0012345-2.
//
// A key takes days. `follow` asks every POLL_SECONDS (300) for WAIT_SECONDS (0: once) and can be run again at any time.
//
// Exit codes: 0 done; 1 refused or called wrongly, correct the order or the call; 2 not done yet, run it again later;
// 3 the request failed or was cancelled.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const { CONNECTOR_URL = "", API_TOKEN = "", POLL_SECONDS = "300", WAIT_SECONDS = "0" } = process.env;
const codes = { done: 0, refused: 1, later: 2, badly: 3 };
const mostTries = 5;
const longestWaitSeconds = 60;

/** One call. A create may take 150 seconds. Throws if there is no response. */
async function call(route, { body, headers = {} } = {}) {
  const [method, path] = route.split(" ");
  const response = await fetch(CONNECTOR_URL + path, {
    method,
    headers: {
      authorization: `Bearer ${API_TOKEN}`,
      ...(body && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    redirect: "error",
    signal: AbortSignal.timeout(240_000),
  });
  const answer = await response.json().catch(() => undefined);
  return { status: response.status, body: answer, headers: response.headers };
}

/** Returns the text of an error response, with every wrong field. */
function errorText({ status, body }) {
  const fields = (body?.error_data?.fields ?? []).map(({ path, reason }) => `\n  ${path} ${reason}`);
  return `${status} ${body?.error_message ?? "no readable answer"}${fields.join("")}`;
}

/** For calls that may be repeated: again after a lost answer, and after the time that the connector asks for. */
async function patiently(route, options) {
  for (let tried = 1; ; tried++) {
    const answer = await call(route, options).catch(error => ({ lost: error.cause?.message ?? error.message }));
    const wait = answer.lost === undefined ? Number(answer.headers.get("retry-after") ?? Number.NaN) : 2 ** tried;
    if (Number.isNaN(wait) || wait > longestWaitSeconds || tried === mostTries) {
      if (answer.lost !== undefined) throw new Error(`The connector is not responding: ${answer.lost}`);
      return answer;
    }
    await pause(wait * 1000);
  }
}

/** The program is called wrongly: a repetition cannot succeed. */
class UsageError extends Error {}

function readOrder(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  }
}

async function order(ticket, file) {
  const body = readOrder(file);
  const headers = { "idempotency-key": ticket };
  const answer = await patiently("POST /v2/credential-requests", { body, headers });
  const ignored = answer.headers.get("x-ignored-fields");
  // A mistyped field is not refused, and the key would be made without it.
  if (ignored !== null) console.error(`${ticket}: the connector knows no ${decodeURIComponent(ignored)}`);
  if (answer.status === 201) {
    const { credential_request_id: id, shipment_id: shipment } = answer.body.data;
    console.log(`${ticket}: ordered as ${id}${shipment === undefined ? "" : `, shipment ${shipment}`}`);
    return "done";
  }
  console.error(`${ticket}: ${errorText(answer)}`);
  // It is not known yet whether the shipment was ordered: the connector finds out. A second order would be a second parcel.
  const unconfirmedId = answer.body?.error_data?.credential_request_id;
  const isLater = answer.status >= 500 || answer.headers.has("retry-after");
  if (isLater && unconfirmedId !== undefined) console.log(`${ticket}: not confirmed, see ${unconfirmedId}`);
  return isLater ? "later" : "refused";
}

/** What a ticket shows: the request, each key, each credential, and why something waits or has failed. */
function shown({ credential_request_id: id, state, error_message: why, shipment, authenticators = [] }) {
  const because = message => (message === undefined ? "" : `: ${message}`);
  const lines = [`${id} ${state}${because(why)}`];
  if (shipment?.shipment_id !== undefined) lines.push(`  shipment ${shipment.shipment_id}`);
  for (const key of [...(shipment?.shipment_items ?? []), ...authenticators]) {
    lines.push(`  ${key.id} ${key.name} ${key.state}`);
    for (const credential of key.credentials) {
      const until = credential.state === "activation_pending" ? ` until ${credential.retryable_until}` : "";
      lines.push(
        `    ${credential.user_id} at ${credential.idp_id} ${credential.state}${until}${because(credential.error_message)}`,
      );
    }
  }
  return lines.join("\n");
}

async function follow(id, wanted = "complete") {
  const end = Date.now() + Number(WAIT_SECONDS) * 1000;
  for (let before = ""; ; ) {
    const answer = await patiently(`GET /v2/credential-requests/${encodeURIComponent(id)}`);
    if (answer.status !== 200) {
      console.error(errorText(answer));
      if (answer.status < 500) return "refused";
    } else {
      const now = shown(answer.body.data);
      if (now !== before) console.log(now);
      before = now;
      const { state } = answer.body.data;
      if (state === wanted) return "done";
      if (["complete", "partial", "failed", "cancelled"].includes(state)) return "badly";
    }
    if (Date.now() >= end) return "later";
    await pause(Number(POLL_SECONDS) * 1000);
  }
}

/** Not repeated by itself: each call is an email a key, and a key has few of them an hour. */
async function resendPin(id) {
  const answer = await call(`POST /v2/credential-requests/${encodeURIComponent(id)}/resend-pin`);
  if (answer.status !== 200) {
    console.error(errorText(answer));
    return answer.status >= 500 || answer.headers.has("retry-after") ? "later" : "refused";
  }
  console.log(`${answer.body.data.sent} mails`);
  for (const key of answer.body.data.unsent) console.error(`${key.key_id}: ${key.error_message}`);
  return "done";
}

const [, , command, ...words] = process.argv;
const commands = { order, follow, "resend-pin": resendPin };
const perform = Object.hasOwn(commands, command ?? "") ? commands[command] : undefined;
try {
  // `length` is the number of arguments that a command cannot do without.
  if (perform === undefined || words.length < perform.length)
    throw new UsageError("order <ticket> <file> | follow <id> [state] | resend-pin <id>");
  if (!/^https?:\/\//.test(CONNECTOR_URL) || API_TOKEN === "")
    throw new UsageError("Set CONNECTOR_URL to an address such as https://keys.example.com, and API_TOKEN.");
  process.exitCode = codes[await perform(...words)];
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof UsageError ? codes.refused : codes.later;
}
