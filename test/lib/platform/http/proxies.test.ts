import { describe, expect, it } from "vitest";
import type { Call } from "../../../../lib/platform/http/call.ts";
import { callerAddress } from "../../../../lib/platform/http/proxies.ts";

function addressOf(forwardedFor: string | undefined, trustedProxies: number): string | undefined {
  const headers = new Headers(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor });
  const call: Call = {
    method: "GET",
    url: new URL("https://auth.example/client/status"),
    params: {},
    headers,
    invocationId: "1",
    body: new Uint8Array(),
  };
  return callerAddress(call, trustedProxies);
}

describe("the caller's address", () => {
  it.each([
    ["203.0.113.5", 1, "203.0.113.5"],
    ["203.0.113.5, 192.0.2.1", 1, "192.0.2.1"],
    ["203.0.113.5, 192.0.2.1", 2, "203.0.113.5"],
    ["1.1.1.1, 203.0.113.5 ,192.0.2.1", 2, "203.0.113.5"],
    ["203.0.113.5:51234", 1, "203.0.113.5"],
    ["203.0.113.5:51234, 192.0.2.1:443", 2, "203.0.113.5"],
    ["[2001:db8::7]:443", 1, "2001:db8::7"],
    ["2001:db8::7", 1, "2001:db8::7"],
  ])("of %j behind %i proxies is %s: what the caller wrote itself is not believed", (header, proxies, address) => {
    expect(addressOf(header, proxies)).toBe(address);
  });

  it("is the outermost reported one if a caller bypassed a proxy, so bypassing hides no address", () => {
    expect(addressOf("192.0.2.1", 2)).toBe("192.0.2.1");
    expect(addressOf("203.0.113.5, 192.0.2.1", 5)).toBe("203.0.113.5");
  });

  it("is not known if no proxy is trusted, or no proxy reported it", () => {
    expect(addressOf("203.0.113.5", 0)).toBeUndefined();
    expect(addressOf(undefined, 1)).toBeUndefined();
    expect(addressOf("", 1)).toBeUndefined();
    expect(addressOf("203.0.113.5, ", 1)).toBeUndefined();
  });
});
