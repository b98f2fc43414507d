import type { Agent } from './api'

// What somebody changes of a captured request before it is sent again. Only what was changed goes to the server: what is
// shown of the rest may be masked, and the server has it as it was sent.

export type Edits = Agent['NetworkEdits']
export type Draft = { method: string; path: string; headers: string; body: string; crlf: boolean }

// Made anew with each request; the server refuses them.
const ofConnection = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'te', 'trailer', 'expect', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'accept-encoding'])

/** What a text has where a secret was. */
export const isMasked = (text: string) => /\[masked:\d+:|\[secret[\] ]/.test(text)

/** The parts of a request that can be changed. */
export function draftOf(request: string): Draft {
  const end = /\r?\n\r?\n/.exec(request)
  const [first = '', ...lines] = (end ? request.slice(0, end.index) : request).split(/\r?\n/)
  const [method = '', path = ''] = first.split(' ')
  const body = end ? request.slice(end.index + end[0].length) : ''
  return {
    method, path, headers: lines.filter((l) => l.trim() && !ofConnection.has(nameOf(l).toLowerCase())).join('\n'),
    body: body.replaceAll('\r\n', '\n'), crlf: body.includes('\r\n'), // a text area has \n alone
  }
}

const nameOf = (line: string) => line.split(':', 1)[0]!.trim()

/** The values of each header, by its name in lower case. */
function headersOf(text: string): Map<string, { name: string; values: string[] }> {
  const out = new Map<string, { name: string; values: string[] }>()
  for (const line of text.split(/\r?\n/)) {
    if (!line.trim()) continue
    const name = nameOf(line)
    const h = out.get(name.toLowerCase()) ?? { name, values: [] }
    h.values.push(line.slice(line.indexOf(':') + 1).trim())
    out.set(name.toLowerCase(), h)
  }
  return out
}

/** Lines that are no header, and names of changed headers that stand more than once: the API sets each once. */
export function wrongHeaders(was: Draft, now: Draft): { line?: string; twice?: string } {
  const line = now.headers.split(/\r?\n/).find((l) => l.trim() && !/^[^\s:]+:/.test(l))
  const before = headersOf(was.headers)
  const twice = [...headersOf(now.headers)].find(([k, h]) => h.values.length > 1 && !same(h.values, before.get(k)?.values))
  return { line, twice: twice?.[1].name }
}

const same = (a: string[], b: string[] | undefined) => !!b && a.length === b.length && a.every((v, i) => v === b[i])

/** What differs between a request and what somebody made of it. */
export function editsOf(was: Draft, now: Draft): Edits {
  const edits: Edits = {}
  if (now.method !== was.method) edits.method = now.method
  if (now.path !== was.path) edits.path = now.path
  const before = headersOf(was.headers), after = headersOf(now.headers)
  const headers: Record<string, string | null> = {}
  for (const [k, h] of after) if (!same(h.values, before.get(k)?.values)) headers[h.name] = h.values[0]!
  for (const [k, h] of before) if (!after.has(k)) headers[h.name] = null
  if (Object.keys(headers).length > 0) edits.headers = headers
  if (now.body !== was.body) {
    const json = isMasked(was.body) ? mutationsOf(was.body, now.body) : undefined
    if (json) edits.json = json
    else edits.body = was.crlf ? now.body.replaceAll('\n', '\r\n') : now.body
  }
  return edits
}

/** What is sent as it is shown although it stands for something that is hidden. */
export function sendsMasks(edits: Edits): boolean {
  return isMasked(JSON.stringify([edits.path, edits.headers, edits.body, edits.json?.map((m) => m.value)]))
}

/** The changes that make one JSON document of another; nothing where they are none, or too many. */
function mutationsOf(was: string, now: string): Edits['json'] {
  let before: unknown, after: unknown
  try { before = JSON.parse(was); after = JSON.parse(now) } catch { return undefined }
  const out: NonNullable<Edits['json']> = []
  const walk = (a: unknown, b: unknown, path: string) => {
    if (JSON.stringify(a) === JSON.stringify(b)) return
    if (isObject(a) && isObject(b)) {
      for (const k of new Set([...Object.keys(a), ...Object.keys(b)])) {
        const at = `${path}/${k.replaceAll('~', '~0').replaceAll('/', '~1')}`
        if (!(k in b)) out.push({ path: at, remove: true })
        else if (!(k in a)) out.push({ path: at, value: b[k] })
        else walk(a[k], b[k], at)
      }
    } else if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) a.forEach((v, i) => walk(v, b[i], `${path}/${i}`))
    else out.push({ path, value: b })
  }
  walk(before, after, '')
  return out.length > 0 && out.length <= 50 ? out : undefined
}

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === 'object' && v !== null && !Array.isArray(v)
