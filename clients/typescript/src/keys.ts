/** Idempotency keys. They are no secrets. */

/** A key that no other call has; where the runtime has no UUIDs, plain chance will do. */
export function newKey(): string {
  const crypto: { randomUUID?: () => string } | undefined = globalThis.crypto;
  return crypto?.randomUUID?.() ?? `${Date.now()}-${Math.random()}-${Math.random()}`;
}

/**
 * The key of all who create a session with this external id, in every client: `external-id-` and the SHA-256 of the
 * id's UTF-8 in hex, as long for any id. None where the runtime has no digests, as on a page without HTTPS.
 */
export async function externalIdKey(externalId: string): Promise<string | undefined> {
  const crypto: { subtle?: SubtleCrypto } | undefined = globalThis.crypto;
  const digest = await crypto?.subtle?.digest("SHA-256", new TextEncoder().encode(externalId));
  return digest && `external-id-${Array.from(new Uint8Array(digest), hex).join("")}`;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
