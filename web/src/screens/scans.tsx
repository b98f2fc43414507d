import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { body, platform, team, type Platform } from '../lib/api'
import { count } from '../lib/format'
import { useRole } from '../lib/me'
import { useTyped, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { scanLive, scanTone } from '../lib/states'
import { Bar, Button, Card, Chip, Empty, Head, Loading, Pages, Problem, Table, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'
import { ImportReport } from './scan-import'

const pageSize = 50

export function Scans() {
  useTitle(t.scans.title)
  const role = useRole()
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { search: search.q, status: search.status as never, limit: pageSize, offset: page * pageSize, sort_desc: 'created_at' }
  const found = useQuery({
    queryKey: ['scans', team.id, query], placeholderData: keepPreviousData,
    queryFn: ({ signal }) => body(platform.GET('/v1/scans', { params: { query: query as never }, signal })),
    refetchInterval: (q) => (q.state.data?.data.some((s) => scanLive(s.status)) ? 2000 : 15_000),
  })
  const rows = found.data?.data ?? []
  return (
    <>
      <Head title={t.scans.title} note={found.data && t.scans.total(count(found.data.total_results))}>
        {role.writes && <><Button onClick={() => set({ import: '1' })}>{t.imports.action}</Button><To to="/scans/new" className="btn btn-primary">{t.scans.new}</To></>}
      </Head>
      <div className="mb-3 flex flex-wrap gap-2">
        <input type="search" className="field max-w-80" aria-label={t.scans.filter} placeholder={t.scans.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <select className="field !w-auto" aria-label={t.scans.state} value={search.status ?? ''} onChange={(e) => set({ status: e.target.value || undefined, page: undefined })}>
          <option value="">{t.scans.anyState}</option>
          {Object.keys(scanTone).map((s) => <option key={s} value={s}>{t.scanState[s]}</option>)}
        </select>
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.scans.title} /> : rows.length === 0 ? (
          search.q || search.status ? <Empty title={t.scans.noMatch} />
            : <Empty title={t.scans.empty} action={role.writes && <To to="/scans/new" className="btn btn-primary">{t.scans.new}</To>}>{t.scans.emptyText}</Empty>
        ) : (
          <Table label={t.scans.title} head={[t.scans.name, t.scans.state, t.scans.found, t.scans.targets, t.scans.checks, t.scans.started]}>
            {rows.map((s) => (
              <tr key={s.scan_id}>
                <td className="min-w-52"><To to={`/scans/${s.scan_id}`} className="font-medium hover:text-accent"><Shown text={s.name} max={120} /></To></td>
                <td className="min-w-36"><ScanState of={s} /></td>
                <td><SeverityCounts of={s.severity as Record<string, number>} /></td>
                <td>{s.total_target ? count(s.total_target) : '–'}</td><td>{s.total_template ? count(s.total_template) : '–'}</td>
                <td className="text-muted"><Time at={s.created_at} /></td>
              </tr>
            ))}
          </Table>
        )}
        {(found.data?.total_results ?? 0) > pageSize && <Pages page={page} total={found.data!.total_results} size={pageSize} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
      {search.import === '1' && role.writes && <ImportReport onClose={() => set({ import: undefined }, { replace: true })} />}
    </>
  )
}

export function ScanState({ of: s }: { of: Platform['ScanStatus'] }) {
  return (
    <div>
      <Chip tone={scanTone[s.status]}>{t.scanState[s.status] ?? s.status}</Chip>
      {scanLive(s.status) && <div className="mt-1.5 flex items-center gap-2"><Bar percent={s.progress} label={t.scans.progress} /><span className="text-xs text-muted">{s.progress} %</span></div>}
      {s.status === 'failed' && s.failure_reason && <p className="mt-1 text-xs text-high"><Shown text={s.failure_reason} max={160} /></p>}
    </div>
  )
}

const order = ['critical', 'high', 'medium', 'low', 'info', 'unknown']
const dot: Record<string, string> = { critical: 'bg-critical-soft text-critical', high: 'bg-high-soft text-high', medium: 'bg-medium-soft text-medium', low: 'bg-low-soft text-low', info: 'bg-info-soft text-info', unknown: 'bg-unknown-soft text-unknown' }

/** Counts by severity, as letters and numbers. */
export function SeverityCounts({ of }: { of: Record<string, number> | undefined }) {
  const have = order.filter((s) => (of?.[s] ?? 0) > 0)
  if (have.length === 0) return <span className="text-muted">0</span>
  return (
    <span className="flex flex-wrap gap-1">
      {have.map((s) => (
        <span key={s} title={t.severity[s]} className={`rounded-sm px-1.5 text-xs leading-5 font-semibold whitespace-nowrap ${dot[s]}`}>
          <span aria-hidden="true">{s === 'unknown' ? '?' : s[0]!.toUpperCase()} </span><span className="sr-only">{t.severity[s]}: </span>{count(of![s])}
        </span>
      ))}
    </span>
  )
}
