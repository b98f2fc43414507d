import createClient, { type Middleware } from 'openapi-fetch'
import type { components as AgentComponents, paths as AgentPaths } from '../api/agent'
import type { components as PlatformComponents, paths as PlatformPaths } from '../api/platform'
import { t } from '../texts'

// The console asks the two public APIs, whose types are generated from their contracts, and nothing else.

export type Agent = AgentComponents['schemas']
export type Platform = PlatformComponents['schemas']

/** A request that was refused or failed: what to tell, and the id under which the server's log has it. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly id: string
  readonly headers: Headers
  constructor(status: number, code: string, message: string, id: string, headers: Headers) {
    super(message)
    this.status = status
    this.code = code
    this.id = id
    this.headers = headers
  }
}

const teamKey = 'vedette.team'
/** The team to act in; empty: the user's own. */
export const team = {
  get id() { return localStorage.getItem(teamKey) ?? '' },
  set(id: string) { if (id) localStorage.setItem(teamKey, id); else localStorage.removeItem(teamKey) },
}

const listeners = new Set<() => void>()
/** Calls back when the server no longer knows the session. */
export function onSignedOut(f: () => void) { listeners.add(f); return () => { listeners.delete(f) } }

/** What each request of a page carries: the team, and what tells other sites' requests from ours. */
export function headers(): Record<string, string> {
  const h: Record<string, string> = { 'X-Requested-With': 'vedette-console' }
  if (team.id) h['X-Team-Id'] = team.id
  return h
}

/** Fails with an ApiError unless the answer is a good one. */
export async function check(response: Response): Promise<Response> {
  if (response.ok) return response
  let code = '', message = ''
  try {
    const body = (await response.clone().json()) as { code?: string; message?: string; error?: string }
    code = String(body.code ?? '')
    message = String(body.message ?? body.error ?? '')
  } catch { /* not JSON: the status says enough */ }
  if (response.status === 401 && !response.url.includes('/auth/')) for (const f of listeners) f()
  const id = response.headers.get('X-Request-Id') ?? ''
  throw new ApiError(response.status, code, message || t.errors.status(response.status), id, response.headers)
}

const middleware: Middleware = {
  onRequest({ request }) {
    for (const [k, v] of Object.entries(headers())) request.headers.set(k, v)
    return request
  },
  onResponse: ({ response }) => check(response),
  onError: ({ error }) => (error instanceof ApiError ? error : new ApiError(0, 'unreachable', t.errors.unreachable, '', new Headers())),
}

export const agent = createClient<AgentPaths>({ baseUrl: '' })
export const platform = createClient<PlatformPaths>({ baseUrl: '' })
agent.use(middleware)
platform.use(middleware)

/** The body of an answer. Failures have been thrown. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T
}
