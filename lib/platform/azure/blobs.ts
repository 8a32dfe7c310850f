import { buffer } from "node:stream/consumers";
import type { BlobServiceClient, StoragePipelineOptions } from "@azure/storage-blob";
import { isLocalService, isServiceError, retryOptions, type ServiceAccess, serviceCaller } from "./services.ts";

const service = "Storage";

export type Blobs = ReturnType<typeof openBlobs>;

/**
 * Opens blob storage, for values that may not fit into a row (C18). Loads the SDK at the first call. Every call, and
 * every page of `list`, ends within the time limit, retries included, or throws Fault `unavailable`. A write that ends
 * with this Fault may have succeeded.
 */
export function openBlobs(access: ServiceAccess & { readonly timeoutMs: number }) {
  const call = serviceCaller(service, access.timeoutMs, () => openClient(access));

  const read = (container: string, name: string, bytes?: number) =>
    call(async (client, abortSignal): Promise<Uint8Array | undefined> => {
      try {
        const blob = client.getContainerClient(container).getBlobClient(name);
        const { readableStreamBody } = await blob.download(0, bytes, { abortSignal });
        return readableStreamBody && (await buffer(readableStreamBody));
      } catch (error) {
        if (isServiceError(error) && error.code === "BlobNotFound") return undefined;
        // An empty blob has no first byte.
        if (isServiceError(error) && error.code === "InvalidRange") return new Uint8Array();
        throw error;
      }
    });

  return {
    /** Creates the container if it does not exist. Not for calls of users. */
    createContainer: (container: string) =>
      call(async (client, abortSignal) => {
        await client.getContainerClient(container).createIfNotExists({ abortSignal });
      }),
    /** Creates or overwrites a blob. Text is written as UTF-8. */
    put: (container: string, name: string, content: string | Uint8Array) =>
      call(async (client, abortSignal) => {
        const bytes = Buffer.from(content as Uint8Array);
        const blob = client.getContainerClient(container).getBlockBlobClient(name);
        await blob.upload(bytes, bytes.length, { abortSignal });
      }),
    /** Returns a blob; undefined if it does not exist. */
    get: (container: string, name: string) => read(container, name),
    /** Returns at most the first `bytes` bytes of a blob; undefined if it does not exist. */
    head: (container: string, name: string, bytes: number) => read(container, name, bytes),
    /** Deletes a blob, if it exists. */
    remove: (container: string, name: string) =>
      call(async (client, abortSignal) => {
        await client.getContainerClient(container).getBlobClient(name).deleteIfExists({ abortSignal });
      }),
    /** Yields the names that start with the prefix, sorted. */
    list: async function* (container: string, prefix: string): AsyncGenerator<string> {
      let continuationToken: string | undefined;
      do {
        const page = await call(async (client, abortSignal) => {
          const blobs = client.getContainerClient(container).listBlobsFlat({ prefix, abortSignal });
          const pages = blobs.byPage(continuationToken === undefined ? {} : { continuationToken });
          return (await pages.next()).value;
        });
        for (const { name } of page?.segment.blobItems ?? []) yield name;
        continuationToken = page?.continuationToken || undefined;
      } while (continuationToken !== undefined);
    },
  };
}

async function openClient(access: ServiceAccess): Promise<BlobServiceClient> {
  const { BlobServiceClient } = await import("@azure/storage-blob");
  const { maxRetries, ...delays } = retryOptions;
  const options: StoragePipelineOptions = { retryOptions: { maxTries: maxRetries + 1, ...delays } };
  const client =
    "connectionString" in access
      ? BlobServiceClient.fromConnectionString(access.connectionString, options)
      : new BlobServiceClient(access.endpoint, access.credential, options);
  // Throws for http to another host, which a connection string can name.
  isLocalService(client.url);
  return client;
}
