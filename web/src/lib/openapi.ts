// The contracts of the APIs as the server gives them (OpenAPI 3.1), as far as the reference shows them: operations by their
// tag, schemas unfolded into rows, and a request that could be sent.

type Schema = {
  $ref?: string; type?: string | string[]; format?: string; description?: string; enum?: unknown[]; default?: unknown; examples?: unknown[]; example?: unknown; const?: unknown
  properties?: Record<string, Schema>; required?: string[]; items?: Schema; additionalProperties?: boolean | Schema; oneOf?: Schema[]; anyOf?: Schema[]; allOf?: Schema[]
  minimum?: number; maximum?: number; minLength?: number; maxLength?: number; minItems?: number; maxItems?: number
}
type Content = Record<string, { schema?: Schema; example?: unknown }>
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Schema }
type Operation = {
  operationId?: string; summary?: string; description?: string; tags?: string[]; deprecated?: boolean; security?: Record<string, unknown>[]
  parameters?: Parameter[]; requestBody?: { required?: boolean; description?: string; content: Content }; responses: Record<string, { description?: string; content?: Content }>
}
export type Contract = { info: { title: string; version: string; description?: string }; tags?: { name: string }[]; paths: Record<string, Record<string, Operation>>; components: { schemas?: Record<string, Schema> } }

/** An operation, with where it is. */
export type Entry = { id: string; method: string; path: string; tag: string; of: Operation }

const methods = ['get', 'post', 'put', 'patch', 'delete', 'head']

/** All operations, those of a tag together, in the order of the contract's tags. */
export function entriesOf(c: Contract): Entry[] {
  const order = (e: Entry) => (c.tags ?? []).findIndex((x) => x.name === e.tag) >>> 0 // what has none comes last
  return Object.entries(c.paths).flatMap(([path, all]) => methods.filter((m) => all[m]).map((m) => {
    const of = all[m]!
    return { id: of.operationId ?? `${m} ${path}`, method: m.toUpperCase(), path, tag: of.tags?.[0] ?? '', of }
  })).sort((a, b) => order(a) - order(b))
}

/** One field, or one parameter. */
export type Field = { depth: number; name: string; type: string; required: boolean; about: string; limits: string }

const mostRows = 200
const mostDepth = 4

const nameOf = (ref: string) => ref.slice(ref.lastIndexOf('/') + 1)

/** A schema without references and with what it is all of put together. */
function flat(c: Contract, s: Schema): Schema {
  for (let n = 0; s.$ref && n < 8; n++) s = { ...c.components.schemas?.[nameOf(s.$ref)], ...(s.description ? { description: s.description } : {}) }
  if (!s.allOf) return s
  const parts = s.allOf.map((x) => flat(c, x))
  return { ...s, type: 'object', properties: Object.assign({}, ...parts.map((p) => p.properties), s.properties), required: [...(s.required ?? []), ...parts.flatMap((p) => p.required ?? [])] }
}

export function typeOf(c: Contract, s: Schema): string {
  const x = flat(c, s)
  const choice = x.oneOf ?? x.anyOf
  if (choice) return [...new Set(choice.map((y) => typeOf(c, y)))].join(' or ')
  const type = [x.type ?? (x.properties ? 'object' : 'any')].flat().join(' or ')
  if (type.startsWith('array') && x.items) return `array of ${typeOf(c, x.items)}`
  return x.format ? `${type}, ${x.format}` : type
}

function limitsOf(c: Contract, s: Schema): string {
  const x = flat(c, s)
  const of = x.items ? flat(c, x.items) : x
  const range = (low: number | undefined, high: number | undefined, unit: string) => (low !== undefined && high !== undefined ? `${low} to ${high}${unit}` : low !== undefined ? `at least ${low}${unit}` : high !== undefined ? `at most ${high}${unit}` : '')
  return [of.enum && `one of ${of.enum.map(String).join(', ')}`, range(x.minimum, x.maximum, ''), range(x.minLength, x.maxLength, ' characters'), range(x.minItems, x.maxItems, ' items'), x.default !== undefined && `by default ${JSON.stringify(x.default)}`]
    .filter(Boolean).join('; ')
}

