/** Environment by which a started process loads compiled modules from where vitest.config.ts says: half its start is compiling. */
export const compileCache: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
};
