import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { body, platform, team } from '../lib/api'
import { count, date } from '../lib/format'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Card, Chip, Empty, Loading, Pages, Problem, Severity, Table, To } from '../ui/kit'
import { eventOf } from '../lib/findings'
import { t } from '../texts'

const c = t.compare
const size = 50
const tone: Record<string, string> = { new: 'bad', fixed: 'good', regressed: 'wait', reopened: 'wait', changed: 'calm' }
const states = ['tested', 'not_applicable', 'skipped', 'denied', 'failed', 'pending'] as const

/** Two runs of a scan, side by side: what came, what went, and what was tested. */
export function Compare({ id }: { id: string }) {
  const [search, set] = useURL()
  const runs = useQuery({ queryKey: ['scan-history', team.id, id], queryFn: () => body(platform.GET('/v1/scans/{scan_id}/history', { params: { path: { scan_id: id }, query: { limit: 100, time_range: 'all_time' } as never } })) })
  const all = runs.data?.data ?? [] // the newest first
  const number = (i: number) => all.length - i // of a run, from 1
  const after = Math.min(Math.max(1, Number(search.after) || all.length), Math.max(1, all.length))
  const before = Math.min(Math.max(1, Number(search.before) || after - 1), Math.max(1, all.length))
  // A run ends where the next one begins, at the latest; the last one has no end.
  const end = (n: number) => all[all.length - n - 1]?.time
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { from: end(before), to: end(after), scan_ids: id, limit: size, offset: page * size }
  const diff = useQuery({
    queryKey: ['diff', team.id, query], enabled: all.length > 1 && before < after && !!query.from, placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.GET('/v1/scans/results/diff', { params: { query: query as never }, signal })),
  })
  const covered = useQueries({
    queries: [before, after].map((n) => ({ queryKey: ['coverage', team.id, id, 'run', n], enabled: all.length > 1, queryFn: () => body(platform.GET('/v1/scans/{scan_id}/coverage', { params: { path: { scan_id: id }, query: { rescan_count: n - 1 || undefined, limit: 1 } as never } })) })),
  })
  if (runs.error) return <Problem error={runs.error} />
  if (!runs.data) return <Loading what={c.title} />
  if (all.length < 2) return <Card><Empty title={c.none} /></Card>
  const choose = (key: 'before' | 'after', value: number, label: string) => (
    <label className="flex items-center gap-2 text-sm">{label}
      <select className="field !w-auto" value={value} onChange={(e) => set({ [key]: e.target.value, page: undefined })}>
        {all.map((r, i) => <option key={r.time} value={number(i)} disabled={key === 'before' ? number(i) >= after : number(i) <= before}>{number(i)} · {date(r.time)}</option>)}
      </select>
    </label>
  )
  const rows = diff.data?.data ?? []
  const counts = (diff.data?.counts ?? {}) as Record<string, number>
  const total = diff.data?.total_results ?? 0
  return (
    <div className="grid gap-4 *:min-w-0">
      <div className="flex flex-wrap gap-4">{choose('before', before, c.before)}{choose('after', after, c.after)}</div>
      <Card title={c.title} flush actions={<span className="flex flex-wrap gap-1">{Object.entries(counts).filter(([, n]) => n > 0).map(([k, n]) => <Chip key={k} tone={tone[k]}>{c.kind[k]}: {count(n)}</Chip>)}</span>}>
        {diff.error ? <Problem error={diff.error} /> : !diff.data ? <Loading what={c.title} /> : rows.length === 0 ? <Empty title={c.same} /> : (
          <Table label={c.title} head={[c.what, t.findings.col.severity, t.findings.col.name, t.findings.col.place, c.was]}>
            {rows.map((r) => (
              <tr key={r.vulnerability.vuln_id}><td><Chip tone={tone[r.kind]}>{c.kind[r.kind]}</Chip></td><td><Severity of={eventOf(r.vulnerability)?.info.severity} /></td>
                <td><To to={`/findings/${r.vulnerability.vuln_id}`} className="font-medium hover:text-accent"><Shown text={eventOf(r.vulnerability)?.info.name || r.vulnerability.template_id} max={140} /></To></td>
                <td className="text-muted"><Shown text={eventOf(r.vulnerability)?.['matched-at'] || r.vulnerability.target} max={140} /></td><td className="text-muted">{r.before ? t.status[r.before.vuln_status] ?? r.before.vuln_status : '–'}</td></tr>
            ))}
          </Table>
        )}
        {total > size && <Pages page={page} total={total} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
      <Card title={c.coverage} flush>
        <Table label={c.coverage} head={[t.coverageText.state, c.before, c.after]}>
          {states.map((s) => <tr key={s}><td>{t.coverage[s]}</td>{covered.map((q, i) => <td key={i}>{q.data ? count((q.data.counts as Record<string, number>)[s]) : '…'}</td>)}</tr>)}
        </Table>
      </Card>
    </div>
  )
}
