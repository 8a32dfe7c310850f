import { azureHostKeys as keys } from "../../../local/azure-host/start-azure-host.ts";
import { type Row, request } from "./row.ts";

const withKey = (key: string): string => `X-Functions-Key: ${key}`;
const json = "Content-Type: application/json";
const refused = { status: 401, headers: { "content-length": ["0"] }, body: "", ran: [] };
const withKeyAnswers = { status: 200, ran: ["with-key"] };

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

const key = keys.master;
const master = withKey(key);
const wrongCase = withKey(key.toUpperCase());

/** What the local host does not have: it answers 404 with or without the key. */
const missing = (name: string, line: string, headers: readonly string[], status: number): Row => ({
  name,
  sent: request(line, headers),
  answer: { status, ran: [] },
  local: { status: 404, ran: [], because: "of the administration it has the ping and the start of a function only" },
});

/** The first rows depend on their order: the host remembers a valid key without regard to its case. */
export const adminRows: readonly Row[] = [
  ofKey("a key in the wrong letter case before its first use", "GET /with-key", [wrongCase], refused),
  ofKey("no key for a function that requires one", "GET /with-key", [], refused),
  ofKey("a wrong key", "GET /with-key", [withKey("bad")], refused),
  ofKey("an empty key", "GET /with-key", [withKey("")], refused),
  ofKey("a host key for a function that requires the master key", "GET /with-key", [withKey(keys.host)], refused),
  ofKey("the master key", "GET /with-key", [master], { ...withKeyAnswers, body: [key, null] }),
  ofKey("a key in the wrong letter case after its first use", "GET /with-key", [wrongCase], withKeyAnswers),
  ofKey("the key in the query", `GET /with-key?CODE=${key}`, [], withKeyAnswers),
  ofKey("a wrong key in the header and the key in the query", `GET /with-key?code=${key}`, [withKey("bad")], refused),
  ofKey("an empty key in the header and the key in the query", `GET /with-key?code=${key}`, [withKey("")], refused),
  ofKey("a wrong key before the key", "GET /with-key", [withKey("bad"), master], refused),
  ofKey("the key before a wrong key", "GET /with-key", [master, withKey("bad")], withKeyAnswers),
  ofKey("a wrong key before the key in the query", `GET /with-key?code=bad&code=${key}`, [], refused),
  ofKey("the key before a wrong key in the query", `GET /with-key?code=${key}&code=bad`, [], withKeyAnswers),
  ofKey("another method of a function that requires a key", "POST /get-only", [], { status: 404, ran: [] }),
  {
    name: "no key for a start of a function",
    sent: request("POST /admin/functions/Tick", [json], "{}"),
    answer: { status: 401, headers: { "www-authenticate": ["Bearer"] }, ran: [] },
  },
  start("with a wrong key", [json, withKey("bad")], 401),
  {
    ...start("with a host key", [json, withKey(keys.host)], 403),
    local: { status: 401, ran: [], because: "it has no key but the master key" },
  },
  start("without a content type", [master], 415),
  start("with text", [master, "Content-Type: text/plain"], 415),
  ...["", "{", "null", "[]", '"x"'].map(body => start(`with the body ${body || "nothing"}`, [master, json], 400, body)),
  start("that does not exist", [master, json], 404, "{}", "Unknown"),
  {
    name: "a ping",
    sent: request("GET /admin/host/ping"),
    answer: { status: 200, headers: { "cache-control": ["no-store,no-cache"] } },
  },
  { name: "a ping by POST", sent: request("POST /admin/host/ping"), answer: { status: 200 } },
  missing("the master key for the status of the host", "GET /admin/host/status", [master], 200),
  missing("no key for the status of the host", "GET /admin/host/status", [], 401),
  missing("no key for the list of functions", "GET /admin/functions", [], 401),
  missing("the master key for a function's description", "GET /admin/functions/Tick", [master], 200),
  missing("a webhook that does not exist", "GET /runtime/webhooks/x", [], 401),
  {
    name: "an unknown path of the administration",
    sent: request("GET /admin/nothing", [master]),
    answer: { status: 404, ran: [] },
  },
];
