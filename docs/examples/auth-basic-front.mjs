// HTTP Basic authentication in front of a web application that has none of its own. Every request whose user the authentication
// server knows goes on to the application, with the user's name in the header X-Remote-User; everything else ends here.
//
//   AUTH_URL=https://auth.example.com/client UPSTREAM=http://127.0.0.1:3000 PORT=8080 node auth-basic-front.mjs
//
// The OTP travels at the end of the password, after a comma: the user types the password, a comma, and touches the key. Who has
// no key types the password alone; who has lost it types its temporary code as the OTP. So a password must not end like a comma and
// one of these; other commas are part of it.
//
// A browser sends the same header with every request, but an OTP passes once. So a header that was good stays good for
// REMEMBER_SECONDS (900; 0 asks every time, which OTPs cannot stand): that long, a user who was deleted can still come in.
// Put TLS before it: Basic authentication sends the password in the clear. Where the deployment limits addresses
// (AUTH_ADDRESS_LIMIT), this server's address belongs on the allow-list: it signs in every user.
import { createHash, randomBytes } from "node:crypto";
import { createServer, request as send } from "node:http";

const { AUTH_URL = "", UPSTREAM = "http://127.0.0.1:3000", PORT = "8080", REMEMBER_SECONDS = "900" } = process.env;
const { hostname, port } = new URL(UPSTREAM);
const mostRemembered = 10_000;

/** Headers that were good, by a digest that only this process can make: no password is kept. */
const remembered = new Map();
const salt = randomBytes(32);

/**
 * Splits `password,otp`, or a password alone. White space in the OTP is ignored, such as the line end that a device sends; the
 * password is not changed.
 */
function splitTyped(typed) {
  const comma = typed.lastIndexOf(",");
  const otp = typed.slice(comma + 1).replace(/\s/g, "");
  const isOtp = /^[0-9a-z]{1,32}(?:[0-9]{6,8}|[cbdefghijklnrtuv]{32}|(?:-[0-9a-z]{4}){4})$/i.test(otp);
  return comma >= 0 && isOtp ? { password: typed.slice(0, comma), otp } : { password: typed, otp: "" };
}

/** What a Basic header holds (RFC 7617); undefined for anything else. */
function credentialsOf(header) {
  const [, base64] = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(header) ?? [];
  const text = base64 && Buffer.from(base64, "base64").toString();
  const colon = text?.indexOf(":") ?? -1;
  if (colon < 1) return undefined;
  return { username: text.slice(0, colon), ...splitTyped(text.slice(colon + 1)) };
}

/** Calls the authentication server. Only the response `true` signs a user in; every failure is a refusal. */
async function ask(credentials) {
  try {
    const response = await fetch(`${AUTH_URL}/authenticate`, {
      method: "POST",
      body: new URLSearchParams(credentials),
      redirect: "error",
      signal: AbortSignal.timeout(10_000),
    });
    // Before the body is read: an overloaded Functions host answers 429 without one.
    if (response.status === 429) return { status: 429, retryAfter: response.headers.get("retry-after") ?? "30" };
    const answer = await response.json();
    if (response.status === 200) return { status: answer === true ? 200 : 401 };
    if (response.status === 400) return { status: 401 };
    console.error(`The authentication server answers ${response.status}.`);
  } catch (error) {
    console.error(`The authentication server is not responding: ${error.cause?.message ?? error.message}`);
  }
  return { status: 503, retryAfter: "10" };
}

/** Asks once for each header, also where a browser sends many requests at a time. */
async function check(header, credentials) {
  const digest = createHash("sha256").update(salt).update(header).digest("hex");
  const known = remembered.get(digest);
  if (known !== undefined && known.until > Date.now()) return known.answer;
  const entry = { answer: ask(credentials), until: Number.POSITIVE_INFINITY };
  remembered.delete(digest);
  remembered.set(digest, entry);
  if (remembered.size > mostRemembered) remembered.delete(remembered.keys().next().value);
  const answer = await entry.answer;
  entry.until = answer.status === 200 ? Date.now() + Number(REMEMBER_SECONDS) * 1000 : 0;
  return answer;
}

/** One spelling for one user, as the authentication server folds names; percent-encoded, because headers are ASCII. */
const remoteUser = username => encodeURIComponent(username.trim().normalize("NFC").toLowerCase().normalize("NFC"));

/** The request's headers without the password, and without a user's name that its sender made up. */
const forwarded = headers =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !["authorization", "connection", "x-remote-user"].includes(name.replaceAll("_", "-")),
    ),
  );

const refusals = {
  401: ["Who are you?", { "www-authenticate": 'Basic realm="application", charset="UTF-8"' }],
  429: ["Too many failures. Try again later.", {}],
  503: ["Sign-in is not available at the moment. Try again later.", {}],
};

const server = createServer(async (request, response) => {
  const header = request.headers.authorization ?? "";
  const credentials = credentialsOf(header);
  const { status, retryAfter } = credentials === undefined ? { status: 401 } : await check(header, credentials);
  if (status !== 200) {
    const [text, headers] = refusals[status];
    response.writeHead(status, { ...headers, ...(retryAfter && { "retry-after": retryAfter }) }).end(`${text}\n`);
    request.resume();
    return;
  }
  const { method, url: path } = request;
  const headers = { ...forwarded(request.headers), "x-remote-user": remoteUser(credentials.username) };
  // By its parts: a path like `//elsewhere/` must not choose the host.
  const onward = send({ hostname, port, path, method, headers });
  onward.on("response", answer => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.on("close", () => onward.destroy());
  request.pipe(onward);
});

server.listen(Number(PORT), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
