import { useEffect, useId, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { Table } from './kit'
import { save } from '../lib/save'
import { t } from '../texts'

export type Series = { name: string; values: number[]; color: string; dash?: number[]; fill?: boolean; bars?: boolean }

const short = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()

/**
 * A chart of numbers over days (ISO times, ascending). A sentence says what it shows, arrow keys read its points, and the
 * same numbers are a table and a file.
 */
export function Chart({ label, at, series, value, height = 240 }: { label: string; at: string[]; series: Series[]; value: (v: number) => string; height?: number }) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const [point, setPoint] = useState<number>()
  const [dark, setDark] = useState(document.documentElement.dataset.theme)
  const id = useId()
  useEffect(() => {
    const watch = new MutationObserver(() => setDark(document.documentElement.dataset.theme))
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => watch.disconnect()
  }, [])
  const data = JSON.stringify([at, series])
  useEffect(() => {
    const [days, list] = JSON.parse(data) as [string[], Series[]]
    const axis = { stroke: css('muted'), grid: { stroke: css('line'), width: 1 }, ticks: { stroke: css('line'), width: 1 }, font: '11px system-ui, sans-serif' }
    const u = new uPlot({
      width: box.current!.clientWidth, height, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'UTC'),
      legend: { show: false }, cursor: { y: false, points: { size: 7 } }, padding: [8, 8, 0, 0],
      scales: { x: { time: true, range: (_u, min, max) => { const half = list.some((s) => s.bars) && days.length > 1 ? (max - min) / (days.length - 1) / 2 : days.length > 1 ? 0 : 43_200; return [min - half, max + half] } }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.08, 1)] } },
      axes: [{ ...axis, values: (_u, splits) => splits.map((v) => short.format(new Date(v * 1000))), space: 60 }, { ...axis, size: 56, values: (_u, splits) => splits.map((v) => (Number.isInteger(v) || Math.abs(v) < 10 ? value(v) : '')), incrs: undefined }],
      series: [{}, ...list.map((s): uPlot.Series => ({
        label: s.name, stroke: css(s.color), width: 2, dash: s.dash, fill: s.bars || s.fill ? `${css(s.color)}33` : undefined,
        points: { show: days.length < 3 }, paths: s.bars ? uPlot.paths.bars!({ size: [0.7, 40] }) : undefined,
      }))],
      hooks: { setCursor: [(p) => setPoint(p.cursor.idx ?? undefined)] },
    }, [days.map((d) => new Date(d).getTime() / 1000), ...list.map((s) => s.values)], box.current!)
    plot.current = u
    const el = box.current! // the observer may call once more when the chart has gone
    const size = new ResizeObserver(() => { if (el.isConnected) u.setSize({ width: el.clientWidth, height }) })
    size.observe(el)
    return () => { size.disconnect(); u.destroy() }
  }, [data, dark, height, value])
  const show = (i: number) => {
    const u = plot.current
    if (!u || at.length === 0) return
    const n = Math.max(0, Math.min(at.length - 1, i))
    u.setCursor({ left: u.valToPos(u.data[0][n]!, 'x'), top: 10 })
    setPoint(n)
  }
  const last = at.length - 1
  const say = (i: number) => `${day.format(new Date(at[i]!))}: ${series.map((s) => `${s.name} ${value(s.values[i] ?? 0)}`).join(', ')}`
  const cell = (v: string | number) => { const x = String(v); return `"${(/^[=+\-@\t\r]/.test(x) ? `'${x}` : x).replace(/"/g, '""')}"` }
  const file = () => save(new Blob([[['', ...series.map((s) => s.name)], ...at.map((d, i) => [d, ...series.map((s) => s.values[i] ?? 0)])].map((r) => r.map(cell).join(',')).join('\r\n')], { type: 'text/csv' }), `${label.toLowerCase().replace(/\W+/g, '-')}.csv`)
  if (at.length === 0) return <p className="text-sm text-muted">{t.chart.none}</p>
  return (
    <figure>
      <ul className="mb-1 flex flex-wrap gap-x-4 gap-y-1 text-xs" aria-hidden="true">
        {series.map((s) => (
          <li key={s.name} className="flex items-center gap-1.5">
            <svg width="18" height="8" aria-hidden="true"><line x1="0" x2="18" y1="4" y2="4" stroke={`var(--${s.color})`} strokeWidth={s.bars ? 6 : 2} strokeDasharray={s.dash?.join(' ')} /></svg>
            <span className="text-muted">{s.name}</span>{point !== undefined && <span className="font-medium">{value(s.values[point] ?? 0)}</span>}
          </li>
        ))}
        {point !== undefined && at[point] && <li className="ml-auto text-muted">{day.format(new Date(at[point]))}</li>}
      </ul>
      <div ref={box} role="img" tabIndex={0} aria-label={`${label}. ${say(last)}. ${t.chart.keys}`} aria-describedby={id} className="min-w-0 overflow-hidden" style={{ minHeight: height }}
        onKeyDown={(e) => {
          const to = { ArrowLeft: (point ?? last + 1) - 1, ArrowRight: (point ?? last) + 1, Home: 0, End: last }[e.key]
          if (to !== undefined) { e.preventDefault(); show(to) }
        }} onBlur={() => setPoint(undefined)} />
      <p id={id} className="sr-only" aria-live="polite">{point !== undefined && at[point] ? say(point) : ''}</p>
      <details className="no-print mt-1 text-xs">
        <summary className="min-h-6 w-fit text-muted hover:text-text">{t.chart.table}</summary>
        <button type="button" className="link min-h-6" onClick={file}>{t.chart.csv}</button>
        <div className="mt-1 max-h-64 overflow-auto"><Table label={label} head={[t.chart.when, ...series.map((s) => s.name)]}>{at.map((d, i) => <tr key={d}><td>{day.format(new Date(d))}</td>{series.map((s) => <td key={s.name}>{value(s.values[i] ?? 0)}</td>)}</tr>)}</Table></div>
      </details>
    </figure>
  )
}
