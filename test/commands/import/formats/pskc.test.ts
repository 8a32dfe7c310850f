import { createCipheriv, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readPskc } from "../../../../commands/import/formats/pskc.ts";
import { element, elements, readXml } from "../../../../commands/import/formats/xml.ts";
import { passphrasePskc } from "../key-files.ts";
import { itemsOf, reasonOf } from "./read-lines.ts";

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
const keysOf = (parts: Parts) => itemsOf(read(container(keyPackage(parts))));
const refusalOf = (parts: Parts) => reasonOf(read(container(keyPackage(parts))));

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
    const secret = new Uint8Array(rfcSecret);
    expect(read(text)).toEqual([
      { line: 3, item: { prefix: "987654321", kind: "hotp", secret, digits: 8, counter: 0 } },
      { line: 11, reason: "it is of no known kind of key" },
    ]);
  });

  it("gives TOTP keys of 30 and 60 seconds with each hash function, and counters where they have moved", () => {
    const step = (seconds: number) => `${plain()}<TimeInterval><PlainValue>${seconds}</PlainValue></TimeInterval>`;
    expect(keysOf({ algorithm: totp, data: step(30) })).toMatchObject([{ kind: "totp", digits: 8 }]);
    expect(keysOf({ algorithm: totp })).toMatchObject([{ period: 30, algorithm: "SHA1" }]);
    const zeros = ["Time", "TimeDrift", "Counter"]
      .map(name => `<${name}><PlainValue>0</PlainValue></${name}>`)
      .join("");
    expect(keysOf({ algorithm: totp, data: step(60) + zeros })).toMatchObject([{ period: 60, counter: 0 }]);
    expect(keysOf({ algorithm: totp, data: step(60) })).toMatchObject([{ period: 60, algorithm: "SHA1" }]);
    for (const [suite, name] of Object.entries({ "HMAC-SHA256": "SHA256", "SHA-512": "SHA512" })) {
      const parameters = `<Suite>${suite}</Suite><ResponseFormat Length="8" Encoding="DECIMAL"/>`;
      expect(keysOf({ algorithm: totp, parameters })).toMatchObject([{ kind: "totp", algorithm: name }]);
    }
    expect(refusalOf({ algorithm: totp, data: step(45) })).toBe("its time step must be 30 or 60");
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
        prefix: "vvgutbiedkvi",
        kind: "yubico",
        secret: new Uint8Array(secret),
        privateId: new Uint8Array(Buffer.from(id, "hex")),
      },
    ]);
    expect(refusalOf(parts)).toBe("it has no prefix, by which its OTPs would be recognised");
  });

  it("takes the serial number for the prefix of a key where it can be one, else the key's id", () => {
    expect(keysOf({ id: "1", serial: "8100000001" })).toMatchObject([{ prefix: "8100000001" }]);
    expect(keysOf({ id: "508327:2" })).toMatchObject([{ prefix: "508327" }]);
    expect(keysOf({ id: "UBHE12345678", serial: "" })).toMatchObject([{ prefix: "ubhe12345678" }]);
    expect(keysOf({ id: "UBHE12345678", serial: "no. 7" })).toMatchObject([{ prefix: "ubhe12345678" }]);
    expect(refusalOf({ id: "a-b", serial: "" })).toBe("its prefix is not 1 to 32 letters and digits");
  });

  it("takes for the prefix what the length of the codes counts in, because the key types it", () => {
    const parameters = (length: number) => `<ResponseFormat Length="${length}" Encoding="DECIMAL"/>`;
    expect(keysOf({ parameters: parameters(18) })).toMatchObject([{ prefix: "ubhe12345678", digits: 6 }]);
    expect(keysOf({ parameters: parameters(20) })).toMatchObject([{ prefix: "ubhe12345678", digits: 8 }]);
    expect(keysOf({ parameters: parameters(12) })).toMatchObject([{ prefix: "508327", digits: 6 }]);
    expect(keysOf({ parameters: parameters(6) })).toMatchObject([{ prefix: "508327", digits: 6 }]);
    expect(keysOf({ id: "1", serial: "8100000001", parameters: parameters(16) })).toMatchObject([
      { prefix: "8100000001", digits: 6 },
    ]);
    for (const id of ["ubhe12345678", "1"]) {
      expect(refusalOf({ id, parameters: parameters(9) })).toBe("its digits must be 6, 7 or 8");
    }
  });

  it("is read with any prefix of its namespace", () => {
    const text = container(keyPackage()).replace(/<(\/?)(?=[A-Z])/g, "<$1pskc:");
    expect(itemsOf(read(text.replace("xmlns=", "xmlns:pskc=")))).toHaveLength(1);
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
      "its Counter is encrypted, and no pre-shared key was given",
    ],
    ...["", "-1", "1.5", "soon"].map(
      text =>
        [
          { data: `${plain()}<Counter><PlainValue>${text}</PlainValue></Counter>` },
          `its counter must be a whole number from 0 to ${2 ** 52}`,
        ] as const,
    ),
    [{ data: `${plain()}<Time><PlainValue>8</PlainValue></Time>` }, "its Time is not 0, and is not read"],
    [
      { data: `${plain()}<TimeDrift><PlainValue>-4</PlainValue></TimeDrift>` },
      "its TimeDrift is not 0, and is not read",
    ],
    [
      {
        algorithm: "http://www.yubico.com/#yubikey-aes",
        data: `${plain(randomBytes(16))}<Counter><PlainValue>3</PlainValue></Counter>`,
      },
      "its Counter is not 0, and is not read",
    ],
    [{ data: `${plain()}<LastCode>7</LastCode>` }, "its Data has the element LastCode, which is not read"],
    [
      { data: plain() + "<Counter><PlainValue>7</PlainValue></Counter>".repeat(2) },
      "its Data has more than one Counter",
    ],
    [{ rest: "<Counter>7</Counter>" }, "its Key has the element Counter, which is not read"],
    [{ rest: '<Extensions definition="x"/>' }, "its Key has the element Extensions, which is not read"],
    [
      { parameters: '<ChallengeFormat Encoding="DECIMAL" Min="6" Max="6"/>' },
      "its AlgorithmParameters has the element ChallengeFormat, which is not read",
    ],
    [{ rest: "</Key><Key>" }, "its KeyPackage has more than one Key"],
    [{ data: plain(randomBytes(32)) }, "no hash function is named for its secret of 32 bytes"],
    [{ data: plain(randomBytes(64)), algorithm: totp }, "no hash function is named for its secret of 64 bytes"],
    [{ rest: "<Policy><ExpiryDate>2030-12-31T00:00:00Z</ExpiryDate></Policy>" }, "it has expired"],
    [
      {
        rest: "<Policy><StartDate>2032-01-02T00:00:00Z</StartDate><ExpiryDate>2032-01-01T00:00:00Z</ExpiryDate></Policy>",
      },
      "it expires before it may be used",
    ],
    [{ rest: "<Policy><StartDate>soon</StartDate></Policy>" }, "its StartDate or ExpiryDate is malformed"],
    [{ rest: "<Policy><KeyUsage>Encrypt</KeyUsage></Policy>" }, "it is not meant for OTPs"],
    [
      { rest: "<Policy><NumberOfTransactions>9</NumberOfTransactions><KeyUsage>OTP</KeyUsage></Policy>" },
      "its Policy has the element NumberOfTransactions, which is not read",
    ],
    [
      { rest: '<Policy><x:Place xmlns:x="urn:x">here</x:Place></Policy>' },
      "its Policy has the element Place, which is not read",
    ],
    ...["Prepend", "Append", "Algorithmic"].map(
      mode => [{ rest: `<Policy><PINPolicy PINUsageMode="${mode}"/></Policy>` }, "its OTPs depend on a PIN"] as const,
    ),
  ] as const)("refuses a key that it cannot take, and says why (%#)", (parts, reason) => {
    expect(refusalOf(parts)).toEqual(reason);
  });

  it("gives the time in which a key may be used, in UTC where no zone is given", () => {
    const dates = "<StartDate>2032-01-01T00:00:00+02:00</StartDate><ExpiryDate>2037-12-31T00:00:00</ExpiryDate>";
    expect(keysOf({ rest: `<Policy xmlns:x="urn:x">${dates}<KeyUsage>OTP</KeyUsage></Policy>` })).toMatchObject([
      { validFrom: "2031-12-31T22:00:00.000Z", validUntil: "2037-12-31T00:00:00.000Z" },
    ]);
    expect(keysOf({ parameters: '<Suite>HMAC-SHA1</Suite><ResponseFormat Length="6"/>' })).toHaveLength(1);
  });

  it("reads the clock drift of a TOTP key", () => {
    const drift = (text: string) => `${plain()}<TimeDrift><PlainValue>${text}</PlainValue></TimeDrift>`;
    for (const steps of [4, -4, 0]) {
      expect(keysOf({ algorithm: totp, data: drift(String(steps)) })).toMatchObject([{ drift: steps }]);
    }
    for (const text of ["", "soon", "10001"]) {
      expect(refusalOf({ algorithm: totp, data: drift(text) })).toMatch(/^its clock drift must be a whole number/);
    }
  });

  it("limits a key by the time in which its device may be used too", () => {
    const text = container(keyPackage({ rest: "<Policy><ExpiryDate>2037-12-31T00:00:00Z</ExpiryDate></Policy>" }));
    const withDevice = (dates: string) => read(text.replace("</DeviceInfo>", `${dates}</DeviceInfo>`));
    const dates = "<StartDate>2032-01-01T00:00:00Z</StartDate><ExpiryDate>2035-01-01T00:00:00Z</ExpiryDate>";
    expect(itemsOf(withDevice(dates))).toMatchObject([
      { validFrom: "2032-01-01T00:00:00.000Z", validUntil: "2035-01-01T00:00:00.000Z" },
    ]);
    expect(reasonOf(withDevice("<ExpiryDate>2030-01-01T00:00:00Z</ExpiryDate>"))).toBe("it has expired");
  });

  it("reads base64 with character references, as programs write line ends", () => {
    const data = "<Secret><PlainValue>MTIzNDU2Nzg5&#13;\nMDEyMzQ1&#xD;Njc4OTA=&#13;</PlainValue></Secret>";
    expect(keysOf({ data })).toMatchObject([{ secret: new Uint8Array(rfcSecret) }]);
  });

  it("names the line of each key with any line ends", () => {
    const text = container([{ serial: "1" }, { serial: "2" }, { serial: "3" }].map(keyPackage).join("\n\n"));
    for (const end of ["\n", "\r\n", "\r"]) {
      expect(read(text.replaceAll("\n", end)).map(({ line }) => line)).toEqual([3, 9, 15]);
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
        keyPackage({ serial: "12345678", data: secretOf(value, mac) }),
    );
  const refusal = (text: string, key?: Uint8Array) => reasonOf(read(text, key));

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
    expect(itemsOf(read(text6(), figure6.key))).toMatchObject([
      { prefix: "12345678", secret: new Uint8Array(rfcSecret) },
    ]);
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
    expect(itemsOf(read(text, key))).toMatchObject([{ secret: new Uint8Array(rfcSecret) }]);
  });

  it("is refused without that key, with another, or with one of another length", () => {
    expect(refusal(text6())).toBe("its secret is encrypted, and no pre-shared key was given");
    expect(refusal(text6(), randomBytes(32))).toBe("its encryption needs a pre-shared key of 16 bytes");
    expect(refusal(text6(), randomBytes(16))).toMatch(/^its (secret was changed|MAC key cannot be decrypted)/);
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

  it("is refused without a ValueMAC", () => {
    const reason = "its secret is encrypted without a check of integrity: it has no ValueMAC";
    expect(refusal(text6().replace(/<ValueMAC>[\s\S]*<\/ValueMAC>/, ""), figure6.key)).toBe(reason);
    expect(refusal(text6().replace(/<ValueMAC>[\s\S]*<\/ValueMAC>/, "<ValueMAC/>"), figure6.key)).toBe(reason);
  });

  describe("with other encrypted values", () => {
    const [key, iv] = [randomBytes(16), randomBytes(16)];
    const member = (name: string, bytes: Uint8Array, macKey = key) => {
      const cipher = createCipheriv("aes-128-cbc", key, iv);
      const value = Buffer.concat([iv, cipher.update(bytes), cipher.final()]);
      const mac = createHmac("sha1", macKey).update(value).digest("base64");
      return secretOf(value.toString("base64"), mac).replaceAll("Secret>", `${name}>`);
    };
    const textOf = (algorithm: string, data: string) =>
      container(preShared + macMethod(sha1) + keyPackage({ algorithm, data: member("Secret", rfcSecret) + data }));

    it.each([
      ["digits", Buffer.from("1200")],
      ["8 bytes in network order", Buffer.from("00000000000004b0", "hex")],
      ["4 bytes in network order", Buffer.from("000004b0", "hex")],
    ])("reads the counter from %s", (_, bytes) => {
      expect(itemsOf(read(textOf(hotp, member("Counter", bytes)), key))).toMatchObject([{ counter: 1200 }]);
    });

    it("reads the time step", () => {
      for (const bytes of [Buffer.from("60"), Buffer.from("3c", "hex")]) {
        expect(itemsOf(read(textOf(totp, member("TimeInterval", bytes)), key))).toMatchObject([{ period: 60 }]);
      }
    });

    it("refuses a value that was changed, has no ValueMAC, or is no number", () => {
      expect(refusal(textOf(hotp, member("Counter", Buffer.from("7"), randomBytes(16))), key)).toBe(
        "its Counter was changed, or is encrypted under another pre-shared key",
      );
      const bare = member("Counter", Buffer.from("7")).replace(/<ValueMAC>[\s\S]*<\/ValueMAC>/, "");
      expect(refusal(textOf(hotp, bare), key)).toBe(
        "its Counter is encrypted without a check of integrity: it has no ValueMAC",
      );
      for (const bytes of [randomBytes(9), Buffer.alloc(0), Buffer.alloc(8, 0xff)]) {
        expect(refusal(textOf(hotp, member("Counter", bytes)), key)).toMatch(/^its counter must be a whole number/);
      }
    });
  });

  it("is refused under another algorithm", () => {
    const other = text6().replaceAll(aesCbc(128), "http://www.w3.org/2001/04/xmlenc#tripledes-cbc");
    expect(refusal(other, figure6.key)).toBe("its secret is encrypted by an algorithm that is not supported");
  });
});

