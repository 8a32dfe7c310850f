/** NFKC makes up to 18 characters of one. This is more than it makes of the longest username. */
const maxLength = 4096;

/**
 * Returns the form in which a new password is compared with the username and with common passwords: NFKC, lower case, without
 * invisible characters and outer blanks, and cut where it becomes much longer than any password is (decision A4).
 */
export const comparableText = (text: string): string =>
  text
    .normalize("NFKC")
    .slice(0, maxLength)
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]+/gu, "")
    .trim()
    .toLowerCase()
    .normalize("NFKC");
