const text = /"(?:[^"\\\n]|\\.)*"/.source;
const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//.source;
const beginOfBytes = /new\s+U?[Ii]nt8Array\s*\(|Uint8Array\.from\s*\(/.source;
const endOfBytes = /\)\s*\.buffer\b|,\s*function\s*\([^()]*\)\s*\{[^{}]*\}\s*\)/.source;
const lastComma = /,(?=\s*[}\]])/.source;
const name = /[A-Za-z_$][\w$]*(?=\s*:)/.source;
const tokens = new RegExp([text, comment, beginOfBytes, endOfBytes, lastComma, name].join("|"), "g");
const braces = new RegExp([text, comment, /[{}]/.source].join("|"), "g");

/**
 * A JavaScript literal of AM's scripts as a value; nothing is run. Bytes stay the list or the text that they are made of.
 * Texts are told apart first, so that nothing inside one counts. Undefined where it is no such literal.
 */
export function readLiteral(literal: string): unknown {
  const json = literal.replace(tokens, token => {
    if (token.startsWith('"')) return jsonText(token);
    return /^[\w$]+$/.test(token) ? `"${token}"` : "";
  });
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The options that a registration script hands to the browser: the object that it names `publicKey`. */
export function readScript(script: string): unknown {
  const begin = /\bpublicKey\s*=\s*(?=\{)/.exec(script);
  if (begin === null) return undefined;
  const from = begin.index + begin[0].length;
  let depth = 0;
  for (const { 0: token, index } of script.slice(from).matchAll(braces)) {
    if (token === "{") depth++;
    if (token === "}" && --depth === 0) return readLiteral(script.slice(from, from + index + 1));
  }
  return undefined;
}

/** JavaScript escapes more than JSON knows. */
const jsonText = (token: string) =>
  token.replace(/\\(x[0-9A-Fa-f]{2}|.)/g, (escaped, rest: string) => {
    if (rest.length === 3) return `\\u00${rest.slice(1)}`;
    return rest === "'" ? "'" : escaped;
  });
