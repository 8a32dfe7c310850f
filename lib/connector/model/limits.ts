/** How much one request may hold (decision C5). Keys count with their quantities. */
export const requestLimits = { keys: 50, credentialsPerKey: 20, credentials: 100, emailsTo: 20 } as const;
