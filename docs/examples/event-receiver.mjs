// Receives events of credential requests: verifies each signature, drops repeated events, and prints each event as one
// line. Copy it, and replace `handle`.
//
//   export EVENT_SECRETS=whsec_…          # while the secret is rotated both, separated by a comma
//   PORT=8080 node event-receiver.mjs     # behind a proxy that has the certificate
//
// The last KEPT_IDS ids are in memory. After a restart, an event whose acknowledgement was lost can therefore be
// handled again. If that must not happen, store the id in the same transaction as what `handle` does.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const { EVENT_SECRETS = "", HOST = "127.0.0.1", PORT = "8080", KEPT_IDS = "10000" } = process.env;
const keys = EVENT_SECRETS.split(",").map(secret => Buffer.from(secret.trim().replace(/^whsec_/, ""), "base64"));
if (keys.some(key => key.length < 24)) throw new Error("EVENT_SECRETS needs whsec_ and at least 24 bytes in base64.");
const maxBytes = 65_536;
const toleranceSeconds = 300;
const positions = new Map(); // of the newest event of each request
const handledIds = new Map();

/**
 * Replace this, for example by an insert into a queue. Do not wait for work here: the connector ends the call after 10
 * seconds.
 */
function handle({ type, subject, sequence, data }, isLate) {
  console.log([type, subject, sequence, data.key_id, data.state, isLate && "late"].filter(Boolean).join(" "));
}

/** Returns whether the sender has one of the secrets and sent this body within the last minutes. */
function isGenuine({ "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signatures = "" }, body) {
  if (!id || !/^\d{1,12}$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > toleranceSeconds) return false;
  const macs = keys.map(key => createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest());
  const sent = signatures
    .split(" ")
    .flatMap(each => (each.startsWith("v1,") ? [Buffer.from(each.slice(3), "base64")] : []));
  return sent.some(each => macs.some(mac => each.length === mac.length && timingSafeEqual(each, mac)));
}

/** Returns the status of the response. Every status but 2xx makes the connector deliver the event again. */
async function receive(request) {
  if (request.method !== "POST") return 405;
  if (!(Number(request.headers["content-length"]) <= maxBytes)) return 413;
  const body = Buffer.concat(await request.toArray());
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body.toString());
  if (handledIds.has(event.id)) return 204;
  // An event that was given up and is sent again arrives after newer ones: it must not overwrite a newer state.
  const isLate = event.sequence < (positions.get(event.subject) ?? "");
  handle(event, isLate);
  remember(handledIds, event.id, true);
  if (!isLate) remember(positions, event.subject, event.sequence);
  return 204;
}

function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > Number(KEPT_IDS)) map.delete(map.keys().next().value);
}

const server = createServer({ requestTimeout: 10_000 }, async (request, response) => {
  const status = await receive(request).catch(error => {
    console.error(error.message);
    return 500;
  });
  response.writeHead(status).end();
});
server.listen(Number(PORT), HOST, () => console.log(`http://${HOST}:${server.address().port}`));
