// Numbers with units, and times in the reader's zone.

const number = new Intl.NumberFormat('en')
const dateTime = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

export const count = (n: number | undefined) => number.format(n ?? 0)
export const money = (n: number | undefined) => `$${(n ?? 0).toFixed((n ?? 0) !== 0 && Math.abs(n ?? 0) < 0.1 ? 4 : 2)}`
export const date = (s: string | null | undefined) => (s ? dateTime.format(new Date(s)) : '')

export function ago(s: string | null | undefined, now = Date.now()): string {
  if (!s) return ''
  const seconds = Math.round((new Date(s).getTime() - now) / 1000)
  for (const [unit, size] of [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60]] as const) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit)
  }
  return Math.abs(seconds) < 10 ? 'just now' : relative.format(seconds, 'second')
}

export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const s = ms / 1000
  if (s < 60) return `${s.toFixed(1)} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`
  return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`
}

/** A duration as the server writes it, such as 1m2.345s, as span writes it. */
export function took(s: string | null | undefined): string {
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, 'µs': 0.001, ns: 0.000_001 }
  const parts = [...(s ?? '').matchAll(/([\d.]+)(h|ms|m|s|µs|ns)/g)]
  return parts.length > 0 && parts.map((p) => p[0]).join('') === s ? span(parts.reduce((n, p) => n + Number(p[1]) * units[p[2]!]!, 0)) : (s ?? '')
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  return bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`
}
