import { useQueries, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { agent, body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { count, money, size } from '../lib/format'
import { severities } from '../lib/findings'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Bar, Button, Card, Chip, Empty, Field, Head, Loading, Problem, Severity, Table, Time, To, useTitle } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'
import { Scheduled } from './report-schedules'

const r = t.reports
const Chart = lazy(() => import('../ui/chart').then((m) => ({ default: m.Chart })))
const dashes: Record<string, number[] | undefined> = { critical: undefined, high: [8, 3], medium: [4, 3], low: [2, 3], info: [8, 3, 2, 3], unknown: [1, 4] }
const whole = (v: number) => count(v)

/** How it goes: what is open, new, fixed and back over time, how long fixes take, what is tested; and files of it. */
export function Reports() {
  useTitle(r.title)
  const [search, set] = useURL()
  const days = [30, 90, 180, 365].includes(Number(search.days)) ? Number(search.days) : 30
  const role = useRole()
  return (
    <>
      <Head title={r.title}>
        <select className="field !w-auto" aria-label={r.range} value={days} onChange={(e) => set({ days: e.target.value === '30' ? undefined : e.target.value })}>{[30, 90, 180, 365].map((d) => <option key={d} value={d}>{r.ranges[d]}</option>)}</select>
      </Head>
      <div className="grid gap-4 *:min-w-0">
        <Trend days={days} />
        <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-2"><Coverage />{role.admin && <Cost />}</div>
        <Scheduled />
        <Files />
      </div>
    </>
  )
}

function span(seconds: number): string {
  if (seconds < 3600) return t.reports.minutes(Math.max(1, Math.round(seconds / 60)))
  return seconds < 172_800 ? t.reports.hours(Math.round(seconds / 3600)) : t.reports.days(Math.round(seconds / 86_400))
}

function Trend({ days }: { days: number }) {
  const step = days > 180 ? 'week' : 'day'
  const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10)
  const found = useQuery({
    queryKey: ['series', team.id, from, step], staleTime: 60_000,
    queryFn: ({ signal }) => body(platform.GET('/v1/scans/results/series', { params: { query: { from, step } }, signal })),
  })
  const s = found.data
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!s) return <Loading what={r.open} />
  const at = s.points.map((p) => p.from)
  const there = severities.filter((x) => s.points.some((p) => (p.open[x] ?? 0) > 0))
  const shown = there.length > 0 ? there : (['critical', 'high'] as const)
  const all = s.time_to_fix.all
  return (
    <>
      <Card title={r.open}>
        <Suspense fallback={<Loading what={r.open} />}>
          <Chart label={r.open} at={at} value={whole} series={shown.map((x) => ({ name: t.severity[x]!, color: x, dash: dashes[x], values: s.points.map((p) => p.open[x] ?? 0) }))} />
        </Suspense>
      </Card>
      <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Card title={r.flow}>
          <Suspense fallback={<Loading what={r.flow} />}>
            <Chart label={r.flow} at={at} value={whole} height={180} series={[
              { name: r.fresh, color: 'low', bars: true, values: s.points.map((p) => p.new) },
              { name: r.fixed, color: 'good', values: s.points.map((p) => p.fixed) },
              { name: r.regressed, color: 'medium', dash: [4, 3], values: s.points.map((p) => p.regressed) },
            ]} />
          </Suspense>
        </Card>
        <Card title={r.fix} flush>
          <p className="px-3 pt-2.5 text-xs text-muted">{r.fixText}</p>
          {!all ? <p className="p-3 text-sm">{r.noFix}</p> : (
            <Table label={r.fix} head={[r.severity, r.fixed, r.half, r.most]}>
              {(['all', ...severities] as const).filter((x) => s.time_to_fix[x]).map((x) => {
                const f = s.time_to_fix[x]!
                return <tr key={x}><td>{x === 'all' ? <span className="font-medium">{r.whichOf.all}</span> : <Severity of={x} />}</td><td>{count(f.fixed)}</td><td>{span(f.p50_seconds)}</td><td>{span(f.p90_seconds)}</td></tr>
              })}
            </Table>
          )}
        </Card>
      </div>
    </>
  )
}

function Coverage() {
  const scans = useQuery({ queryKey: ['scans', team.id, 'reports'], queryFn: () => body(platform.GET('/v1/scans', { params: { query: { status: 'finished', limit: 8, sort_desc: 'created_at' } as never } })) })
  const rows = scans.data?.data ?? []
  const covered = useQueries({
    queries: rows.map((s) => ({ queryKey: ['coverage', team.id, s.scan_id, 'report'], staleTime: 60_000, queryFn: () => body(platform.GET('/v1/scans/{scan_id}/coverage', { params: { path: { scan_id: s.scan_id }, query: { limit: 1 } as never } })) })),
  })
  return (
    <Card title={r.coverage} flush>
      {scans.error ? <Problem error={scans.error} /> : !scans.data ? <Loading what={r.coverage} /> : rows.length === 0 ? <Empty title={r.noCoverage} /> : (
        <ul className="divide-y divide-line">
          {rows.map((s, i) => {
            const c = covered[i]?.data
            return (
              <li key={s.scan_id} className="px-3 py-2 text-sm">
                <p className="mb-1 flex gap-2"><To to={`/scans/${s.scan_id}`} search={{ tab: 'coverage' }} className="min-w-0 flex-1 truncate font-medium hover:text-accent"><Shown text={s.name} max={80} /></To><span className="text-muted">{c ? r.covered(c.percentage.toFixed(c.percentage < 100 && c.percentage > 99 ? 2 : 0)) : '…'}</span></p>
                <Bar percent={c?.percentage ?? 0} label={s.name.slice(0, 80)} />
              </li>
            )
          })}
        </ul>
      )}
    </Card>
  )
}

