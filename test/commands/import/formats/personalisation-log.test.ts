import { describe, expect, it } from "vitest";
import { type LogOptions, readPersonalisationLog } from "../../../../commands/import/formats/personalisation-log.ts";
import { itemsOf, reasonOf } from "./read-lines.ts";

const hex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
const aes = "d26a7c0f85fdda28bd816e406342b214";
const seed = "916821d3a138bf855e70069605559a206ba854cd";
const keysOf = (text: string, options?: LogOptions) => itemsOf(readPersonalisationLog(text, options));
const refusalOf = (text: string) => reasonOf(readPersonalisationLog(text));

describe("the traditional layout", () => {
  const yubico = `Yubico OTP,12/11/2013 11:10,1,vvgutbiedkvi,ab86c04de6a3,${aes},,,0,0,0,0,0,0,0,0,0,0`;
  const oath = (publicId: string, flags = "0,1,0", digits = 6, counter = 0) =>
    `OATH-HOTP,11.12.13 18:55,1,${publicId},,${seed},,,${flags},${digits},${counter},0,0,0,0,0`;

  it("gives Yubico keys", () => {
    expect(keysOf(yubico)).toEqual([
      { prefix: "vvgutbiedkvi", kind: "yubico", secret: hex(aes), privateId: hex("ab86c04de6a3") },
    ]);
  });

  it("gives OATH keys, with digits and counter", () => {
    expect(keysOf(oath("ubhecbdefghi", "0,1,0", 8, 16))).toEqual([
      { prefix: "ubhe01234567", kind: "hotp", secret: hex(seed), digits: 8, counter: 16 },
    ]);
  });

  it.each([
    ["0,0,0", "000000000001", "cccccccccccb"],
    ["1,0,0", "ub0012345678", "ubccbdefghij"],
    ["0,1,0", "ubhe12345678", "ubhebdefghij"],
    ["0,0,1", "ubhebdefghij", "ubhebdefghij"],
    ["0,0,0", "ubhe12345678", "ubhe12345678"],
  ])("takes an OATH key's prefix as the key types it: flags %s, %s", (flags, prefix, publicId) => {
    expect(keysOf(oath(publicId, flags))).toMatchObject([{ prefix }]);
  });

  it("is read where the local form of the time has a comma, or a spreadsheet has quoted it", () => {
    expect(keysOf(yubico.replace("12/11/2013 11:10", "12/11/2013, 11:10"))).toHaveLength(1);
    expect(keysOf(yubico.replace("12/11/2013 11:10", '"12/11/2013, 11:10"'))).toHaveLength(1);
    expect(keysOf(oath("ubhebdefghij").replace("11.12.13 18:55", "11.12.13, 18:55"))).toMatchObject([
      { prefix: "ubhe12345678", digits: 6, counter: 0 },
    ]);
  });

  it("is read with the commas that a spreadsheet adds to the end of a line", () => {
    expect(keysOf(`${yubico},,`)).toMatchObject([{ prefix: "vvgutbiedkvi" }]);
    expect(keysOf(`${oath("ubhebdefghij", "0,1,0", 6, 16)},`)).toMatchObject([{ digits: 6, counter: 16 }]);
    expect(keysOf(`bob,${yubico},,`, { usernameColumn: 1 })).toMatchObject([{ username: "bob" }]);
  });

  it("is read with a byte order mark, any line ends, blank lines, comments and the line that starts it", () => {
    const text = `\ufeffLOGGING START,4/2/2012 9:25 AM\r\n\r\n# a comment\r${yubico}\n\n`;
    expect(readPersonalisationLog(text)).toMatchObject([{ line: 4, item: {} }]);
  });

  it.each(["Static Password", "Static Password: Short", "Challenge-Response: HMAC-SHA1", "Configuration Update"])(
    "refuses what is no OTP key: %s",
    event => {
      expect(refusalOf(`${event},11.12.13 19:08,1,,d5a3d50327dc,${aes},,,0,0,0,0,0,0,0,0,0,0`)).toBe(
        "it is not about a key that makes OTPs",
      );
    },
  );

  it.each([
    [yubico.replace("vvgutbiedkvi", ""), "it has no prefix, by which its OTPs would be recognised"],
    [yubico.replace("vvgutbiedkvi", "vv-utb"), "its prefix is not 1 to 32 letters and digits"],
    [yubico.replace(aes, aes.slice(2)), "its secret must have 16 bytes"],
    [yubico.replace(aes, ""), "its secret is required"],
    [yubico.replace(aes, "x".repeat(32)), "its secret must be in hex"],
    [yubico.replace(aes, aes.slice(1)), "its secret must be in hex"],
    [yubico.replace("ab86c04de6a3", "ab86c04de6aX"), "its private id must be in hex"],
    [
      yubico.replace(aes, "x".repeat(32)).replace("ab86c04de6a3", ""),
      "its secret must be in hex; its private id is required",
    ],
    [oath("ubhebdefghij").replace(seed, `${seed.slice(0, -2)}zz`), "its secret must be in hex"],
    [yubico.replace("ab86c04de6a3", "ab86"), "its private id must have 6 bytes"],
    [oath("ubhebdefghij").replace(seed, seed.slice(0, 26)), "its secret must have 14 to 64 bytes"],
    [oath("ubhebdefghij", "0,1,0", 0), "its digits must be 6, 7 or 8"],
    [oath("ubhebdefghij").replace(",6,0,0,", ",six,0,0,"), "its digits must be 6, 7 or 8"],
    [oath("ubhebdefghij").replace(",6,0,0,", ",6,1E+05,0,"), `its counter must be a whole number from 0 to ${2 ** 52}`],
  ])("refuses a line that is wrong, and says why without its secret (%#)", (line, reason) => {
    expect(refusalOf(line)).toBe(reason);
  });
});

