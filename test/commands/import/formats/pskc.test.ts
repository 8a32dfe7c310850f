import { createCipheriv, createHmac, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readPskc } from "../../../../commands/import/formats/pskc.ts";
import { element, elements, readXml } from "../../../../commands/import/formats/xml.ts";

const now = "2031-01-01T00:00:00.000Z";
const hotp = "urn:ietf:params:xml:ns:keyprov:pskc:hotp";
const totp = "urn:ietf:params:xml:ns:keyprov:pskc:totp";
const aesCbc = (bits: number) => `http://www.w3.org/2001/04/xmlenc#aes${bits}-cbc`;
const rfcSecret = Buffer.from("12345678901234567890");
const plain = (secret: Uint8Array = rfcSecret) =>
  `<Secret><PlainValue>\n ${Buffer.from(secret).toString("base64")}\n </PlainValue></Secret>`;

const container = (content: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<KeyContainer Version="1.0" xmlns="urn:ietf:params:xml:ns:keyprov:pskc" xmlns:xenc="http://www.w3.org/2001/04/xmlenc#">
${content}
</KeyContainer>`;

interface Parts {
  readonly id?: string;
  readonly serial?: string;
  readonly algorithm?: string;
  readonly parameters?: string;
  readonly data?: string;
  readonly rest?: string;
}
const keyPackage = ({
  id = "ubhe12345678",
  serial = "508327",
  algorithm = hotp,
  parameters = '<ResponseFormat Length="8" Encoding="DECIMAL"/>',
  data = plain(),
  rest = "",
}: Parts = {}) =>
  `<KeyPackage><DeviceInfo><Manufacturer>M</Manufacturer><SerialNo>${serial}</SerialNo></DeviceInfo>
<Key Id="${id}" Algorithm="${algorithm}"><AlgorithmParameters>${parameters}</AlgorithmParameters>
<Data>${data}</Data>${rest}</Key></KeyPackage>`;

const read = (text: string, preSharedKey?: Uint8Array) =>
  readPskc(text, preSharedKey === undefined ? { now } : { now, preSharedKey });
const keysOf = (parts: Parts) => read(container(keyPackage(parts))).keys;
const reasonOf = (parts: Parts) => {
  const { keys, refused } = read(container(keyPackage(parts)));
  expect(keys).toEqual([]);
  return refused[0]?.reason;
};

describe("a plain PSKC (RFC 6030)", () => {
  it("gives HOTP keys: RFC 6030 figure 5, without the PIN that goes with it", () => {
    const text = container(`<KeyPackage><DeviceInfo><SerialNo>987654321</SerialNo></DeviceInfo>
      <Key Id="12345678" Algorithm="${hotp}"><Issuer>Issuer</Issuer>
      <AlgorithmParameters><ResponseFormat Length="8" Encoding="DECIMAL"/></AlgorithmParameters>
      <Data>${plain()}<Counter><PlainValue>0</PlainValue></Counter></Data>
      <Policy><PINPolicy MinLength="4" MaxLength="4" PINKeyId="123456781" PINEncoding="DECIMAL"
        PINUsageMode="Local"/><KeyUsage>OTP</KeyUsage></Policy></Key></KeyPackage>
      <KeyPackage><DeviceInfo><SerialNo>987654321</SerialNo></DeviceInfo>
      <Key Id="123456781" Algorithm="urn:ietf:params:xml:ns:keyprov:pskc:pin"><Issuer>Issuer</Issuer>
      <AlgorithmParameters><ResponseFormat Length="4" Encoding="DECIMAL"/></AlgorithmParameters>
      <Data><Secret><PlainValue>MTIzNA==</PlainValue></Secret></Data></Key></KeyPackage>`);
    expect(read(text)).toEqual({
      keys: [{ line: 3, prefix: "12345678", kind: "hotp", secret: new Uint8Array(rfcSecret), digits: 8, counter: 0 }],
      refused: [{ line: 11, reason: "it is of no known kind of key" }],
    });
  });

  it("gives TOTP keys of 30 and 60 seconds with each hash function, and counters where they have moved", () => {
    const step = (seconds: number) => `${plain()}<TimeInterval><PlainValue>${seconds}</PlainValue></TimeInterval>`;
    expect(keysOf({ algorithm: totp, data: step(30) })).toMatchObject([{ kind: "totp", digits: 8 }]);
    expect(keysOf({ algorithm: totp })).toMatchObject([{ period: 30, algorithm: "SHA1" }]);
    expect(keysOf({ algorithm: totp, data: step(60) })).toMatchObject([{ period: 60, algorithm: "SHA1" }]);
    for (const [suite, name] of Object.entries({ "HMAC-SHA256": "SHA256", "SHA-512": "SHA512" })) {
      const parameters = `<Suite>${suite}</Suite><ResponseFormat Length="8" Encoding="DECIMAL"/>`;
      expect(keysOf({ algorithm: totp, parameters })).toMatchObject([{ kind: "totp", algorithm: name }]);
    }
    expect(reasonOf({ algorithm: totp, data: step(45) })).toBe("its time step must be 30 or 60");
    expect(keysOf({ data: `${plain()}<Counter><PlainValue>77</PlainValue></Counter>` })).toMatchObject([
      { counter: 77 },
    ]);
  });

  it("gives Yubico keys as the personalisation tool writes them", () => {
    const [secret, id] = [randomBytes(16), "ab86c04de6a3"];
    const parts = {
      id: "508327:1",
      algorithm: "http://www.yubico.com/#yubikey-aes",
      parameters: '<ResponseFormat Length="44" Encoding="ALPHANUMERIC"/>',
      data: plain(secret),
    };
    expect(keysOf({ ...parts, rest: `<UserId>CN=vvgutbiedkvi, UID=${id}</UserId>` })).toEqual([
      {
        line: 3,
        prefix: "vvgutbiedkvi",
        kind: "yubico",
        secret: new Uint8Array(secret),
        privateId: new Uint8Array(Buffer.from(id, "hex")),
      },
    ]);
    expect(reasonOf(parts)).toBe("it has no prefix, by which its OTPs would be recognised");
  });

  it("takes the key's id for its prefix where it can be one, else the serial number", () => {
    expect(keysOf({ id: "UBHE12345678" })).toMatchObject([{ prefix: "ubhe12345678" }]);
    expect(keysOf({ id: "508327:2" })).toMatchObject([{ prefix: "508327" }]);
    expect(reasonOf({ id: "a-b", serial: "" })).toBe("its prefix is not 1 to 32 letters and digits");
  });

  it("understands a length of codes that has the prefix counted in", () => {
    const parameters = (length: number) => `<ResponseFormat Length="${length}" Encoding="DECIMAL"/>`;
    expect(keysOf({ parameters: parameters(18) })).toMatchObject([{ digits: 6 }]);
    expect(keysOf({ parameters: parameters(20) })).toMatchObject([{ digits: 8 }]);
    expect(keysOf({ parameters: parameters(6) })).toMatchObject([{ digits: 6 }]);
    expect(reasonOf({ parameters: parameters(9) })).toBe("its digits must be 6, 7 or 8");
  });

  it("is read with any prefix of its namespace", () => {
    const text = container(keyPackage()).replace(/<(\/?)(?=[A-Z])/g, "<$1pskc:");
    expect(read(text.replace("xmlns=", "xmlns:pskc=")).keys).toHaveLength(1);
  });

  it.each([
    [{ algorithm: "urn:ietf:params:xml:ns:keyprov:pskc:ocra" }, "it is of no known kind of key"],
    [{ parameters: "<Suite>HMAC-SHA256</Suite>" }, "its hash function is not for this kind of key"],
    [{ parameters: '<ResponseFormat Length="6" Encoding="HEXADECIMAL"/>' }, "its codes are not of digits"],
    [
      { parameters: '<ResponseFormat Length="6" Encoding="DECIMAL" CheckDigits="true"/>' },
      "its codes have a check digit",
    ],
    [{ data: "" }, "it has no secret"],
    [{ data: plain(randomBytes(13)) }, "its secret must have 14 to 64 bytes"],
    [{ data: "<Secret><PlainValue>*</PlainValue></Secret>" }, "its secret is no base64"],
    [
      { data: `${plain()}<Counter><EncryptedValue/></Counter>` },
      expect.stringMatching(/^its counter must be a whole number/),
    ],
    [{ rest: "<Policy><ExpiryDate>2030-12-31T00:00:00Z</ExpiryDate></Policy>" }, "it has expired"],
    [
      {
        rest: "<Policy><StartDate>2032-01-02T00:00:00Z</StartDate><ExpiryDate>2032-01-01T00:00:00Z</ExpiryDate></Policy>",
      },
      "it expires before it may be used",
    ],
    [{ rest: "<Policy><StartDate>soon</StartDate></Policy>" }, "a time of its policy is malformed"],
    [{ rest: "<Policy><KeyUsage>Encrypt</KeyUsage></Policy>" }, "it is not meant for OTPs"],
    [
      { rest: "<Policy><NumberOfTransactions>9</NumberOfTransactions><KeyUsage>OTP</KeyUsage></Policy>" },
      "its policy has a limit that is not supported",
    ],
    [
      { rest: '<Policy><x:Place xmlns:x="urn:x">here</x:Place></Policy>' },
      "its policy has a limit that is not supported",
    ],
    ...["Prepend", "Append", "Algorithmic"].map(
      mode => [{ rest: `<Policy><PINPolicy PINUsageMode="${mode}"/></Policy>` }, "its OTPs depend on a PIN"] as const,
    ),
  ] as const)("refuses a key that it cannot take, and says why (%#)", (parts, reason) => {
    expect(reasonOf(parts)).toEqual(reason);
  });

  it("gives the time in which a key may be used, in UTC where no zone is given", () => {
    const dates = "<StartDate>2032-01-01T00:00:00+02:00</StartDate><ExpiryDate>2037-12-31T00:00:00</ExpiryDate>";
    expect(keysOf({ rest: `<Policy xmlns:x="urn:x">${dates}<KeyUsage>OTP</KeyUsage></Policy>` })).toMatchObject([
      { validFrom: "2031-12-31T22:00:00.000Z", validUntil: "2037-12-31T00:00:00.000Z" },
    ]);
    expect(keysOf({ parameters: '<Suite>HMAC-SHA1</Suite><ResponseFormat Length="6"/>' })).toHaveLength(1);
  });

  it("names the line of each key with any line ends", () => {
    const text = container([{ id: "a" }, { id: "b" }, { id: "c" }].map(keyPackage).join("\n\n"));
    for (const end of ["\n", "\r\n", "\r"]) {
      expect(read(text.replaceAll("\n", end)).keys.map(({ line }) => line)).toEqual([3, 9, 15]);
    }
  });
});

describe("a PSKC under a pre-shared key (RFC 6030 section 6)", () => {
  const encryptedValue = (value: string, bits = 128) =>
    `<xenc:EncryptionMethod Algorithm="${aesCbc(bits)}"/>
     <xenc:CipherData><xenc:CipherValue>${value}</xenc:CipherValue></xenc:CipherData>`;
  const preShared = '<EncryptionKey><ds:KeyName xmlns:ds="d">Pre-shared-key</ds:KeyName></EncryptionKey>';
  const macMethod = (algorithm: string, macKey = "") => `<MACMethod Algorithm="${algorithm}">${macKey}</MACMethod>`;
  const sha1 = "http://www.w3.org/2000/09/xmldsig#hmac-sha1";
  const secretOf = (value: string, mac: string, bits = 128) =>
    `<Secret><EncryptedValue>${encryptedValue(value, bits)}</EncryptedValue><ValueMAC>${mac}\n</ValueMAC></Secret>`;

  const figure6 = {
    key: Buffer.from("12345678901234567890123456789012", "hex"),
    macKey: "ESIzRFVmd4iZABEiM0RVZgKn6WjLaTC1sbeBMSvIhRejN9vJa2BOlSaMrR7I5wSX",
    value: "AAECAwQFBgcICQoLDA0OD+cIHItlB3Wra1DUpxVvOx2lef1VmNPCMl8jwZqIUqGv",
    mac: "Su+NvtQfmvfJzF6bmQiJqoLRExc=",
  };
  const text6 = (value = figure6.value, mac = figure6.mac, method = sha1) =>
    container(
      preShared +
        macMethod(method, `<MACKey>${encryptedValue(figure6.macKey)}</MACKey>`) +
        keyPackage({ id: "12345678", data: secretOf(value, mac) }),
    );
  const refusal = (text: string, key?: Uint8Array) => {
    const { keys, refused } = read(text, key);
    expect(keys).toEqual([]);
    return refused[0]?.reason;
  };

  it("names an algorithm that is not supported, whether or not the file has a check of integrity", () => {
    const keyWrap = (text: string) => text.replaceAll(aesCbc(128), "http://www.w3.org/2001/04/xmlenc#kw-aes128");
    const wrapped = keyWrap(secretOf(figure6.value, figure6.mac));
    const unsupported = "its secret is encrypted by an algorithm that is not supported";
    const [bare, withMac] = ["", macMethod(sha1)].map(mac =>
      container(preShared + mac + keyPackage({ data: wrapped })),
    );
    for (const text of [bare, withMac]) expect(refusal(String(text), figure6.key)).toBe(unsupported);
    const macKey = keyWrap(`<MACKey>${encryptedValue(figure6.macKey)}</MACKey>`);
    const data = secretOf(figure6.value, figure6.mac);
    const other = container(preShared + macMethod(sha1, macKey) + keyPackage({ data }));
    expect(refusal(other, figure6.key)).toBe("its MAC key is encrypted by an algorithm that is not supported");
  });

  it("gives the secret: RFC 6030 figure 6", () => {
    expect(read(text6(), figure6.key).keys).toMatchObject([{ prefix: "12345678", secret: new Uint8Array(rfcSecret) }]);
  });

  it.each([
    [128, "sha1", sha1],
    [192, "sha256", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"],
    [256, "sha512", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha512"],
  ])("is read with AES-%i and HMAC-%s, by the pre-shared key where no other is named for it", (bits, hash, method) => {
    const [key, iv] = [randomBytes(bits / 8), randomBytes(16)];
    const cipher = createCipheriv(`aes-${bits}-cbc`, key, iv).setAutoPadding(false);
    // Of this padding only the last byte is defined.
    const padded = Buffer.concat([rfcSecret, randomBytes(11), Buffer.from([12])]);
    const value = Buffer.concat([iv, cipher.update(padded), cipher.final()]);
    const mac = createHmac(hash, key).update(value).digest("base64");
    const text = container(
      preShared + macMethod(method) + keyPackage({ data: secretOf(value.toString("base64"), mac, bits) }),
    );
    expect(read(text, key).keys).toMatchObject([{ secret: new Uint8Array(rfcSecret) }]);
  });

  it("is refused without that key, with another, or with one of another length", () => {
    expect(refusal(text6())).toBe("its secret is encrypted, and no pre-shared key was given");
    expect(refusal(text6(), randomBytes(32))).toBe("the pre-shared key must have 16 bytes");
    expect(refusal(text6(), randomBytes(16))).toMatch(/^its secret (was changed|cannot be decrypted)/);
  });

  it("is refused when it was changed, or could have been without notice", () => {
    const changed = figure6.value.replace("AAEC", "AAED");
    const reason = "its secret was changed, or is encrypted under another pre-shared key";
    expect(refusal(text6(changed), figure6.key)).toBe(reason);
    expect(refusal(text6(figure6.value, "AAAA"), figure6.key)).toBe(reason);
    expect(refusal(text6(figure6.value, figure6.mac, "md5"), figure6.key)).toBe(
      "its secret is encrypted without a known check of integrity",
    );
  });

  it("is refused under a passphrase or another algorithm", () => {
    const passphrase = text6().replace("<KeyPackage>", "<EncryptionKey><DerivedKey/></EncryptionKey><KeyPackage>");
    expect(refusal(passphrase.replace(preShared, ""), figure6.key)).toBe(
      "its secret is encrypted under a passphrase, not under a pre-shared key",
    );
    const other = text6().replaceAll(aesCbc(128), "http://www.w3.org/2001/04/xmlenc#tripledes-cbc");
    expect(refusal(other, figure6.key)).toBe("its secret is encrypted by an algorithm that is not supported");
  });
});

describe("a line of a file", () => {
  it("is found for any order of the requested elements", () => {
    const { root, lineOf } = readXml("<a>\n<b/>\n\n<b/><b/>\n</a>");
    const lines = elements(element(root, "a"), "b").map(lineOf);
    expect(lines).toEqual([2, 4, 4]);
    expect(elements(element(root, "a"), "b").toReversed().map(lineOf)).toEqual([4, 4, 2]);
  });
});

describe("a file that is no PSKC", () => {
  it.each([
    [`<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${container(keyPackage())}`, 1, /document type/],
    [container(keyPackage()).replace("\n", "\n<!doctype x>\n"), 2, /document type/],
    [container("<KeyPackage>"), 4, /well-formed/],
    [container(keyPackage()).replace("</Data>", "</Dat>"), 7, /well-formed/],
    ["", 1, /./],
    ["secret,but,no,xml", 1, /./],
    ["<a/>", 1, /no PSKC/],
    [container(`<__proto__>${"x"}</__proto__>`), 1, /well-formed/],
    [container(`${"<a>".repeat(100)}${"</a>".repeat(100)}`), 1, /well-formed/],
  ])("is refused whole, with a line and without its text (%#)", (text, line, reason) => {
    const reading = read(text);
    expect(reading.keys).toEqual([]);
    expect(reading.refused).toEqual([{ line, reason: expect.stringMatching(reason) }]);
    expect(JSON.stringify(reading)).not.toContain("secret,but");
  });

  it("returns nothing for a file without a key", () => {
    expect(read(container(""))).toEqual({ keys: [], refused: [] });
    expect(read(container("<KeyPackage/>")).refused).toEqual([{ line: 3, reason: "it contains no key" }]);
  });
});
