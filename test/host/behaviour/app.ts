// The functions of the table of behaviour. They are served by the local host and by Azure's.
import { app, type HttpRequest, type HttpResponseInit } from "@azure/functions";

/** Names of the functions that have run since the last look. */
let ran: string[] = [];

/** What a function sees of its request. */
async function seen(request: HttpRequest): Promise<HttpResponseInit> {
  return {
    jsonBody: {
      method: request.method,
      url: request.url,
      query: [...request.query],
      params: request.params,
      headers: Object.fromEntries(request.headers),
      user: request.user,
      body: Buffer.from(await request.arrayBuffer()).toString("base64"),
    },
  };
}

/** The responses of `answer/{name}`. */
const answers: Readonly<Record<string, () => HttpResponseInit>> = {
  json: () => ({ jsonBody: { hello: "world" } }),
  text: () => ({ body: "größe" }),
  bytes: () => ({ body: new Uint8Array([0, 1]) }),
  typed: () => ({ body: "<a/>", headers: { "content-type": "application/xml" } }),
  lengthy: () => ({ body: "four", headers: { "content-length": "4" } }),
  nothing: () => undefined as unknown as HttpResponseInit,
  empty: () => ({}),
  throws: () => {
    throw new Error("a secret of the handler");
  },
  string: () => "text" as unknown as HttpResponseInit,
  headers: () => ({
    headers: { server: "mine", "cache-control": "no-store", "www-authenticate": "Bearer", "x-frame-options": "DENY" },
  }),
  cookies: () => ({
    cookies: [
      { name: "a", value: "1 =;é", maxAge: 60, path: "/", secure: true, httpOnly: true, sameSite: "Lax" },
      { name: "b", value: "two" },
    ],
  }),
  "more-cookies": () => ({
    cookies: [
      { name: "c", value: "it's (!*)", path: "/sub", sameSite: "None" },
      { name: "d", value: "", maxAge: 0, sameSite: "Strict" },
    ],
  }),
  "header-cookies": () => ({
    headers: new Headers([
      ["set-cookie", "one=1"],
      ["set-cookie", "two=2"],
    ]),
  }),
  "both-cookies": () => ({ headers: { "set-cookie": "one=1" }, cookies: [{ name: "two", value: "2" }] }),
  "bad-cookie": () => ({ headers: { "x-mine": "1" }, cookies: [{ name: "a\r\nx-injected: 1", value: "" }], body: "b" }),
};

async function bodyAs(request: HttpRequest): Promise<HttpResponseInit> {
  if (request.params.kind === "json") return { jsonBody: await request.json() };
  if (request.params.kind === "text") return { body: await request.text() };
  return { jsonBody: [...(await request.formData())].map(([name, value]) => [name, String(value)]) };
}

type Options = Parameters<typeof app.http>[1];

function http(name: string, { handler, ...options }: Options): void {
  app.http(name, {
    ...options,
    handler: (request, context) => {
      ran.push(name);
      return handler(request, context);
    },
  });
}

const named = (name: string, route: string, methods: Options["methods"] = ["GET"]) =>
  http(name, { route, methods, handler: () => ({ body: name }) });

/** Registers every function of the table. */
export function registerAll(): void {
  app.http("ran", {
    methods: ["GET"],
    handler: () => {
      const names = ran;
      ran = [];
      return { jsonBody: names };
    },
  });
  http("seen", { methods: ["GET", "POST", "PUT", "DELETE"], handler: seen });
  http("seen-below", { methods: ["GET"], route: "Seen/{below}", handler: seen });
  http("default-methods", { handler: () => ({}) });
  http("head", { methods: ["GET", "HEAD", "OPTIONS"], handler: () => ({ body: "text" }) });
  http("get-only", { methods: ["GET"], authLevel: "admin", handler: () => ({ body: "text" }) });
  http("answer", {
    route: "answer/{name}",
    handler: ({ params }) => {
      const make = answers[params.name ?? ""];
      if (make === undefined) throw new Error(`no answer ${params.name}`);
      return make();
    },
  });
  http("status", {
    route: "status/{code}",
    handler: ({ params }) => ({ status: Number(params.code), body: "b" }),
  });
  http("body-as", { methods: ["POST"], route: "body-as/{kind}", handler: bodyAs });
  const keys = ({ headers, query }: HttpRequest) => ({
    jsonBody: [headers.get("x-functions-key"), query.get("code")],
  });
  http("with-key", { authLevel: "admin", handler: keys });
  for (const name of ["off", "off2", "off3", "on"]) named(name, name);
  // The later in the order of names is registered first: the order of registration must not matter.
  named("ovB_literal", "users/delete");
  named("ovA_param", "users/{id}");
  named("owZ_param", "items/{id}");
  named("owA_literal", "items/delete");
  named("Zebra", "order/{x}");
  named("yak", "order/{y}");
  named("a_under", "mark/{x}");
  named("aZ", "mark/{y}");
  named("item_get", "item");
  named("item_put", "item", ["PUT"]);
  named("dupB", "DUP", ["GET", "POST"]);
  named("dupA", "dup", ["GET"]);
  named("built-in", "administration/x");
  named("built-in-2", "Runtime/x");
  named("discovery", ".well-known/openid-configuration");
  named("setting", "%MYROUTE%/x");
  app.timer("Tick", { schedule: "0 0 0 29 2 *", handler: () => void ran.push("Tick") });
}