describe("the Yubico layout", () => {
  const yubico = `508328,cccccccccccc,83cebdfb7b93,${aes},,2013-12-12T08:43:17,`;
  const oath = (publicId: string, counter = 0) =>
    `508327,${publicId},${counter},${seed},000000000000,2013-12-12T08:41:07,`;

  it("gives Yubico keys, also where the private id has digits only, and without a serial number", () => {
    for (const privateId of ["83cebdfb7b93", "000000000000"]) {
      for (const serial of ["508328", ""]) {
        const line = yubico.replace("83cebdfb7b93", privateId).replace("508328", serial);
        expect(keysOf(line)).toMatchObject([{ prefix: "cccccccccccc", kind: "yubico", privateId: hex(privateId) }]);
      }
    }
  });

  it.each([
    ["ubhebdefghij", "ubhe12345678"],
    ["ubhebdefghiv", "ubhebdefghiv"],
    ["ubhe00508327", "ubhe00508327"],
  ])("gives OATH keys: the serial number %s is typed as %s, letters only where it is none", (publicId, prefix) => {
    expect(keysOf(oath(publicId, 32))).toEqual([{ prefix, kind: "hotp", secret: hex(seed), digits: 6, counter: 32 }]);
    expect(keysOf(oath(publicId), { digits: 8 })).toMatchObject([{ digits: 8 }]);
  });

  it("refuses a key without public id, unless an option says what such keys type", () => {
    expect(refusalOf(oath(""))).toBe("it has no prefix, by which its OTPs would be recognised");
    expect(keysOf(oath(""), { identifier: "ubhe" })).toMatchObject([{ prefix: "ubhe00508327" }]);
  });

  it.each(["1.23E+11", "83cebdfb7b", "12345678901", "100 000", "-1"])(
    "refuses a line whose third column is %s, instead of an import as an OATH key with counter 0",
    third => {
      const reason = "its third column is neither a private id nor a counter";
      expect(refusalOf(yubico.replace("83cebdfb7b93", third))).toBe(reason);
    },
  );

  it("refuses a line with a column that is not read", () => {
    expect(keysOf(`${yubico},,,`)).toHaveLength(1);
    expect(refusalOf(`${yubico}x,y,77`)).toBe("it has a column after the last of its layout, which is not read");
  });

  it("refuses what is no OTP key, and what has no secret", () => {
    expect(refusalOf(`508329,,,${aes},,2013-12-12T08:44:34,`)).toBe("it is not about a key that makes OTPs");
    expect(refusalOf("1,ubhebdefghij,0,0,000000000000,2021-07-20T12:42:35,")).toBe("its secret is required");
  });
});

