// A session without a browser: login, status, logout, by cookie. What a program does that acts for a user.
//
//   AUTH_URL=https://auth.example.com/client AUTH_USERNAME=alice AUTH_PASSWORD=secret AUTH_OTP=vvgutbiedkvi… node auth-session.mjs
const { AUTH_URL = "", AUTH_USERNAME = "", AUTH_PASSWORD = "", AUTH_OTP = "" } = process.env;

/** Calls the Client API. Returns its answer, and the cookie that it sets. */
async function call(path, { fields = {}, cookie = "" } = {}) {
  const response = await fetch(`${AUTH_URL}${path}`, {
    method: "POST",
    headers: { cookie },
    body: new URLSearchParams(fields),
    redirect: "error",
    signal: AbortSignal.timeout(10_000),
  });
  const [set = ""] = response.headers.getSetCookie();
  const wait = response.headers.get("retry-after") ?? "a few";
  // An overloaded Functions host answers 429 without a body and without Retry-After.
  const body = await response.json().catch(() => ({ error: "The server does not respond as expected." }));
  return { status: response.status, body, wait, cookie: set.split(";")[0] };
}

const credentials = { username: AUTH_USERNAME, password: AUTH_PASSWORD, otp: AUTH_OTP };
const login = await call("/login", { fields: credentials });
if (login.status === 200) {
  const { cookie } = login;
  const { body } = await call("/status", { cookie });
  console.log(
    `${body.username} (${body.user_id}) is signed in since ${new Date(body._creation_time * 1000).toISOString()}`,
  );
  console.log(body.prefix === null ? "by password alone" : `with the key ${body.prefix}`);
  console.log(`logout: ${(await call("/logout", { cookie })).body}`);
  // A kept copy of the cookie is worthless now.
  const after = await call("/status", { cookie });
  console.log(`status: ${after.status} ${after.body.error}`);
} else {
  const again = [429, 503].includes(login.status) ? ` Wait ${login.wait} seconds.` : "";
  console.error(`login: ${login.status} ${login.body.error}${again}`);
  process.exitCode = 1;
}
