// What may stand at a place of a template: the keys and words of the JSON Schema that the server makes of its reader. The
// place is found by indentation, so that it is known while the text cannot be parsed yet.

export type Schema = {
  $ref?: string; anyOf?: Schema[]; allOf?: Schema[]; oneOf?: Schema[]; type?: string | string[]; enum?: (string | null)[]; deprecated?: boolean
  properties?: Record<string, Schema>; additionalProperties?: Schema | boolean; items?: Schema; description?: string; definitions?: Record<string, Schema>
}
export type Offer = { label: string; apply: string; detail: string; info?: string; kind: 'property' | 'enum' }

/** Where the cursor is: the keys above it, what is typed, and whose value it is, if one's. */
export type Place = { path: string[]; typed: string; value?: string; siblings: Set<string> }

const keyLine = /^(\s*)((?:-\s+)*)([\w-]+)\s*:/

/** The place at the end of a text, which is a template up to the cursor; rest is the text behind it. Nothing within free text. */
export function placeOf(text: string, rest = ''): Place | undefined {
  const lines = text.split('\n')
  const line = lines.pop()!
  const m = /^(\s*)((?:-\s+)*)(?:([\w-]+):\s+)?([\w-]*)$/.exec(line)
  if (!m) return
  const [, indent = '', dashes = '', value, typed = ''] = m
  let need = dashes ? indent.length + 1 : indent.length
  const column = indent.length + dashes.length
  const siblings = new Set<string>()
  const path: string[] = []
  let open = true // the lines above may still be of the same mapping
  for (let i = lines.length - 1; i >= 0 && need > 0 || i >= 0 && open; i--) {
    const above = lines[i]!
    if (/^\s*(#.*)?$/.test(above)) continue
    const k = keyLine.exec(above)
    const at = above.length - above.trimStart().length
    if (!k) { if (at < need) need = Math.max(0, at); continue }
    const its = k[1]!.length + k[2]!.length
    if (its === column && open && path.length === 0 && !(dashes && its !== column)) {
      if (!dashes) siblings.add(k[3]!)
      if (k[2]) { need = Math.min(need, k[1]!.length + 1); open = false }
    } else if (its < need) {
      if (/:\s*[|>][-+0-9]*\s*$/.test(above)) return // free text
      path.unshift(k[3]!)
      need = k[2] ? k[1]!.length + 1 : its
      open = false
    }
    if (need === 0 && !open) break
    if (column === 0 && its === 0 && i === 0) break
  }
  for (const below of rest.split('\n').slice(1)) {
    if (/^\s*$/.test(below)) continue
    const k = keyLine.exec(below)
    const at = below.length - below.trimStart().length
    if (at < column || k?.[2]) break
    if (k && at === column) siblings.add(k[3]!)
  }
  return { path, typed, value, siblings }
}

/** Looks places up in a schema. */
export function offersOf(root: Schema, place: Place): Offer[] {
  const flat = (s: Schema | undefined, deep = 0): Schema[] => {
    if (!s || deep > 12) return []
    if (s.$ref) return flat(root.definitions?.[s.$ref.split('/').pop()!], deep + 1)
    return [s, ...[...(s.anyOf ?? []), ...(s.allOf ?? []), ...(s.oneOf ?? [])].flatMap((x) => flat(x, deep + 1)), ...flat(s.items, deep + 1)]
  }
  let now = flat({ ...root, anyOf: undefined })
  for (const key of place.value ? [...place.path, place.value] : place.path) {
    now = now.flatMap((s) => (s.properties?.[key] ? flat(s.properties[key]) : typeof s.additionalProperties === 'object' ? flat(s.additionalProperties) : []))
  }
  const words = [...new Set(now.flatMap((s) => [...(s.enum ?? []).filter((x) => x !== null), ...([s.type].flat().includes('boolean') ? ['true', 'false'] : [])]))]
  const values = words.map((w): Offer => ({ label: w, apply: w, detail: '', kind: 'enum' }))
  if (place.value) return values
  const keys = new Map<string, Offer>()
  for (const s of now) {
    for (const [key, of] of Object.entries(s.properties ?? {})) {
      if (of.deprecated || place.siblings.has(key) || keys.has(key)) continue
      const shapes = flat(of)
      const types = new Set(shapes.flatMap((x) => [x.type ?? []].flat()).filter((x) => x !== 'null'))
      const nested = shapes.some((x) => x.properties) || (types.size > 0 && [...types].every((x) => x === 'object' || x === 'array'))
      const closed = shapes.flatMap((x) => x.enum ?? [])
      keys.set(key, { label: key, apply: nested ? `${key}:` : `${key}: `, detail: closed.length > 0 ? closed.slice(0, 4).join(', ') + (closed.length > 4 ? ', …' : '') : nested ? '' : [...types].includes('boolean') ? 'yes or no' : '', info: of.description, kind: 'property' })
    }
  }
  return [...keys.values(), ...(keys.size === 0 ? values : [])]
}
