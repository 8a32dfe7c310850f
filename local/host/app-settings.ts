// Development tool: application settings as Azure's host reads them, names without regard to letter case.

/** The value of a setting; an empty one counts as missing. */
export type Setting = (name: string) => string | undefined;

export function createSettings(env: Readonly<Record<string, string | undefined>>): Setting {
  const values = new Map(Object.entries(env).map(([name, value]) => [name.toLowerCase(), value]));
  return name => values.get(name.toLowerCase()) || undefined;
}

/** Returns whether a setting disables the function. The real host ignores `AzureWebJobs__name__Disabled` too. */
export const isDisabled = (functionName: string, setting: Setting): boolean =>
  [`AzureWebJobs.${functionName}.Disabled`, `AzureWebJobs_${functionName}_Disabled`].some(name =>
    /^(?:true|1)$/i.test(setting(name) ?? ""),
  );
