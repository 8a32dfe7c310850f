// Orders security keys for one user with version 1 of the connector API, follows the shipment, and resends its PIN
// mails.
//
//   export CONNECTOR_URL=https://keys.example.com API_TOKEN=connector_…
//   node connector-v1.mjs order REQ0012345 connector-order-v1.json   # orders once, also if it is repeated
//   node connector-v1.mjs follow <shipment_id>                       # prints each change until the keys are complete
//   node connector-v1.mjs resend-pin <shipment_id>
//
// The ticket number is the Idempotency-Key: after a lost response, repeat the command. Send a corrected order under a
// new ticket number.
//
// `follow` polls every POLL_SECONDS (300) for WAIT_SECONDS (0: once). A shipment with an error stays `ongoing` in
// version 1, whether the error is temporary or final; `follow` prints it and continues. Version 2 returns the same
// request with the state of every credential.
//
// Exit codes: 0 done; 1 refused or called wrongly, correct the order or the call; 2 not done yet, run it again later.
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const { CONNECTOR_URL = "", API_TOKEN = "", POLL_SECONDS = "300", WAIT_SECONDS = "0" } = process.env;
const codes = { done: 0, refused: 1, later: 2 };

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

/** Prints a refusal with every wrong field. Returns whether a later attempt may succeed. */
function refused({ status, body, headers }) {
  const fields = (body?.error_data?.fields ?? []).map(({ path, reason }) => `\n  ${path} ${reason}`);
  console.error(`${status} ${body?.error_message ?? "no readable answer"}${fields.join("")}`);
  return status >= 500 || headers.has("retry-after") ? "later" : "refused";
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
  const answer = await call("POST /v1/fpr/shipments", { body, headers: { "idempotency-key": ticket } });
  const ignored = answer.headers.get("x-ignored-fields");
  if (ignored !== null) console.error(`${ticket}: the connector knows no ${decodeURIComponent(ignored)}`);
  if (answer.status !== 201) return refused(answer);
  console.log(`${ticket}: shipment ${answer.body.data.shipment_id}`);
  return "done";
}

async function follow(id) {
  const end = Date.now() + Number(WAIT_SECONDS) * 1000;
  for (let before = ""; ; ) {
    const answer = await call(`GET /v1/fpr/shipments/${encodeURIComponent(id)}`);
    if (answer.status !== 200) {
      if (refused(answer) === "refused") return "refused";
    } else {
      const { shipment_state: state, error_kind: kind, error_message: message } = answer.body;
      const now = kind === undefined ? `${id} ${state}` : `${id} ${state}: ${message}`;
      if (now !== before) console.log(now);
      before = now;
      if (state === "complete") return "done";
    }
    if (Date.now() >= end) return "later";
    await pause(Number(POLL_SECONDS) * 1000);
  }
}

/** Good for a shipment that is `complete` or `pending_pin_sending`. */
async function resendPin(id) {
  const answer = await call(`GET /v1/operations/resend-pin/${encodeURIComponent(id)}`);
  if (answer.status !== 204) return refused(answer);
  console.log("sent");
  return "done";
}

const [, , command, ...words] = process.argv;
const commands = { order, follow, "resend-pin": resendPin };
const perform = Object.hasOwn(commands, command ?? "") ? commands[command] : undefined;
try {
  // `length` is the number of arguments that a command cannot do without.
  if (perform === undefined || words.length < perform.length)
    throw new UsageError("order <ticket> <file> | follow <id> | resend-pin <id>");
  if (!/^https?:\/\//.test(CONNECTOR_URL) || API_TOKEN === "")
    throw new UsageError("Set CONNECTOR_URL to an address such as https://keys.example.com, and API_TOKEN.");
  process.exitCode = codes[await perform(...words)];
} catch (error) {
  console.error(error.cause?.message ?? error.message);
  process.exitCode = error instanceof UsageError ? codes.refused : codes.later;
}
