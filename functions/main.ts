import { start } from "./start.ts";

// Only this file reads `process.env`.
await start({ ...process.env });
