// Lets a RADIUS server, or any other system that runs a program to check a password, ask the authentication server: the
// answer's body is compared with `true`, and nothing else counts.
//
//   USER_NAME=alice USER_PASSWORD=secret,vvgutbiedkvi… node auth-radius.mjs https://auth.example.com/client
//
// It is called as FreeRADIUS calls the program of an `exec` module, with the attributes of the request in the environment:
//
//   exec authserver {
//     wait = yes
//     program = "/usr/bin/node /etc/freeradius/auth-radius.mjs https://auth.example.com/client"
//     input_pairs = request
//     shell_escape = no
//     timeout = 10
//   }
//
// and ends with that module's codes: 0 ok, 1 reject, 2 fail, 6 userlock. An OTP travels at the end of the password, after a comma,
// and so does the temporary code of a lost OTP key.
const { USER_NAME = "", USER_PASSWORD = "" } = process.env;
const [, , url = ""] = process.argv;
const codes = { ok: 0, reject: 1, fail: 2, userlock: 6 };

process.exitCode = codes[await check()];

async function check() {
  // A password alone, or `password,otp`.
  const [, password = USER_PASSWORD, otp = ""] =
    /^(.*),([0-9a-z]{1,32}(?:[0-9]{6,8}|[cbdefghijklnrtuv]{32}|(?:-[0-9a-z]{4}){4}))$/is.exec(USER_PASSWORD) ?? [];
  try {
    const response = await fetch(`${url}/authenticate`, {
      method: "POST",
      body: new URLSearchParams({ username: USER_NAME, password, otp }),
      redirect: "error",
      signal: AbortSignal.timeout(8000),
    });
    if ((await response.text()) === "true") return "ok";
    // Without Retry-After the Functions host is overloaded, and no user is locked.
    if (response.status === 429) return response.headers.has("retry-after") ? "userlock" : "fail";
    return response.status < 500 ? "reject" : "fail";
  } catch (error) {
    // What it says goes to the RADIUS server's log; it never holds the password.
    console.error(`The authentication server does not answer: ${error.cause?.message ?? error.message}`);
    return "fail";
  }
}
