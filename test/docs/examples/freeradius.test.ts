import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../../local/azure-host/free-port.ts";
import { startAuthHost } from "../../support/auth/host.ts";
import { whereInstalled } from "../../support/where-installed.ts";
import { programOf } from "../program-of.ts";
import { person } from "./auth-people.ts";
import { type Gateway, isInstalled, startGateway } from "./gateway.ts";

const isThere = isInstalled("freeradius") && isInstalled("radclient");
const secret = "testing123";

/** A small server around the configuration of docs/sign-in.md, whose paths and address are those of this test. */
const configuration = (directory: string, { port, clientUrl }: { port: number; clientUrl: string }) => {
  const block = (name: string) => programOf("docs/sign-in.md", `freeradius-${name}`);
  const module = block("module").replace(
    "/usr/bin/node /etc/freeradius/3.0/auth-radius.mjs https://auth.example.com/client",
    `${process.execPath} ${resolve("docs/examples/auth-radius.mjs")} ${clientUrl}`,
  );
  return `
libdir = /usr/lib/freeradius
logdir = ${directory}
run_dir = ${directory}
security {
  reject_delay = 0
  allow_vulnerable_openssl = yes
}
client localhost {
  ipaddr = 127.0.0.1
  secret = ${secret}
}
modules {
${module}
}
server default {
  listen {
    type = auth
    ipaddr = 127.0.0.1
    port = ${port}
  }
  authorize {
${block("authorize")}
  }
  authenticate {
${block("authenticate")}
  }
}
`;
};

describe.skipIf(!isThere)(whereInstalled("the configuration for FreeRADIUS", "freeradius", isThere), () => {
  let auth: Awaited<ReturnType<typeof startAuthHost>>;
  let gateway: Gateway;
  let port: number;

  beforeAll(async () => {
    [auth, port] = await Promise.all([startAuthHost(), freePort()]);
    const { clientUrl } = auth;
    gateway = await startGateway(
      { name: "radiusd.conf", text: directory => configuration(directory, { port, clientUrl }) },
      directory => ["freeradius", "-f", "-l", "stdout", "-xx", "-d", directory],
      log => log.includes("Ready to process requests"),
    );
  });
  afterAll(() => gateway?.close());

  /** Sends a request and returns the kind of the response, such as `Access-Accept`. */
  const ask = (username: string, password: string): string | undefined => {
    const text = (value: string) =>
      `"${value.replace(/[\\"]/g, "\\$&").replaceAll("\r", "\\r").replaceAll("\n", "\\n")}"`;
    const input = `User-Name = ${text(username)}\nUser-Password = ${text(password)}\n`;
    const args = ["-x", "-r", "1", "-t", "20", `127.0.0.1:${port}`, "auth", secret];
    const { stdout } = spawnSync("radclient", args, { input, encoding: "utf8" });
    return /^Received (\S+)/m.exec(stdout)?.[1];
  };

  it("accepts the right password, with any characters, and rejects a wrong one", async () => {
    const password = 'Pässword, with "quotes" \\ $HOME and %{User-Name} ';
    const { name } = await person(auth, { name: "Rädius", password });
    expect(ask(name, password), gateway.log()).toBe("Access-Accept");
    expect(ask(name, password.trimEnd())).toBe("Access-Reject");
    expect(ask(name, "wrong")).toBe("Access-Reject");
    expect(ask("nobody", password)).toBe("Access-Reject");
  });

  it("accepts `password,OTP` once, also with a line end, and rejects the password alone", async () => {
    const password = "a password, with a comma";
    const { name, nextOtp } = await person(auth, { name: "radius-otp", password, withKey: true });
    const typed = `${password},${nextOtp()}`;
    expect(ask(name, typed)).toBe("Access-Accept");
    expect(ask(name, typed)).toBe("Access-Reject");
    expect(ask(name, password)).toBe("Access-Reject");
    expect(ask(name, `wrong,${nextOtp()}`)).toBe("Access-Reject");
    expect(ask(name, `${password},${nextOtp()}\r\n`)).toBe("Access-Accept");
  });
});
