const secretName =
  /secret|password|passphrase|token$|^pin$|^otp$|assertion|private|^auth_?id$|^code$|credential$|pin_response/i;
const maxTextLength = 120;
const maxBodyLength = 3000;

/** Returns a JSON or form body with masked secrets and shortened long texts, for people to read. */
export function masked(body: string): string {
  const text = maskedBody(body);
  return text.length > maxBodyLength ? `${text.slice(0, maxBodyLength)} … (${text.length} characters)` : text;
}

function maskedBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), (name, value: unknown) =>
      typeof value === "string" ? maskedValue(name, value) : value,
    );
  } catch {
    if (!/^[\w.%+*-]+=[^\s]*$/.test(body)) return maskedValue("", body, maxBodyLength);
    const form = [...new URLSearchParams(body)].map(([name, value]) => `${name}=${maskedValue(name, value)}`);
    return form.join("&");
  }
}

function maskedValue(name: string, value: string, maxLength = maxTextLength): string {
  if (secretName.test(name) && value !== "") return "•••";
  // A JWS or a JWE.
  if (/^ey[\w-]+\.[\w-]*\./.test(value)) return `${value.slice(0, 12)}… (${value.length} characters)`;
  return value.length > maxLength ? `${value.slice(0, maxLength)}… (${value.length} characters)` : value;
}
