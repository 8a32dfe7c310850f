/** More than NFKC makes of the longest username: it expands one character to at most 18. */
const maxLength = 4096;

/**
 * Returns the form in which a new password is compared with the username and with common passwords: NFKC, lower case, without
 * invisible characters and outer white space, and truncated if it is much longer than any password (A4).
 */
export const comparableText = (text: string): string =>
  text
    .normalize("NFKC")
    .slice(0, maxLength)
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]+/gu, "")
    .trim()
    .toLowerCase()
    .normalize("NFKC");
