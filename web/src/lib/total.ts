import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { team } from './api'

type Page = { total_results: number; total_is_estimate?: boolean }

/** How many rows a list has; pending: that is not known yet, and what is shown has at least so many, or had. */
export type Total = { n: number; about: boolean; pending: boolean }

/**
 * The total of a list whose pages are asked for without it: rows stand there before what else matches is counted. It is of
 * a filter, so that another page or order of the same list does not count again. shown is the page, once it is that of the filter.
 */
export function useTotal(kind: string, filter: object, shown: Page | undefined, count: (signal: AbortSignal) => Promise<Page>): Total {
  const found = useQuery({ queryKey: [kind, team.id, 'total', filter], enabled: !!shown?.total_is_estimate, staleTime: 30_000, queryFn: ({ signal }) => count(signal) })
  const last = useRef<Total>({ n: 0, about: false, pending: true })
  if (shown && !shown.total_is_estimate) last.current = { n: shown.total_results, about: false, pending: false }
  else if (found.data) last.current = { n: Math.max(found.data.total_results, shown?.total_results ?? 0), about: !!found.data.total_is_estimate, pending: false }
  else if (shown) last.current = { n: shown.total_results + 1, about: true, pending: true } // the way to the next page is open
  else last.current = { ...last.current, pending: true }
  return last.current
}

/** Asks for the page that follows, when the one that is shown has stood for a moment. */
export function useNext(shown: unknown, follows: boolean, ask: () => void) {
  useEffect(() => {
    if (!shown || !follows) return
    const timer = setTimeout(ask, 300)
    return () => clearTimeout(timer)
  }, [shown, follows]) // eslint-disable-line react-hooks/exhaustive-deps
}
