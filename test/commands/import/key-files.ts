import { randomBytes } from "node:crypto";
import { newPrefix } from "../../support/auth/software-key.ts";

/** A key as a file describes it. */
export interface FileKey {
  readonly prefix: string;
  readonly kind: "hotp" | "totp" | "yubico";
  readonly secret: Buffer;
  readonly privateId?: Buffer;
}

let serials = 1_000_000;
/** Lower than any other a file has, so that it is no prefix of another. */
const serial = (): string => String(++serials);

export const yubicoKey = (): FileKey => ({
  prefix: newPrefix(),
  kind: "yubico",
  secret: randomBytes(16),
  privateId: randomBytes(6),
});
export const hotpKey = (): FileKey => ({ prefix: `ubhe0${serial()}`, kind: "hotp", secret: randomBytes(20) });
export const totpKey = (): FileKey => ({ prefix: serial(), kind: "totp", secret: randomBytes(20) });

const hex = (bytes: Buffer | undefined): string => bytes?.toString("hex") ?? "";

/** A line of the traditional layout, or of that for keys without a keyboard. */
export function logLine({ prefix, kind, secret, privateId }: FileKey): string {
  if (kind === "totp") return `${prefix},${hex(secret)},totp,6,30`;
  if (kind === "hotp") return `OATH-HOTP,11.12.13 18:55,1,${prefix},,${hex(secret)},,,0,1,0,6,0,0,0,0,0,0`;
  return `Yubico OTP,12/11/2013 11:10,1,${prefix},${hex(privateId)},${hex(secret)},,,0,0,0,0,0,0,0,0,0,0`;
}

/** A line of the Yubico layout. */
export const compactLine = ({ prefix, secret, privateId }: FileKey): string =>
  `508328,${prefix},${privateId === undefined ? "0" : hex(privateId)},${hex(secret)},,2013-12-12T08:43:17,`;

/** A PSKC of OATH keys, one on each line from the third. */
export const pskcOf = (keys: readonly FileKey[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<KeyContainer Version="1.0" xmlns="urn:ietf:params:xml:ns:keyprov:pskc">
${keys.map(keyPackage).join("\n")}
</KeyContainer>`;

const keyPackage = ({ prefix, kind, secret }: FileKey): string =>
  `<KeyPackage><Key Id="${prefix}" Algorithm="urn:ietf:params:xml:ns:keyprov:pskc:${kind}"><AlgorithmParameters><ResponseFormat Length="6" Encoding="DECIMAL"/></AlgorithmParameters><Data><Secret><PlainValue>${secret.toString("base64")}</PlainValue></Secret></Data></Key></KeyPackage>`;

const sealed = (value: string) =>
  `<x:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/><x:CipherData><x:CipherValue>${value}</x:CipherValue></x:CipherData>`;

/** The key of RFC 6030 figure 6, under the pre-shared key of that figure. */
export const sealedPskc = `<?xml version="1.0" encoding="UTF-8"?>
<KeyContainer Version="1.0" xmlns="urn:ietf:params:xml:ns:keyprov:pskc" xmlns:x="http://www.w3.org/2001/04/xmlenc#">
<MACMethod Algorithm="http://www.w3.org/2000/09/xmldsig#hmac-sha1"><MACKey>${sealed("ESIzRFVmd4iZABEiM0RVZgKn6WjLaTC1sbeBMSvIhRejN9vJa2BOlSaMrR7I5wSX")}</MACKey></MACMethod>
<KeyPackage><Key Id="12345678" Algorithm="urn:ietf:params:xml:ns:keyprov:pskc:hotp"><AlgorithmParameters><ResponseFormat Length="8" Encoding="DECIMAL"/></AlgorithmParameters>
<Data><Secret><EncryptedValue>${sealed("AAECAwQFBgcICQoLDA0OD+cIHItlB3Wra1DUpxVvOx2lef1VmNPCMl8jwZqIUqGv")}</EncryptedValue><ValueMAC>Su+NvtQfmvfJzF6bmQiJqoLRExc=</ValueMAC></Secret></Data></Key></KeyPackage>
</KeyContainer>`;

/** The key of RFC 6030 figure 7, under the passphrase `qwerty`. */
export function passphrasePskc({
  iterations = "1000",
  length = "16",
  prf = "",
  derivation = "pkcs-5v2-0#pbkdf2",
}: Readonly<Partial<Record<"iterations" | "length" | "prf" | "derivation", string>>> = {}): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<KeyContainer Version="1.0" xmlns="urn:ietf:params:xml:ns:keyprov:pskc" xmlns:x="http://www.w3.org/2001/04/xmlenc#">
<EncryptionKey><d:DerivedKey xmlns:d="http://www.w3.org/2009/xmlenc11#">
<d:KeyDerivationMethod Algorithm="http://www.rsasecurity.com/rsalabs/pkcs/schemas/${derivation}">
<p:PBKDF2-params xmlns:p="http://www.rsasecurity.com/rsalabs/pkcs/schemas/pkcs-5v2-0#">
<Salt><Specified>Ej7/PEpyEpw=</Specified></Salt><IterationCount>${iterations}</IterationCount>
<KeyLength>${length}</KeyLength><PRF${prf}/></p:PBKDF2-params></d:KeyDerivationMethod>
<d:MasterKeyName>My Password 1</d:MasterKeyName></d:DerivedKey></EncryptionKey>
<MACMethod Algorithm="http://www.w3.org/2000/09/xmldsig#hmac-sha1"><MACKey>${sealed("2GTTnLwM3I4e5IO5FkufoOEiOhNj91fhKRQBtBJYluUDsPOLTfUvoU2dStyOwYZx")}</MACKey></MACMethod>
<KeyPackage><DeviceInfo><Manufacturer>TokenVendorAcme</Manufacturer><SerialNo>987654321</SerialNo></DeviceInfo>
<CryptoModuleInfo><Id>CM_ID_001</Id></CryptoModuleInfo><Key Id="123456" Algorithm="urn:ietf:params:xml:ns:keyprov:pskc:hotp"><Issuer>Example-Issuer</Issuer>
<AlgorithmParameters><ResponseFormat Length="8" Encoding="DECIMAL"/></AlgorithmParameters>
<Data><Secret><EncryptedValue Id="ED">${sealed("oTvo+S22nsmS2Z/RtcoF8Hfh+jzMe0RkiafpoDpnoZTjPYZu6V+A4aEn032yCr4f")}</EncryptedValue><ValueMAC>LP6xMvjtypbfT9PdkJhBZ+D6O4w=</ValueMAC></Secret></Data></Key></KeyPackage>
</KeyContainer>`;
}

/** Every form in which the secrets of keys could be written anywhere. */
export const spellings = (keys: readonly FileKey[]): readonly string[] =>
  keys
    .flatMap(({ secret, privateId }) => [secret, ...(privateId === undefined ? [] : [privateId])])
    .flatMap(bytes => [hex(bytes), hex(bytes).toUpperCase(), bytes.toString("base64"), bytes.toString("base64url")]);