function Cost() {
  const usage = useQuery({ queryKey: ['usage', team.id, 'all'], queryFn: () => body(agent.GET('/api/v1/usage/summary', { params: { query: {} } })) })
  const issues = useQuery({ queryKey: ['issues', team.id, 'verified'], queryFn: () => body(agent.GET('/api/v1/issues', { params: { query: { per_page: 1, source: 'task' } as never } })) })
  const verified = (issues.data as { total?: number } | undefined)?.total ?? 0
  const spent = usage.data?.total_llm_cost ?? 0
  return (
    <Card title={r.cost}>
      {usage.error ? <Problem error={usage.error} /> : !usage.data || !issues.data ? <Loading what={r.cost} /> : (
        <><p className="text-2xl font-semibold tracking-tight">{verified > 0 ? money(spent / verified) : '–'}</p><p className="text-sm text-muted">{r.costText(money(spent), count(verified))}</p></>
      )}
    </Card>
  )
}

type Export = Platform['ExportItem']
const kinds = ['pdf', 'docx', 'html', 'csv', 'json', 'sarif', 'cyclonedx', 'csaf', 'openvex', 'defectdojo', 'ocsf'] as const
const tone: Record<string, string> = { queued: 'calm', running: 'busy', finished: 'good', failed: 'bad' }

function Files() {
  const role = useRole()
  const [kind, setKind] = useState<(typeof kinds)[number]>('pdf')
  const [audience, setAudience] = useState<'technical' | 'executive'>('technical')
  const [which, setWhich] = useState<'open' | 'all'>('open')
  const isReport = kind === 'pdf' || kind === 'docx' || kind === 'html'
  const found = useQuery({
    queryKey: ['exports', team.id], queryFn: () => body(platform.GET('/v1/export/list', { params: { query: { limit: 20 } as never } })),
    refetchInterval: (q) => (q.state.data?.data.some((x) => x.export_status === 'queued' || x.export_status === 'running') ? 1000 : false),
  })
  const make = useAct(() => body(platform.POST('/v1/scans/results/export', {
    params: { query: { type: kind, async: true } as never },
    body: { severity: [...severities], vuln_status: which === 'open' ? 'open,triaged,fix_in_progress' : undefined, report: isReport ? { audience } : undefined } as never,
  })), ['exports'], () => toast(r.started), { shown: true })
  const remove = useAct((export_id: string) => platform.DELETE('/v1/export/{export_id}', { params: { path: { export_id } } }), ['exports'])
  const load = async (x: Export) => {
    try {
      const { data, response } = await platform.GET('/v1/export/{export_id}/download', { params: { path: { export_id: x.id } }, parseAs: 'blob' })
      save(data as unknown as Blob, `${x.name}.${x.type}`, response)
    } catch (e) { failed(e) }
  }
  return (
    <Card title={r.files} flush>
      <form className="flex flex-wrap items-end gap-3 border-b border-line p-3 [&_div]:mb-0" onSubmit={(e) => { e.preventDefault(); make.mutate() }}>
        <div className="w-32"><Field label={r.kind}>{(p) => <select {...p} className="field" value={kind} onChange={(e) => setKind(e.target.value as typeof kind)}>{kinds.map((k) => <option key={k} value={k}>{k.toUpperCase()}</option>)}</select>}</Field></div>
        <div className="w-32"><Field label={r.which}>{(p) => <select {...p} className="field" value={which} onChange={(e) => setWhich(e.target.value as typeof which)}>{(['open', 'all'] as const).map((k) => <option key={k} value={k}>{r.whichOf[k]}</option>)}</select>}</Field></div>
        {isReport && <div className="w-40"><Field label={r.audience}>{(p) => <select {...p} className="field" value={audience} onChange={(e) => setAudience(e.target.value as typeof audience)}>{(['technical', 'executive'] as const).map((k) => <option key={k} value={k}>{r.audiences[k]}</option>)}</select>}</Field></div>}
        <Button type="submit" kind="primary" disabled={make.isPending}>{r.make}</Button>
      </form>
      {make.error && <Problem error={make.error} />}
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={r.files} /> : found.data.data.length === 0 ? <Empty title={r.none}>{r.noneText}</Empty> : (
        <Table label={r.files} head={[r.name, t.scans.state, r.size, r.made, r.ends, '']}>
          {found.data.data.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={100} className="font-medium" /> <Chip>{x.type.toUpperCase()}</Chip></td>
              <td className="min-w-32"><Chip tone={tone[x.export_status]}>{r.state[x.export_status]}</Chip>{x.export_status === 'running' && <div className="mt-1"><Bar percent={x.progress} label={x.name} /></div>}</td>
              <td className="whitespace-nowrap">{x.size > 0 ? size(x.size) : '–'}</td><td className="text-muted"><Time at={x.created_at} /></td><td className="text-muted"><Time at={x.expires_at} /></td>
              <td><span className="flex justify-end gap-2">{x.export_status === 'finished' && <Button onClick={() => void load(x)}>{r.download}</Button>}{role.writes && <Button onClick={() => remove.mutate(x.id)}>{t.delete}</Button>}</span></td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
