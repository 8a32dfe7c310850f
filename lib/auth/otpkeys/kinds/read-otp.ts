/** More than any OTP has with a space between all its characters. Longer texts are no OTP, and reading them would be slow. */
const maxTypedLength = 256;

/** White space, line ends, and the invisible characters that a copied text may contain. */
const ignored = /[\s\p{Cf}]/gu;

/**
 * Returns an OTP without white space. People type codes in groups, and devices end them with Enter. No kind of OTP contains
 * white space, under any keyboard layout.
 */
export const readOtp = (text: string): string =>
  text.length > maxTypedLength || text.search(ignored) === -1 ? text : text.replaceAll(ignored, "");
