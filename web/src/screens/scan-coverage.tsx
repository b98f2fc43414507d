import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { count } from '../lib/format'
import { useURL } from '../lib/search'
import { Shown, visible } from '../lib/show'
import { Card, Empty, Loading, Pages, Problem, Table } from '../ui/kit'
import { t } from '../texts'

export const useCoverage = (id: string, live: boolean, query: Record<string, unknown> = { limit: 1 }) => useQuery({
  queryKey: ['coverage', team.id, id, query], placeholderData: keepPreviousData,
  queryFn: () => body(platform.GET('/v1/scans/{scan_id}/coverage', { params: { path: { scan_id: id }, query: query as never } })),
  refetchInterval: live ? 1500 : false, retry: false,
})

const states = ['tested', 'not_applicable', 'skipped', 'denied', 'failed', 'pending'] as const
const paint: Record<string, string> = { tested: 'bg-tested', not_applicable: 'bg-line', skipped: 'bg-skipped', denied: 'bg-unknown', failed: 'bg-medium', pending: 'bg-hover' }

export function Coverage({ id, live }: { id: string; live: boolean }) {
  const [search, set] = useURL()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const state = search.state ?? ''
  const all = useCoverage(id, live)
  const cells = useCoverage(id, live, { state: state || undefined, limit: 100, offset: page * 100 })
  if (all.error) return <Problem error={all.error} />
  if (!all.data) return <Loading what={t.scans.tabs.coverage} />
  const counts = all.data.counts as Record<string, number>
  const total = Math.max(1, all.data.total)
  // Without a state the list has what was not tested although it applies.
  const listed = state ? counts[state] ?? 0 : all.data.total - (counts.tested ?? 0) - (counts.not_applicable ?? 0)
  const label = states.filter((s) => (counts[s] ?? 0) > 0).map((s) => `${t.coverage[s]}: ${count(counts[s])}`).join(', ')
  if (all.data.total === 0) return <Card><Empty title={t.coverageText.none}>{t.coverageText.noneText}</Empty></Card>
  return (
    <div className="grid gap-4 *:min-w-0">
      <Card title={t.coverageText.title(count(all.data.total_target), count(all.data.total))}>
        <div role="img" aria-label={label} className="flex h-6 w-full gap-px overflow-hidden rounded-sm">
          {states.filter((s) => (counts[s] ?? 0) > 0).map((s) => <div key={s} className={paint[s]} title={`${t.coverage[s]}: ${count(counts[s])}`} style={{ width: `${((counts[s] ?? 0) / total) * 100}%`, minWidth: 3 }} />)}
        </div>
        <ul className="mt-3 flex flex-wrap gap-x-1 gap-y-1 text-sm">
          {states.map((s) => (
            <li key={s}>
              <button type="button" aria-pressed={state === s} className="inline-flex min-h-7 items-center gap-1.5 rounded-sm px-2 hover:bg-hover aria-pressed:bg-accent-soft" onClick={() => set({ state: state === s ? undefined : s, page: undefined })}>
                <span className={`size-3 rounded-xs border border-edge ${paint[s]}`} aria-hidden="true" />{t.coverage[s]}<span className="text-muted">{count(counts[s])}</span>
              </button>
            </li>
          ))}
        </ul>
      </Card>
      <Heat id={id} live={live} />
      <Card title={state ? t.coverageText.only(t.coverage[state]!) : t.coverageText.gaps} flush>
        {!cells.data ? <Loading what={t.scans.tabs.coverage} /> : cells.data.cells.length === 0 ? <Empty title={state ? t.coverageText.nothing : t.coverageText.noGaps} /> : (
          <Table label={t.coverageText.cells} head={[t.coverageText.state, t.coverageText.target, t.coverageText.check, t.coverageText.reason]}>
            {cells.data.cells.map((c) => (
              <tr key={`${c.target} ${c.template_id}`}>
                <td className="whitespace-nowrap"><span className={`mr-1.5 inline-block size-2.5 rounded-xs border border-edge ${paint[c.state]}`} aria-hidden="true" />{t.coverage[c.state]}</td>
                <td><Shown text={c.target} max={120} /></td><td><Shown text={c.template_id} max={100} /></td><td className="text-muted"><Shown text={c.reason} max={240} /></td>
              </tr>
            ))}
          </Table>
        )}
        {listed > 100 && <Pages page={page} total={listed} size={100} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </div>
  )
}

// The map of a run. The server has drawn it into at most some ten thousand tiles, however many targets and checks there
// are; here they are painted on a canvas. A letter is the worst state in a tile.
const letters: Record<string, { color: string; name: string; state?: string }> = {
  n: { color: 'line', name: t.coverage.not_applicable!, state: 'not_applicable' }, t: { color: 'tested', name: t.coverage.tested!, state: 'tested' }, p: { color: 'hover', name: t.coverage.pending!, state: 'pending' },
  s: { color: 'skipped', name: t.coverage.skipped!, state: 'skipped' }, d: { color: 'unknown', name: t.coverage.denied!, state: 'denied' }, f: { color: 'medium', name: t.coverage.failed!, state: 'failed' }, x: { color: 'critical', name: t.heat.found },
}

function Heat({ id, live }: { id: string; live: boolean }) {
  const [, set] = useURL()
  const found = useQuery({
    queryKey: ['coverage', team.id, id, 'map'], placeholderData: keepPreviousData, refetchInterval: live ? 3000 : false,
    queryFn: ({ signal }) => body(platform.GET('/v1/scans/{scan_id}/coverage/map', { params: { path: { scan_id: id }, query: { rows: 100, columns: 200 } as never }, signal })),
  })
  const m = found.data
  if (found.error) return <Problem error={found.error} />
  if (!m || m.rows.length === 0 || m.total_target * m.total_template < 2) return null
  return <Picture of={m} onOpen={(state) => { if (state) set({ state, page: undefined }) }} />
}

function Picture({ of: m, onOpen }: { of: Platform['CoverageMap']; onOpen: (state?: string) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [at, setAt] = useState<[row: number, column: number]>()
  const [dark, setDark] = useState(document.documentElement.dataset.theme)
  const rows = m.rows.length, columns = m.rows[0]!.length
  const tall = Math.max(4, Math.min(22, Math.floor(320 / rows)))
  useEffect(() => {
    const watch = new MutationObserver(() => setDark(document.documentElement.dataset.theme))
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const el = canvas.current!
    const draw = () => {
      const wide = el.clientWidth, scale = window.devicePixelRatio || 1
      el.width = Math.round(wide * scale)
      el.height = Math.round(rows * tall * scale)
      const c = el.getContext('2d')!
      const style = getComputedStyle(document.documentElement)
      const paint = Object.fromEntries(Object.entries(letters).map(([k, v]) => [k, style.getPropertyValue(`--${v.color}`).trim()]))
      const w = el.width / columns, h = el.height / rows
      const gap = w > 5 && h > 5 ? 1 : 0
      m.rows.forEach((line, i) => {
        for (let j = 0; j < line.length; j++) {
          const color = paint[line[j]!]
          if (!color) continue
          c.fillStyle = color
          const x = Math.floor(j * w), y = Math.floor(i * h)
          c.fillRect(x, y, Math.max(1, Math.floor((j + 1) * w) - x - gap), Math.max(1, Math.floor((i + 1) * h) - y - gap))
        }
      })
      if (at) {
        c.strokeStyle = style.getPropertyValue('--text').trim()
        c.lineWidth = 2 * scale
        c.strokeRect(Math.floor(at[1] * w), Math.floor(at[0] * h), Math.max(4, w), Math.max(4, h))
      }
    }
    draw()
    const size = new ResizeObserver(draw)
    size.observe(el)
    return () => size.disconnect()
  }, [m, at, dark, rows, columns, tall])
  const of = at && letters[m.rows[at[0]]?.[at[1]] ?? '']
  const part = (i: number, n: number, total: number) => [Math.ceil((i * total) / n) + 1, Math.ceil(((i + 1) * total) / n)].map((x) => count(x)) as [string, string]
  const name = (i: number, names: string[], n: number, total: number, words: (a: string, b: string) => string) => { const [a, b] = part(i, n, total); return a === b ? names[i] ?? words(a, b) : words(a, b) }
  const said = at && of ? t.heat.cell(name(at[0], m.row_names, rows, m.total_target, t.heat.targets), name(at[1], m.column_names, columns, m.total_template, t.heat.checks), of.name) : ''
  const point = (e: { clientX: number; clientY: number }): [number, number] => {
    const r = canvas.current!.getBoundingClientRect()
    return [Math.max(0, Math.min(rows - 1, Math.floor(((e.clientY - r.top) / r.height) * rows))), Math.max(0, Math.min(columns - 1, Math.floor(((e.clientX - r.left) / r.width) * columns)))]
  }
  return (
    <Card title={t.heat.title}>
      <canvas ref={canvas} role="img" tabIndex={0} aria-label={t.heat.label(count(m.total_target), count(m.total_template), t.heat.keys)} className="block w-full cursor-crosshair" style={{ height: rows * tall }}
        onPointerMove={(e) => setAt(point(e))} onPointerLeave={() => setAt(undefined)} onClick={(e) => onOpen(letters[m.rows[point(e)[0]]?.[point(e)[1]] ?? '']?.state)}
        onKeyDown={(e) => {
          const [r, c] = at ?? [0, 0]
          const to = ({ ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], Home: [r, 0], End: [r, columns - 1] } as Record<string, [number, number]>)[e.key]
          if (to) { e.preventDefault(); setAt([Math.max(0, Math.min(rows - 1, to[0])), Math.max(0, Math.min(columns - 1, to[1]))]) }
          if (e.key === 'Enter' && of) onOpen(of.state)
        }} />
      <p className="mt-2 min-h-5 text-xs text-muted" aria-live="polite">{said ? visible(said.slice(0, 300)) : t.heat.keys}</p>
    </Card>
  )
}