/** The fields of a schema, those of fields below them. */
export function fieldsOf(c: Contract, schema: Schema | undefined): Field[] {
  const rows: Field[] = []
  const add = (s: Schema, depth: number) => {
    let x = flat(c, s)
    if (x.items) x = flat(c, x.items)
    for (const [name, p] of Object.entries(x.properties ?? {})) {
      if (rows.length >= mostRows) return
      const y = flat(c, p)
      rows.push({ depth, name, type: typeOf(c, p), required: !!x.required?.includes(name), about: p.description ?? y.description ?? '', limits: limitsOf(c, p) })
      if (depth < mostDepth) add(y, depth + 1)
    }
  }
  if (schema) add(schema, 0)
  return rows
}

export const parametersOf = (c: Contract, o: Operation): Field[] => (o.parameters ?? []).map((p) => ({
  depth: 0, name: p.in === 'query' || p.in === 'path' ? p.name : `${p.name} (${p.in})`, type: p.schema ? typeOf(c, p.schema) : 'string', required: !!p.required, about: p.description ?? '', limits: p.schema ? limitsOf(c, p.schema) : '',
}))

const ofFormat: Record<string, string> = { 'date-time': '2026-01-31T12:00:00Z', date: '2026-01-31', email: 'ada@example.com', uuid: '00000000-0000-4000-8000-000000000000', uri: 'https://shop.example' }

/** A value that a schema would take: its example or default, else the least of it, with what it requires. */
function sample(c: Contract, schema: Schema, depth = 0): unknown {
  const x = flat(c, schema)
  const given = x.example ?? x.examples?.[0] ?? x.default ?? x.const ?? x.enum?.[0]
  if (given !== undefined) return given
  const choice = (x.oneOf ?? x.anyOf)?.[0]
  if (choice) return sample(c, choice, depth)
  const type = [x.type ?? (x.properties ? 'object' : 'string')].flat()[0]
  if (type === 'object') return depth > mostDepth ? {} : Object.fromEntries(Object.entries(x.properties ?? {}).filter(([name]) => x.required?.includes(name)).map(([name, p]) => [name, sample(c, p, depth + 1)]))
  if (type === 'array') return x.items && depth <= mostDepth ? [sample(c, x.items, depth + 1)] : []
  if (type === 'integer' || type === 'number') return x.minimum ?? 1
  return type === 'boolean' ? true : (ofFormat[x.format ?? ''] ?? '…')
}

const quoted = (s: string) => `'${s.replaceAll("'", `'\\''`)}'`

/** Whether an operation can be called with that of the contract's keys. */
export const takes = (o: Operation, key: string) => !!o.security?.some((s) => key in s)

/** A request as a command, to the server at base, with the key in a variable. */
export function commandOf(c: Contract, e: Entry, base: string): string {
  const query = (e.of.parameters ?? []).filter((p) => p.in === 'query' && p.required).map((p) => `${p.name}=${encodeURIComponent(String(sample(c, p.schema ?? {})))}`)
  const lines = [`curl${e.method === 'GET' ? '' : ` -X ${e.method}`} ${quoted(base + e.path + (query.length > 0 ? `?${query.join('&')}` : ''))}`]
  if (takes(e.of, 'apiKey')) lines.push('-H "X-Api-Key: $VEDETTE_API_KEY"')
  else if (takes(e.of, 'internalKey')) lines.push('-H "X-Internal-API-Key: $INTERNAL_API_KEY"')
  const [media, content] = Object.entries(e.of.requestBody?.content ?? {})[0] ?? []
  if (media) lines.push(`-H ${quoted(`Content-Type: ${media}`)}`, media.includes('json') ? `-d ${quoted(JSON.stringify(content?.example ?? sample(c, content?.schema ?? {})))}` : '--data-binary @file')
  return lines.join(' \\\n  ')
}

/** The schema of the JSON that an answer or a body has. */
export const schemaOf = (content: Content | undefined): Schema | undefined => Object.entries(content ?? {}).find(([media]) => media.includes('json'))?.[1].schema
