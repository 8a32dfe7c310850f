let loads = 0;

/** Evaluates the app's main module again, which reads the environment of the process as it loads. */
export async function loadApp(environment: Readonly<Record<string, string>>): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, environment);
  try {
    const main = `../../../functions/main.ts?load=${++loads}`;
    await import(main);
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