describe("the OATH layout of keys without a keyboard", () => {
  const seedOf = (bytes: number) => "3a".repeat(bytes);

  it.each([
    [`F800574,${seed}`, { prefix: "f800574", kind: "hotp", digits: 6, counter: 0 }],
    [`F800574,${seed},HOTP,8`, { prefix: "f800574", kind: "hotp", digits: 8 }],
    [`F800574,${seed},HOTP,6,1200`, { kind: "hotp", digits: 6, counter: 1200 }],
    [`F800574,${seed},HOTP,6,1200,SHA1,,`, { kind: "hotp", counter: 1200 }],
    [
      `1000133508267, ${seed}, totp, 6, 30`,
      { prefix: "1000133508267", kind: "totp", digits: 6, period: 30, algorithm: "SHA1" },
    ],
    [`1000133508267,${seed},totp,7,60`, { kind: "totp", digits: 7, period: 60, algorithm: "SHA1" }],
    [`1000133508267,${seed},totp,6,60,sha1,`, { kind: "totp", digits: 6, period: 60, algorithm: "SHA1" }],
    [`1000133508267,${seed},totp,8,60,SHA-256`, { kind: "totp", digits: 8, period: 60, algorithm: "SHA256" }],
    [`1000133508267,${seed},totp,8,,hmac-sha512`, { kind: "totp", digits: 8, period: 30, algorithm: "SHA512" }],
  ])("gives OATH keys whose serial number is typed before the code: %s", (line, key) => {
    expect(keysOf(line)).toMatchObject([{ secret: hex(seed), ...key }]);
  });

  it("takes the hash function of a totp key from the length of its secret unless the line names one", () => {
    expect(keysOf(`F1,${seedOf(32)},totp,6,30`)).toMatchObject([{ algorithm: "SHA256" }]);
    expect(keysOf(`F1,${seedOf(64)},totp`)).toMatchObject([{ algorithm: "SHA512" }]);
    expect(keysOf(`F1,${seedOf(32)},totp,6,30,SHA1`)).toMatchObject([{ algorithm: "SHA1" }]);
    expect(keysOf(`F1,${seedOf(33)},totp,6,30`)).toMatchObject([{ algorithm: "SHA1" }]);
  });

  it("refuses a hotp key whose secret has the length of another hash function unless the line names SHA-1", () => {
    expect(refusalOf(`F1,${seedOf(32)},hotp,6`)).toBe("no hash function is named for its secret of 32 bytes");
    expect(refusalOf(`F1,${seedOf(64)}`)).toBe("no hash function is named for its secret of 64 bytes");
    expect(keysOf(`F1,${seedOf(32)},hotp,6,0,SHA1`)).toMatchObject([{ kind: "hotp" }]);
    expect(keysOf(`F1,${seedOf(32)},hotp,6,0,SHA1`)[0]).not.toHaveProperty("algorithm");
  });

  it.each([
    [`F1,${seed},ocra,OCRA-1:HOTP-SHA1-6:QN08`, "it is of no known kind of key"],
    [`F1,${seed},totp,6,45`, "its time step must be 30 or 60"],
    [`F1,${seed},totp,6,30,MD5`, "its hash function is not for this kind of key"],
    [`F1,${seed},hotp,6,,SHA256`, "its hash function is not for this kind of key"],
    [`F1,${seed},hotp,9`, "its digits must be 6, 7 or 8"],
    [`F1,${seed},hotp,six`, "its digits must be 6, 7 or 8"],
    [`F1,${seed},hotp,6,soon`, `its counter must be a whole number from 0 to ${2 ** 52}`],
    [`F1,${seed},hotp,6,-1`, `its counter must be a whole number from 0 to ${2 ** 52}`],
    [`F1,${seed},totp,6,30,SHA1,-4`, "it has a column after the hash function, which is not read"],
    [`-,${seed}`, "its prefix is not 1 to 32 letters and digits"],
    [`F1,${seed.slice(1)}z,hotp,6`, "its secret must be in hex"],
    [`F1,${seed.slice(1)}z`, "its secret must be in hex"],
    ["F1,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ,totp,6,30", "its secret must be in hex"],
    ["F1,00ff,totp,6,30", "its secret must have 14 to 64 bytes"],
    ["F1,,totp,6,30", "its secret is required"],
  ])("refuses %s", (line, reason) => {
    expect(refusalOf(line)).toBe(reason);
  });
});

