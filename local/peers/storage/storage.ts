import { startAzurite } from "./azurite.ts";

export interface StorageAccount {
  readonly name: string;
  /** Base64. */
  readonly key: string;
}

export type Storage = Awaited<ReturnType<typeof startStorage>>;

/** The account of every storage emulator, with the key that its documentation publishes. */
export const emulatorAccount: StorageAccount = {
  name: "devstoreaccount1",
  key: "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
};

/**
 * Starts blob and table storage as a child process that ends with this one. Rejects if a port or the directory is in use.
 * @param directory directory of the data; in memory if absent
 * @param ports free ports if absent or 0
 */
export async function startStorage({
  directory,
  accounts = [emulatorAccount],
  ports = { blob: 0, table: 0 },
}: {
  directory?: string | undefined;
  accounts?: readonly StorageAccount[];
  ports?: { readonly blob: number; readonly table: number };
} = {}) {
  const azurite = await startAzurite({
    directory,
    accounts: accounts.map(({ name, key }) => `${name}:${key}`).join(";"),
    ports,
  });
  /** Throws if there is no such account. */
  const connectionStringOf = (name: string) => {
    const account = accounts.find(known => known.name === name);
    if (account === undefined) throw new Error(`there is no storage account ${name}`);
    return storageConnectionString(account, azurite);
  };
  /** Connection string of the first account. */
  const connectionString = connectionStringOf(accounts[0]?.name ?? "");
  return { ...azurite, connectionStringOf, connectionString };
}

/** Returns a connection string with path-style addresses, whose first segment is the account. */
export const storageConnectionString = (
  { name, key }: StorageAccount,
  { blobUrl, tableUrl }: { readonly blobUrl: string; readonly tableUrl: string },
): string =>
  [
    "DefaultEndpointsProtocol=http",
    `AccountName=${name}`,
    `AccountKey=${key}`,
    `BlobEndpoint=${blobUrl}/${name}`,
    `TableEndpoint=${tableUrl}/${name}`,
  ].join(";");
