// Security keys and passkeys. The server's options and the browser's answers are JSON; the browser's own objects have bytes.

type Json = Record<string, unknown>

const bytes = (s: string) => Uint8Array.from(atob(s.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
const text = (b: ArrayBuffer | null | undefined) => (b ? btoa(String.fromCharCode(...new Uint8Array(b))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '') : undefined)
const named = (list: unknown) => ((list ?? []) as { id: string }[]).map((c) => ({ ...c, id: bytes(c.id), type: 'public-key' as const }))

export const hasKeys = () => typeof PublicKeyCredential === 'function'

/** Makes a key for this server, by the options of the server. It fails where the person declines. */
export async function makeKey(options: unknown): Promise<Json> {
  const o = options as Json & { challenge: string; user: { id: string } }
  const made = (await navigator.credentials.create({
    publicKey: { ...o, challenge: bytes(o.challenge), user: { ...o.user, id: bytes(o.user.id) }, excludeCredentials: named(o.excludeCredentials) } as unknown as PublicKeyCredentialCreationOptions,
  })) as PublicKeyCredential
  const r = made.response as AuthenticatorAttestationResponse
  return {
    id: made.id, rawId: text(made.rawId), type: made.type, authenticatorAttachment: made.authenticatorAttachment ?? undefined, clientExtensionResults: made.getClientExtensionResults(),
    response: { clientDataJSON: text(r.clientDataJSON), attestationObject: text(r.attestationObject), transports: r.getTransports?.() ?? [] },
  }
}

/** Has a key of the person answer the server's challenge. */
export async function askKey(options: unknown): Promise<Json> {
  const o = options as Json & { challenge: string }
  const got = (await navigator.credentials.get({
    publicKey: { ...o, challenge: bytes(o.challenge), allowCredentials: named(o.allowCredentials) } as unknown as PublicKeyCredentialRequestOptions,
  })) as PublicKeyCredential
  const r = got.response as AuthenticatorAssertionResponse
  return {
    id: got.id, rawId: text(got.rawId), type: got.type, authenticatorAttachment: got.authenticatorAttachment ?? undefined, clientExtensionResults: got.getClientExtensionResults(),
    response: { clientDataJSON: text(r.clientDataJSON), authenticatorData: text(r.authenticatorData), signature: text(r.signature), userHandle: text(r.userHandle) },
  }
}