describe("the layout in which Microsoft Entra ID takes OATH tokens", () => {
  const header = "upn,serial number,secret key,time interval,manufacturer,model";
  const secret = new Uint8Array(Buffer.from("12345678901234567890"));
  const base32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

  it("gives totp keys from Base32, with the time step of the line", () => {
    const text = `${header}\nanna@example.org,78,${base32},60,M,HardwareKey\n,79,${base32.toLowerCase()},30,M,\n`;
    const key = { kind: "totp", secret, digits: 6, algorithm: "SHA1" };
    expect(readPersonalisationLog(text)).toEqual([
      { line: 2, item: { ...key, prefix: "78", period: 60 } },
      { line: 3, item: { ...key, prefix: "79", period: 30 } },
    ]);
  });

  it("assigns an OTP key to the user of its line only where the column of usernames is given", () => {
    const text = `${header}\nanna@example.org,78,${base32},60,M,HardwareKey`;
    expect(keysOf(text)[0]).not.toHaveProperty("username");
    expect(keysOf(text, { usernameColumn: 1 })).toMatchObject([{ prefix: "78", username: "anna@example.org" }]);
  });

  it("is read by the names of its columns", () => {
    const text = `Secret Key;Serial Number;Hash Function\n${base32};78;HMACSHA256`;
    expect(keysOf(text)).toMatchObject([{ prefix: "78", period: 30, algorithm: "SHA256" }]);
  });

  it.each([
    [`,78,31323334353637383930,60,M,H`, "its secret key must be in Base32"],
    [",78,,60,M,H", "its secret is required"],
    [`,78,${base32},45,M,H`, "its time step must be 30 or 60"],
    [`,,${base32},30,M,H`, "it has no prefix, by which its OTPs would be recognised"],
    [`,78,${"GEZDGNBV".repeat(6)}GEZA,30,M,H`, "no hash function is named for its secret of 32 bytes"],
    [`,78,${base32},30,M,H,7`, "its column 7 is not read"],
  ])("refuses %s", (line, reason) => {
    expect(refusalOf(`${header}\n${line}`)).toBe(reason);
  });

  it("refuses a line with a value in a column that is not read", () => {
    const text = `${header},drift\n,78,${base32},30,M,H,-3\n,79,${base32},30,M,H,`;
    expect(readPersonalisationLog(text)).toMatchObject([
      { line: 2, reason: "its column drift is not read" },
      { item: { prefix: "79" } },
    ]);
  });
});

describe("a column of usernames", () => {
  it("can be any column of any layout, and may be empty", () => {
    const yubico = `508328,cccccccccccc,83cebdfb7b93,${aes},,2013-12-12T08:43:17,`;
    expect(keysOf(`alice,${yubico}`, { usernameColumn: 1 })).toMatchObject([
      { prefix: "cccccccccccc", username: "alice" },
    ]);
    expect(keysOf(`F1,${seed},totp,6,60,SHA1,"bob, jr."`, { usernameColumn: 7 })).toMatchObject([
      { prefix: "f1", period: 60, username: "bob, jr." },
    ]);
    for (const line of [`F1,${seed},totp,6,60,SHA1,`, `F1,${seed}`]) {
      expect(keysOf(line, { usernameColumn: 7 })[0]).not.toHaveProperty("username");
    }
  });
});

describe("a log of many lines", () => {
  const line = (prefix: string, secret = aes) => `508328,${prefix},83cebdfb7b93,${secret},,2013-12-12T08:43:17,`;

  it("gives every key with its line, and every refused line with its number and reason", () => {
    const text = [line("b"), "what, is this", '"an open quote,1', line("c"), line("d", "zz")].join("\n");
    expect(readPersonalisationLog(text)).toMatchObject([
      { line: 1, item: { prefix: "b" } },
      { line: 2, reason: "it is of no known layout" },
      { line: 3, reason: "it is no line of separated values" },
      { line: 4, item: { prefix: "c" } },
      { line: 5, reason: "its secret must be in hex" },
    ]);
  });

  it("names a line that is not UTF-8, and reads the others", () => {
    const text = new TextDecoder().decode(Buffer.from(`${line("b")}\nM\xfcller,${line("c")}\n# \xfc`, "latin1"));
    expect(readPersonalisationLog(text)).toMatchObject([
      { line: 1, item: { prefix: "b" } },
      { line: 2, reason: "it is not UTF-8 (nor UTF-16 with a byte order mark)" },
    ]);
  });

  it.each([";", "\t"])("may have another separator than a comma: %j", separator => {
    const text = [line("b"), `F1,${seed},hotp,,7`, `ubhe,,`].join("\n").replaceAll(",", separator);
    expect(readPersonalisationLog(text)).toMatchObject([
      { item: { prefix: "b" } },
      { item: { prefix: "f1", digits: 6, counter: 7 } },
      { line: 3, reason: "it is of no known layout" },
    ]);
  });
});