describe("a PSKC under a passphrase (RFC 6030 section 6.2)", () => {
  const readWith = (passphrase: string | undefined, text = passphrasePskc()) => readPskc(text, { now, passphrase });

  it("gives the secret: RFC 6030 figure 7", () => {
    const secret = new Uint8Array(rfcSecret);
    expect(readWith("qwerty")).toMatchObject([{ item: { prefix: "987654321", kind: "hotp", digits: 8, secret } }]);
  });

  it.each([
    [undefined, {}, "its secret is encrypted under a passphrase, and none was given"],
    [
      "wrong",
      {},
      /^its (secret was changed, or is encrypted under another|MAC key cannot be decrypted by this) passphrase$/,
    ],
    ["qwerty", { iterations: "10000001" }, "its iteration count must be a whole number from 1 to 10000000"],
    ["qwerty", { iterations: "" }, "its iteration count must be a whole number from 1 to 10000000"],
    ["qwerty", { length: "17" }, "its key length must be 16, 24 or 32"],
    ["qwerty", { length: "32" }, "its encryption needs a derived key of 16 bytes"],
    [
      "qwerty",
      { prf: ' Algorithm="urn:x"' },
      "its key is derived from the passphrase by an algorithm that is not supported",
    ],
    [
      "qwerty",
      { derivation: "pkcs-5v2-0#other" },
      "its key is derived from the passphrase by an algorithm that is not supported",
    ],
  ])("is refused with the passphrase %j and the parameters %j", (passphrase, parameters, reason) => {
    const read = readWith(passphrase, passphrasePskc(parameters as Record<string, string>));
    expect(read).toEqual([{ line: expect.any(Number), reason: expect.stringMatching(reason) }]);
  });

  it("derives its key with the named hash function, number of iterations and length", () => {
    const key = pbkdf2Sync("qwerty", Buffer.from("Ej7/PEpyEpw=", "base64"), 3, 32, "sha256");
    const iv = randomBytes(16);
    const sealed = (bytes: Uint8Array) => {
      const cipher = createCipheriv("aes-256-cbc", key, iv);
      return Buffer.concat([iv, cipher.update(bytes), cipher.final()]).toString("base64");
    };
    const [macKey, secret] = [randomBytes(20), randomBytes(20)];
    const mac = createHmac("sha1", macKey)
      .update(Buffer.from(sealed(secret), "base64"))
      .digest("base64");
    const prf = ' Algorithm="http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"';
    const text = passphrasePskc({ prf, iterations: "3", length: "32" })
      .replaceAll(aesCbc(128), aesCbc(256))
      .replace("2GTTnLwM3I4e5IO5FkufoOEiOhNj91fhKRQBtBJYluUDsPOLTfUvoU2dStyOwYZx", sealed(macKey))
      .replace("oTvo+S22nsmS2Z/RtcoF8Hfh+jzMe0RkiafpoDpnoZTjPYZu6V+A4aEn032yCr4f", sealed(secret))
      .replace("LP6xMvjtypbfT9PdkJhBZ+D6O4w=", mac);
    expect(itemsOf(readWith("qwerty", text))).toMatchObject([{ secret: new Uint8Array(secret) }]);
  });
});

