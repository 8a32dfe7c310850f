/** The maximum size of an IdP file, in bytes. Separate from its parser, which is loaded only if a file is read. */
export const longestIdpFile = 256 * 1024;
