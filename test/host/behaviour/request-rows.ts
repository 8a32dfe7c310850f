import { hostBodyLimitBytes } from "../../../lib/platform/http/read-body.ts";
import { type Row, request } from "./row.ts";

/** Paths, by what the function sees of them: the decoded parameter, and the address. */
const paths: readonly (readonly [path: string, below: string | undefined, address: string])[] = [
  ["/seen/a%2541", "a%41", "/seen/a%41"],
  ["/seen/a%252F", "a%2F", "/seen/a%2F"],
  ["/seen/a%2F", "a%2F", "/seen/a%2F"],
  ["/seen/a%25252F", "a%252F", "/seen/a%252F"],
  ["/seen/%C3%A9%E9%41%zz", "é%E9A%zz", "/seen/%C3%A9%E9A%25zz"],
  ["/seen/a%5C%20%5B+", "a\\ [+", "/seen/a%5C%20%5B+"],
  ["/seen/%ED%A0%80%C0%80%FF", "%ED%A0%80%C0%80%FF", "/seen/%ED%A0%80%C0%80%FF"],
  ["/../../seen/./a", "a", "/seen/a"],
  ["/other/../seen/a/%2e%2e/", undefined, "/seen/"],
  ["/seen/b/..", undefined, "/seen/"],
  ["/SEEN/a%2Fb%20c/", "a%2Fb c", "/SEEN/a%2Fb%20c/"],
  ["/seen/", undefined, "/seen/"],
];

const pathRows = paths.map(
  ([path, below, address]): Row => ({
    name: `the path ${path}`,
    sent: request(`GET ${path}`),
    answer: {
      status: 200,
      body: { params: below === undefined ? {} : { below }, url: `http://h${address}` },
      ran: [below === undefined ? "seen" : "seen-below"],
    },
  }),
);

/** Method and path, by the function that answers. */
const routes: readonly (readonly [line: string, name: string | undefined])[] = [
  ["GET /users/delete", "ovA_param"],
  ["GET /items/delete", "owA_literal"],
  ["GET /items/other", "owZ_param"],
  ["GET /order/1", "yak"],
  ["GET /mark/1", "aZ"],
  ["GET /item", "item_get"],
  ["PUT /item", "item_put"],
  ["POST /item", undefined],
  ["GET /dup", "dupA"],
  ["POST /dup", undefined],
  ["GET /administration/x", undefined],
  ["GET /runtime/x", undefined],
  ["GET /.well-known/openid-configuration", "discovery"],
  ["GET /%25MYROUTE%25/x", "setting"],
  ["GET /resolved/x", undefined],
  ["GET /ITEM/", "item_get"],
  ["GET //item", undefined],
  ["GET /item//", undefined],
  ["GET /item/more", undefined],
  ["GET /users", undefined],
  ["GET /users//", undefined],
  ["GET /favicon.ico", undefined],
  ["GET /adm", undefined],
  ["HEAD /item", undefined],
  ["OPTIONS /item", undefined],
  ["TRACE /item", undefined],
  ["PROPFIND /item", undefined],
  ["FOO /item", undefined],
  ["DELETE /get-only", undefined],
  ["GET /off", undefined],
  ["GET /off2", undefined],
  ["GET /off3", undefined],
  ["GET /on", "on"],
  ["PUT /default-methods", undefined],
];

const routeRows = routes.map(
  ([line, name]): Row => ({
    name: name === undefined ? `${line}, which no function has` : `${line}, which ${name} answers`,
    sent: request(line),
    answer:
      name === undefined
        ? { status: 404, headers: line.startsWith("HEAD") ? {} : { "content-length": ["0"] }, body: "", ran: [] }
        : { status: 200, body: name, ran: [name] },
  }),
);

const ok = { status: 200, ran: ["seen"] };
const refused = (status: number) => ({ status, body: "", ran: [] });