describe("a PSKC of a draft before RFC 6030", () => {
  it("is refused, one line for each device", () => {
    const reason = expect.stringMatching("a draft before RFC 6030");
    expect(read(container("<Device>\n<Key/></Device>\n<Device/>"))).toEqual([
      { line: 3, reason },
      { line: 5, reason },
    ]);
    const attributes = keyPackage().replace(/Id="[^"]*" Algorithm=/, 'KeyId="1" KeyAlgorithm=');
    expect(read(container(attributes))).toEqual([{ line: 3, reason }]);
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
    [container(keyPackage()).replace("<Manufacturer>M", "<Manufacturer>M\ufffd"), 3, /not UTF-8/],
    ["", 1, /./],
    ["secret,but,no,xml", 1, /./],
    ["<a/>", 1, /no PSKC/],
    [container(`<__proto__>${"x"}</__proto__>`), 1, /well-formed/],
    [container(`${"<a>".repeat(100)}${"</a>".repeat(100)}`), 1, /well-formed/],
  ])("is refused whole, with a line and without its text (%#)", (text, line, reason) => {
    const reading = read(text);
    expect(reading).toEqual([{ line, reason: expect.stringMatching(reason) }]);
    expect(JSON.stringify(reading)).not.toContain("secret,but");
  });

  it("has a refused line for a package without a key", () => {
    expect(read(container("<KeyPackage/>"))).toEqual([{ line: 3, reason: "it contains no key" }]);
  });
});
