import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'

// The URL's search holds what a screen shows: filters, order, page and the open panel. Values are plain strings; what is
// empty is not written. A filter that is chosen is a new entry in the history, so that back undoes it; typing is not.

export type Search = Record<string, string>

export function parse(text: string): Search {
  const out: Search = {}
  for (const [k, v] of new URLSearchParams(text)) if (v !== '') out[k] = v.slice(0, 2000)
  return out
}

export function write(search: Record<string, unknown>): string {
  const p = new URLSearchParams()
  for (const [k, v] of Object.entries(search)) if (v !== undefined && v !== null && v !== '') p.set(k, String(v))
  const s = p.toString()
  return s ? `?${s}` : ''
}

/** The search, and what changes it. Keys that a screen does not know stay out of its requests. */
export function useURL(): [Search, (change: Partial<Search>, how?: { replace?: boolean }) => void] {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const set = useCallback((change: Partial<Search>, how: { replace?: boolean } = {}) => {
    void navigate({ to: '.', search: ((old: Search) => ({ ...old, ...change })) as never, replace: how.replace ?? false, resetScroll: false })
  }, [navigate])
  return [search, set]
}

/** Which of a screen's tabs is shown; the first, if the address names none or one that is not there. */
export const tabOf = <T extends string>(search: Search, tabs: readonly [T, ...T[]]): T => tabs.find((x) => x === search.tab) ?? tabs[0]

/** A text field whose value goes into the URL a twentieth of a second after the last key. */
export function useTyped(name: string): [string, (v: string) => void] {
  const [search, set] = useURL()
  const there = search[name] ?? ''
  const [value, setValue] = useState(there)
  const [sent, setSent] = useState(there)
  useEffect(() => { // somebody went back
    if (there !== sent) { setValue(there); setSent(there) }
  }, [there, sent])
  useEffect(() => {
    if (value === sent) return
    const timer = setTimeout(() => { setSent(value); set({ [name]: value || undefined }, { replace: true }) }, 50)
    return () => clearTimeout(timer)
  }, [value, sent, name, set])
  return [value, setValue]
}
