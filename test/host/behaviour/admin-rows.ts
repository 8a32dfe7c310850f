import { azureHostKeys as keys } from "../../../local/azure-host/start-azure-host.ts";
import { type Row, request } from "./row.ts";

const withKey = (key: string): string => `X-Functions-Key: ${key}`;
const json = "Content-Type: application/json";
const refused = { status: 401, headers: { "content-length": ["0"] }, body: "", ran: [] };
const wrongCase = keys.host.toUpperCase();

const ofKey = (name: string, line: string, headers: readonly string[], answer: Row["answer"]): Row => ({
  name,
  sent: request(line, headers),
  answer,
});

const start = (name: string, headers: readonly string[], status: number, body = "{}", one = "Tick"): Row => ({
  name: `a start of a function ${name}`,
  sent: request(`POST /admin/functions/${one}`, headers, body),
  answer: { status, body: "", ran: [] },
});

const master = withKey(keys.master);

/** The first rows depend on their order: the host remembers a valid key without regard to its case. */
export const adminRows: readonly Row[] = [
  ofKey("a key in the wrong letter case before its first use", "GET /with-key", [withKey(wrongCase)], refused),
  ofKey("no key for a function that requires one", "GET /with-key", [], refused),
  ofKey("a wrong key", "GET /with-key", [withKey("bad")], refused),
  ofKey("an empty key", "GET /with-key", [withKey("")], refused),
  ofKey("a host key", "GET /with-key", [withKey(keys.host)], {
    status: 200,
    body: [keys.host, null],
    ran: ["with-key"],
  }),
  ofKey("a key in the wrong letter case after its first use", "GET /with-key", [withKey(wrongCase)], { status: 200 }),
  ofKey("the master key", "GET /with-key", [master], { status: 200, body: [keys.master, null] }),
  ofKey("a host key in the query", `GET /with-key?CODE=${keys.host}`, [], { status: 200, ran: ["with-key"] }),
  ofKey(
    "a wrong key in the header and a host key in the query",
    `GET /with-key?code=${keys.host}`,
    [withKey("bad")],
    refused,
  ),
  ofKey(
    "an empty key in the header and a host key in the query",
    `GET /with-key?code=${keys.host}`,
    [withKey("")],
    refused,
  ),
  ofKey("a wrong key before a host key", "GET /with-key", [withKey("bad"), withKey(keys.host)], refused),
  ofKey("a host key before a wrong key", "GET /with-key", [withKey(keys.host), withKey("bad")], { status: 200 }),
  ofKey("a wrong key before a host key in the query", `GET /with-key?code=bad&code=${keys.host}`, [], refused),
  ofKey("a host key before a wrong key in the query", `GET /with-key?code=${keys.host}&code=bad`, [], { status: 200 }),
  ofKey("a host key for a function that requires the master key", "GET /for-admin", [withKey(keys.host)], refused),
  ofKey("the master key for a function that requires it", "GET /for-admin", [master], {
    status: 200,
    ran: ["for-admin"],
  }),
  ofKey("another method of a function that requires a key", "POST /get-only", [], { status: 404, ran: [] }),
  {
    name: "no key for a start of a function",
    sent: request("POST /admin/functions/Tick", [json], "{}"),
    answer: { status: 401, headers: { "www-authenticate": ["Bearer"] }, ran: [] },
  },
  start("with a wrong key", [json, withKey("bad")], 401),
  start("with a host key", [json, withKey(keys.host)], 403),
  start("without a content type", [master], 415),
  start("with text", [master, "Content-Type: text/plain"], 415),
  ...["", "{", "null", "[]", '"x"'].map(body => start(`with the body ${body || "nothing"}`, [master, json], 400, body)),
  start("that does not exist", [master, json], 404, "{}", "Unknown"),
  {
    name: "the master key for the status of the host",
    sent: request("GET /admin/host/status", [master]),
    answer: { status: 200, body: { state: "Running" }, ran: [] },
    local: {
      status: 200,
      body: { state: "Running", version: "4.1037.0.0" },
      because: "each host has an id and times of its own",
    },
  },
  {
    name: "no key for the status of the host",
    sent: request("GET /admin/host/status"),
    answer: { status: 401, ran: [] },
  },
  {
    name: "a ping",
    sent: request("GET /admin/host/ping"),
    answer: { status: 200, headers: { "cache-control": ["no-store,no-cache"] } },
  },
  { name: "a ping by POST", sent: request("POST /admin/host/ping"), answer: { status: 200 } },
  { name: "no key for the list of functions", sent: request("GET /admin/functions"), answer: { status: 401, ran: [] } },
  {
    name: "no key for a function's description",
    sent: request("GET /admin/functions/Tick"),
    answer: { status: 401, ran: [] },
  },
  { name: "a webhook that does not exist", sent: request("GET /runtime/webhooks/x"), answer: { status: 401, ran: [] } },
  {
    name: "an unknown path of the administration",
    sent: request("GET /admin/nothing", [master]),
    answer: { status: 404, ran: [] },
  },
];
