// Lets a RADIUS server ask the authentication server: FreeRADIUS runs this program as an `exec` module, with the attributes
// of the request in the environment. docs/sign-in.md has its configuration. Other systems that run a program can do the same:
//
//   env User-Name=alice User-Password=secret,vvgutbiedkvi… node auth-radius.mjs https://auth.example.com/client
//
// Only the response body `true` accepts: `authenticate` answers 200 to wrong credentials too. The program ends with the codes of
// the module: 0 ok, 1 reject, 2 fail, 6 userlock. The user types the OTP, or the temporary code of a lost OTP key, after
// the password and a comma.
const { "User-Name": username = "", "User-Password": typed = "", USER_NAME } = process.env;
const [, , url = ""] = process.argv;
const codes = { ok: 0, reject: 1, fail: 2, userlock: 6 };

process.exitCode = codes[await check()];

async function check() {
  if (USER_NAME !== undefined) {
    console.error("Set `shell_escape = no` in the exec module: it changes the names and values of the attributes.");
    return "fail";
  }
  try {
    const response = await fetch(`${url}/authenticate`, {
      method: "POST",
      body: new URLSearchParams({ username, ...splitTyped(typed) }),
      redirect: "error",
      signal: AbortSignal.timeout(8000),
    });
    if ((await response.text()) === "true") return "ok";
    // Without Retry-After the Functions host is overloaded, and no user is locked.
    if (response.status === 429) return response.headers.has("retry-after") ? "userlock" : "fail";
    return response.status < 500 ? "reject" : "fail";
  } catch (error) {
    // The message goes to the RADIUS server's log; it never contains the password.
    console.error(`The authentication server is not responding: ${error.cause?.message ?? error.message}`);
    return "fail";
  }
}

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