const raw: readonly Row[] = [
  {
    name: "forwarding headers, which change neither address nor caller",
    sent: request("GET /seen?q=1&q=%C3%A9", ["X-Forwarded-Host: evil.test", "X-Forwarded-Proto: https"]),
    answer: { ...ok, body: { url: "http://h/seen?q=1&q=%C3%A9", user: null } },
  },
  {
    name: "repeated query names, joined by a comma",
    sent: request("GET /seen?a=1&a=2&A=3&b=&c&d=x%20y+z"),
    answer: {
      ...ok,
      body: {
        query: [
          ["a", "1,2,3"],
          ["b", ""],
          ["c", ""],
          ["d", "x y z"],
        ],
      },
    },
  },
  {
    name: "an encoded NUL in the query",
    sent: request("GET /seen?a=%00"),
    answer: { ...ok, body: { query: [["a", "\0"]] } },
  },
  { name: "an encoded NUL in the path", sent: request("GET /seen/%00"), answer: refused(400) },
  {
    name: "repeated headers, joined by a comma",
    sent: request("GET /seen", ["X-Twice: a", "X-Twice: b", "Cookie: c=1", "Cookie: d=2", "Authorization: Bearer t"]),
    answer: { ...ok, body: { headers: { "x-twice": "a,b", cookie: "c=1,d=2", authorization: "Bearer t" } } },
  },
  {
    name: "UTF-8 in a header",
    sent: request("GET /seen", [`X: ${Buffer.from("Grüße").toString("latin1")}`]),
    answer: { ...ok, body: { headers: { x: "Grüße" } } },
  },
  {
    name: "a character above U+00FF in a header",
    sent: request("GET /seen", [`X: ${Buffer.from("☕").toString("latin1")}`]),
    answer: { ...refused(500) },
  },
  { name: "a header that is not UTF-8", sent: request("GET /seen", ["X: \xe9"]), answer: refused(400) },
  { name: "control characters in a header", sent: request("GET /seen", ["X: a\x01b\x7fc"]), answer: ok },
  { name: "NUL in a header", sent: request("GET /seen", ["X: a\0b"]), answer: refused(400) },
  {
    name: "a folded header",
    sent: request("GET /seen", ["X: a\r\n b"]),
    answer: refused(400),
    local: { ...ok, because: "Node's parser unfolds it" },
  },
  { name: "an unknown expectation", sent: request("GET /seen", ["Expect: foo"]), answer: ok },
  { name: "bare line feeds", sent: "GET /seen HTTP/1.1\nHost: h\nConnection: close\n\n", answer: ok },
  {
    name: "a body",
    sent: request("PUT /seen", [], "größe {"),
    answer: { ...ok, body: { body: Buffer.from("größe {").toString("base64") } },
  },
  {
    name: "a body of GET, which is dropped",
    sent: request("GET /seen", [], "lost"),
    answer: { ...ok, body: { body: "", headers: { "content-length": "4" } } },
  },
  {
    name: "a body of DELETE",
    sent: request("DELETE /seen", [], "kept"),
    answer: { ...ok, body: { body: "a2VwdA==" } },
  },
  {
    name: "a chunked body, which is dropped",
    sent: request("POST /seen", ["Transfer-Encoding: chunked", "", "2\r\nhi\r\n0"]),
    answer: { ...ok, body: { body: "", headers: { "transfer-encoding": "chunked" } } },
  },
  {
    name: "a length together with chunks",
    sent: request("POST /seen", ["Content-Length: 2", "Transfer-Encoding: chunked", "", "2\r\nhi\r\n0"]),
    answer: { ...ok, body: { body: "" } },
  },
  {
    name: "a malformed chunk",
    sent: request("POST /seen", ["Transfer-Encoding: chunked", "", "zz\r\nhi\r\n0"]),
    answer: { ...ok, body: { body: "" } },
    local: { status: 400, because: "Node's parser refuses it when the function runs already" },
  },
  {
    name: "the transfer encoding identity",
    sent: request("POST /seen", ["Transfer-Encoding: identity"]),
    answer: refused(400),
  },
  {
    name: "a JSON body",
    sent: request("POST /body-as/json", [], '{"a":"é"}'),
    answer: { status: 200, body: { a: "é" } },
  },
  {
    name: "a malformed JSON body",
    sent: request("POST /body-as/json", [], "{"),
    answer: { status: 500, body: "", ran: ["body-as"] },
  },
  {
    name: "a form",
    sent: request("POST /body-as/form", ["Content-Type: application/x-www-form-urlencoded"], "a=1&a=%C3%A9+2"),
    answer: {
      status: 200,
      body: [
        ["a", "1"],
        ["a", "é 2"],
      ],
    },
  },
  {
    name: "a multipart form",
    sent: request(
      "POST /body-as/form",
      ["Content-Type: multipart/form-data; boundary=xx"],
      '--xx\r\nContent-Disposition: form-data; name="a"\r\n\r\ngröße\r\n--xx--\r\n',
    ),
    answer: { status: 200, body: [["a", "größe"]] },
  },
  {
    name: "a body over the limit",
    sent: request("POST /seen", [`Content-Length: ${hostBodyLimitBytes + 1}`]),
    answer: { status: 500, headers: { "content-length": ["0"], connection: ["close"] }, body: "", ran: [] },
  },
  {
    name: "a request line over 8,190 bytes",
    sent: request(`GET /seen?${"x".repeat(8191 - 19)}`),
    answer: refused(414),
  },
  { name: "a request line of 8,190 bytes", sent: request(`GET /seen?${"x".repeat(8190 - 19)}`), answer: ok },
  { name: "a header of 31,000 bytes", sent: request("GET /seen", [`X: ${"x".repeat(31_000)}`]), answer: ok },
  { name: "headers over 32 KiB", sent: request("GET /seen", [`X: ${"x".repeat(33_000)}`]), answer: refused(431) },
  { name: "headers of 1 MB", sent: request("GET /seen", [`X: ${"x".repeat(1_000_000)}`]), answer: refused(431) },
  {
    name: "100 lines of headers",
    sent: request(
      "GET /seen",
      Array.from({ length: 98 }, (_, index) => `X-${index}: 1`),
    ),
    answer: ok,
  },
  {
    name: "101 lines of headers",
    sent: request(
      "GET /seen",
      Array.from({ length: 99 }, (_, index) => `X-${index}: 1`),
    ),
    answer: refused(431),
  },
  { name: "no Host", sent: "GET /seen HTTP/1.1\r\n\r\n", answer: refused(400) },
  { name: "an empty Host", sent: "GET /seen HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", answer: refused(500) },
  { name: "HTTP/1.0 without Host", sent: "GET /seen HTTP/1.0\r\n\r\n", answer: refused(500) },
  { name: "two Hosts", sent: "GET /seen HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", answer: refused(400) },
  { name: "a Host with a path", sent: "GET /seen HTTP/1.1\r\nHost: a/b\r\n\r\n", answer: refused(400) },
  { name: "an invalid Host", sent: "GET /seen HTTP/1.1\r\nHost: a b\r\n\r\n", answer: refused(400) },
  { name: "an invalid header name", sent: "GET /seen HTTP/1.1\r\nHost: h\r\nb d: 1\r\n\r\n", answer: refused(400) },
  {
    name: "two lengths",
    sent: "POST /seen HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    answer: refused(400),
  },
  { name: "a byte above 7F in the target", sent: "GET /seen?\xe9 HTTP/1.1\r\nHost: h\r\n\r\n", answer: refused(400) },
  {
    name: "the address of another host as target",
    sent: "GET http://other/seen HTTP/1.1\r\nHost: h\r\n\r\n",
    answer: refused(400),
  },
  { name: "its own address as target", sent: request("GET http://h/seen"), answer: ok },
  { name: "a target without a slash", sent: request("GET seen"), answer: refused(405) },
  { name: "OPTIONS *", sent: request("OPTIONS *"), answer: refused(404) },
  { name: "CONNECT", sent: "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\nConnection: close\r\n\r\n", answer: refused(404) },
  { name: "HTTP/1.2", sent: "GET /seen HTTP/1.2\r\nHost: h\r\n\r\n", answer: refused(505) },
  { name: "HTTP/2.0", sent: "GET /seen HTTP/2.0\r\nHost: h\r\n\r\n", answer: refused(505) },
  { name: "no version", sent: "GET /seen\r\nHost: h\r\n\r\n", answer: refused(400) },
  {
    name: "a method in lower case",
    sent: request("get /seen"),
    answer: { ...ok, body: { method: "GET" } },
    local: { status: 404, ran: [], because: "Node's parser does not know the method" },
  },
  { name: "text that is no request", sent: "hello\r\n\r\n", answer: refused(400) },
  { name: "a TLS hello", sent: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", answer: refused(400) },
];

export const requestRows: readonly Row[] = [...pathRows, ...routeRows, ...raw];
