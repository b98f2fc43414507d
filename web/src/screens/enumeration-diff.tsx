import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { body, platform, team } from '../lib/api'
import { date } from '../lib/format'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Card, Empty, Loading, Problem, Table, To } from '../ui/kit'
import { t } from '../texts'

const d = t.diff
const most = 500 // of a kind

/** What differs in an enumeration, or a group, between two days; of today, until now. */
export function Difference({ id }: { id: string }) {
  const [search, set] = useURL()
  const today = new Date().toISOString().slice(0, 10)
  const from = search.from ?? new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)
  const to = search.to ?? ''
  const found = useQuery({
    queryKey: ['assets', team.id, 'difference', id, from, to], placeholderData: keepPreviousData, retry: false,
    queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}/diff', { params: { path: { enumerate_id: id }, query: { from, to: to || undefined } } })),
  })
  const x = found.data
  const place = (p: { host: string; port?: number }) => p.host + (p.port ? `:${p.port}` : '')
  const rows = x && [
    ...([['assets', x.assets], ['ports', x.ports]] as const).flatMap(([kind, part]) => [...part.added.map((p) => ({ kind, id: p.id, sign: '+', at: place(p), what: p.protocol ?? '' })), ...part.removed.map((p) => ({ kind, id: p.id, sign: '−', at: place(p), what: p.protocol ?? '' }))]),
    ...([['+', x.technologies.added], ['−', x.technologies.removed]] as const).flatMap(([sign, list]) => list.map((p) => ({ kind: 'technologies' as const, id: p.id, sign, at: place(p), what: p.technology }))),
    ...([['+', x.certificates.added], ['−', x.certificates.removed]] as const).flatMap(([sign, list]) => list.map((p) => ({ kind: 'certificates' as const, id: p.id, sign, at: place(p), what: p.tls_serial_number }))),
  ]
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3 text-sm">
        <label className="flex items-center gap-1.5">{d.from} <input type="date" className="field !w-auto" max={today} value={from} onChange={(e) => set({ from: e.target.value || undefined })} /></label>
        <label className="flex items-center gap-1.5">{d.to} <input type="date" className="field !w-auto" max={today} value={to} onChange={(e) => set({ to: e.target.value || undefined })} /></label>
        {x && <span className="text-muted" role="status">{d.between(date(x.from), date(x.to))}</span>}
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !x || !rows ? <Loading what={d.title} /> : rows.length === 0 ? <Empty title={d.same}>{d.sameText}</Empty> : (
          <>
            <p className="border-b border-line px-3 py-2 text-sm">{(['assets', 'ports', 'technologies', 'certificates'] as const).map((k) => d.sum(d.kind[k], x[k].added_count, x[k].removed_count)).filter(Boolean).join(' · ')}</p>
            <Table label={d.title} head={[d.change, d.what, d.where, d.detail]}>
              {rows.slice(0, most).map((r, i) => (
                <tr key={i}><td className={`whitespace-nowrap font-medium ${r.sign === '+' ? 'text-good' : 'text-high'}`}>{r.sign === '+' ? d.added : d.removed}</td><td>{d.kind[r.kind]}</td><td><To to={`/assets/${r.id}`} className="hover:text-accent"><Shown text={r.at} max={120} /></To></td><td className="text-muted"><Shown text={r.what} max={160} /></td></tr>
              ))}
            </Table>
            {rows.length > most && <p className="px-3 py-2 text-sm text-muted">{t.more(rows.length - most)}</p>}
          </>
        )}
      </Card>
    </>
  )
}
