import { type Row, request } from "./row.ts";

const of = (name: string, answer: Omit<Row["answer"], "ran">): Row => ({
  name: `a function that returns ${name}`,
  sent: request(`GET /answer/${name}`),
  answer: { ...answer, ran: ["answer"] },
});

const chunked = (type: string, body: unknown) => ({
  status: 200,
  headers: { "content-type": [type], "transfer-encoding": ["chunked"] },
  body,
});

const none = { "content-length": ["0"] };

const statuses = [200, 302, 404, 418, 500, 503, 204, 304].map(
  (status): Row => ({
    name: `a function that returns the status ${status}`,
    sent: request(`GET /status/${status}`),
    answer: { status, body: [204, 304].includes(status) ? "" : "b", ran: ["status"] },
  }),
);

const invalidStatuses = [100, 999].map(
  (status): Row => ({
    name: `a function that returns the invalid status ${status}`,
    sent: request(`GET /status/${status}`),
    answer: { status: 500, headers: none, body: "", ran: ["status"] },
  }),
);

export const responseRows: readonly Row[] = [
  of("json", chunked("application/json", { hello: "world" })),
  of("text", chunked("text/plain;charset=UTF-8", "größe")),
  of("typed", chunked("application/xml", "<a/>")),
  of("bytes", { status: 200, body: "\0\x01" }),
  of("lengthy", { status: 200, headers: { "content-length": ["4"] }, body: "four" }),
  of("nothing", { status: 204, body: "" }),
  of("empty", { status: 200, headers: none, body: "" }),
  of("throws", { status: 500, headers: none, body: "" }),
  of("string", { status: 500, headers: none, body: "" }),
  of("headers", {
    status: 200,
    headers: {
      server: ["mine"],
      "cache-control": ["no-store"],
      "www-authenticate": ["Bearer"],
      "x-frame-options": ["DENY"],
    },
  }),
  of("cookies", {
    status: 200,
    headers: {
      "set-cookie": ["a=1%20%3D%3B%C3%A9; max-age=60; path=/; secure; samesite=lax; httponly", "b=two; path=/"],
    },
  }),
  of("more-cookies", {
    status: 200,
    headers: {
      "set-cookie": ["c=it%27s%20%28%21%2A%29; path=/sub; samesite=none", "d=; max-age=0; path=/; samesite=strict"],
    },
  }),
  of("header-cookies", { status: 200, headers: { "set-cookie": ["two=2"] } }),
  of("both-cookies", { status: 200, headers: { "set-cookie": ["one=1", "two=2; path=/"] } }),
  of("bad-cookie", { status: 500, body: "" }),
  ...statuses,
  ...invalidStatuses,
  {
    name: "HEAD of a function that lists it",
    sent: request("HEAD /head"),
    answer: { status: 200, body: "", ran: ["head"] },
  },
  {
    name: "OPTIONS of a function that lists it",
    sent: request("OPTIONS /head", ["Origin: http://o.test"]),
    answer: { status: 200, body: "text", ran: ["head"] },
  },
  {
    name: "a compressible response to a caller that accepts compression",
    sent: request("GET /answer/json", ["Accept-Encoding: gzip, br"]),
    answer: { ...chunked("application/json", { hello: "world" }), ran: ["answer"] },
  },
  {
    name: "POST of a function without methods",
    sent: request("POST /default-methods"),
    answer: { status: 200, ran: ["default-methods"] },
  },
  { name: "the root without a home page", sent: request("GET /"), answer: { status: 204, body: "", ran: [] } },
  { name: "POST of the root", sent: request("POST /"), answer: { status: 204, ran: [] } },
];
