const certificateErrors = new Set([
  "CERT_CHAIN_TOO_LONG",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REJECTED",
  "CERT_REVOKED",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Whether `fetch` failed before anything was sent. Only then may a call that changes something be repeated.
 * EHOSTUNREACH, ENETUNREACH and ETIMEDOUT can also end an open connection, so they count only if `syscall` is `connect`
 * or `getaddrinfo`.
 */
export function hasSentNothing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(hasSentNothing);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === "connect" || syscall === "getaddrinfo") return true;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || certificateErrors.has(code ?? "")) return true;
  return error.cause !== undefined && hasSentNothing(error.cause);
}

/**
 * Returns the system's error or the reason of a signal, for a cause. The own errors of `fetch` may quote the call with
 * its token.
 */
export function systemError(error: unknown): Error | undefined {
  if (error instanceof DOMException) return error;
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}
