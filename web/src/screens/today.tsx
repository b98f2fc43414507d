import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { agent, body, platform, team } from '../lib/api'
import { count, money } from '../lib/format'
import { eventOf, severities, useFindings } from '../lib/findings'
import { useMe, useRole } from '../lib/me'
import { Shown, visible } from '../lib/show'
import { scanLive, taskLive, taskTone } from '../lib/states'
import { Card, Chip, Empty, Head, Loading, Problem, Severity, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'
import { ScanState, SeverityCounts } from './scans'

const patience = 2 * 60_000 // a worker that is free takes what waits within seconds

/** What matters now: each number leads to the list behind it. */
export function Today() {
  useTitle(t.nav.today)
  const me = useMe()
  const role = useRole()
  const worst = useFindings({ severity: severities.join(','), vuln_status: 'open', sort_desc: 'severity,created_at', limit: 8 }, true, 15_000)
  const counts = useQuery({
    queryKey: ['finding-counts', team.id, 'today'], refetchInterval: 15_000,
    queryFn: () => body(platform.GET('/v1/scans/results/counts', { params: { query: { vuln_status: 'open', severity: severities.join(',') } as never } })),
  })
  const fresh = useQuery({
    queryKey: ['finding-counts', team.id, 'new'], refetchInterval: 30_000,
    queryFn: () => body(platform.GET('/v1/scans/results', { params: { query: { vuln_status: 'open', severity: severities.join(','), time: 'last_day', limit: 1 } as never } })),
  })
  const back = useQuery({
    queryKey: ['finding-counts', team.id, 'regressions'], refetchInterval: 30_000,
    queryFn: () => body(platform.GET('/v1/scans/results', { params: { query: { vuln_status: 'open', severity: severities.join(','), is_regression: true, limit: 1 } as never } })),
  })
  const scans = useQuery({
    queryKey: ['scans', team.id, 'today'],
    queryFn: () => body(platform.GET('/v1/scans', { params: { query: { limit: 8, sort_desc: 'created_at' } as never } })),
    refetchInterval: (q) => (q.state.data?.data.some((s) => scanLive(s.status)) ? 2000 : 15_000),
  })
  const tasks = useQuery({
    queryKey: ['tasks', team.id, 'today'],
    queryFn: () => body(agent.GET('/api/v1/tasks', { params: { query: { limit: 8 } } })),
    refetchInterval: (q) => (q.state.data?.tasks.some((x) => taskLive(x.status)) ? 2000 : 15_000),
  })
  // What stands still: of all, not of the latest alone.
  const asking = useQuery({ queryKey: ['tasks', team.id, 'today', 'suspended'], refetchInterval: 15_000, queryFn: () => body(agent.GET('/api/v1/tasks', { params: { query: { status: 'suspended', limit: 6 } } })) })
  const queued = useQuery({ queryKey: ['scans', team.id, 'today', 'queued'], refetchInterval: 15_000, queryFn: () => body(platform.GET('/v1/scans', { params: { query: { status: 'queued', sort_asc: 'created_at', limit: 6 } as never } })) })
  const month = new Date(new Date().getFullYear(), new Date().getMonth(), 1).toISOString()
  const usage = useQuery({ queryKey: ['usage', team.id, month], enabled: role.admin, queryFn: () => body(agent.GET('/api/v1/usage/summary', { params: { query: { from: month } as never } })) })
  const sources = useQuery({ queryKey: ['sources', team.id], enabled: role.insider, retry: false, queryFn: () => body(platform.GET('/v1/domain/sources', { params: { query: {} } })) })

  const reports = useQuery({ queryKey: ['report-schedules', team.id], enabled: role.insider, retry: false, staleTime: 60_000, queryFn: () => body(platform.GET('/v1/export/schedule')) })

  const open = counts.data?.severity ?? {}
  const urgent = (open.critical ?? 0) + (open.high ?? 0)
  const waiting = asking.data?.tasks ?? []
  const nWaiting = asking.data?.total ?? 0
  const untaken = queued.data?.data.filter((s) => Date.now() - new Date(s.created_at).getTime() > patience) ?? []
  const broken = scans.data?.data.filter((s) => s.status === 'failed') ?? []
  const sick = (sources.data as unknown as { data?: { source: string; domain: string; state: string; detail: string }[] } | undefined)?.data?.filter((s) => s.state !== 'ok' && s.state !== 'empty' && s.state !== 'skipped') ?? []
  const unmade = reports.data?.data.filter((x) => x.is_active && (x.last_error || x.last_export_status === 'failed')) ?? []
  const nothing = scans.data?.total_results === 0 && tasks.data?.total === 0
  return (
    <>
      <Head title={t.today.title(me.data?.name ?? '')} note={visible(me.data?.team_name ?? '')}>
        {role.writes && <><To to="/scans/new" className="btn">{t.scans.new}</To><To to="/tasks/new" className="btn btn-primary">{t.tasks.new}</To></>}
      </Head>
      {nothing ? (
        <Card><Empty title={t.today.empty} action={role.writes && <To to="/tasks/new" className="btn btn-primary">{t.tasks.new}</To>}>{t.today.emptyText}</Empty></Card>
      ) : (
        <>
          <section aria-label={t.today.numbers} className={`mb-4 grid grid-cols-2 gap-px overflow-hidden rounded-md border border-line bg-line ${role.admin ? 'lg:grid-cols-5' : 'lg:grid-cols-4'}`}>
            <Number_ to="/findings" search={{ severity: 'critical,high' }} name={t.today.urgent} value={counts.data && count(urgent)} tone={urgent > 0 ? 'text-critical' : ''} note={<SeverityCounts of={open} />} />
            <Number_ to="/findings" search={{ time: 'last_day' }} name={t.today.fresh} value={fresh.data && count(fresh.data.total_results)} />
            <Number_ to="/findings" search={{ regression: '1' }} name={t.today.regressions} value={back.data && count(back.data.total_results)} tone={(back.data?.total_results ?? 0) > 0 ? 'text-medium' : ''} note={t.today.regressionsNote} />
            <Number_ to="/tasks" search={{ status: 'suspended' }} name={t.today.waiting} value={asking.data && count(nWaiting)} tone={nWaiting > 0 ? 'text-medium' : ''} note={t.today.waitingNote} />
            {role.admin && <Number_ to="/tasks" name={t.today.spend} value={usage.data && money(usage.data.total_llm_cost)} note={usage.data && t.today.spendNote(count(usage.data.total_tasks))} />}
          </section>
          <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
            <Card title={t.today.worst} flush actions={<To to="/findings" className="link text-sm">{t.today.all}</To>}>
              {worst.error ? <Problem error={worst.error} /> : !worst.data ? <Loading what={t.findings.title} /> : worst.data.data.length === 0 ? <Empty title={t.today.noOpen}>{t.today.noOpenText}</Empty> : (
                <ul className="divide-y divide-line">
                  {worst.data.data.map((r) => (
                    <li key={r.vuln_id} className="grid grid-cols-[5rem_minmax(0,1fr)_auto] items-start gap-x-3 px-3 py-2 text-sm hover:bg-panel">
                      <span><Severity of={eventOf(r)?.info.severity} /></span>
                      <span className="min-w-0"><To to={`/findings/${r.vuln_id}`} className="line-clamp-2 font-medium hover:text-accent"><Shown text={eventOf(r)?.info.name || r.template_id} max={140} /></To>
                        <span className="block truncate text-xs text-muted"><Shown text={eventOf(r)?.['matched-at'] || r.target} max={120} /></span></span>
                      <Time at={r.created_at} className="text-xs text-muted" />
                    </li>
                  ))}
                </ul>
              )}
            </Card>
            <div className="grid gap-4">
              {(waiting.length > 0 || untaken.length > 0 || broken.length > 0 || sick.length > 0 || unmade.length > 0) && (
                <Card title={t.today.stuck} flush>
                  <ul className="divide-y divide-line text-sm">
                    {waiting.map((x) => <li key={x.id} className="px-3 py-2"><Chip tone="wait">{t.today.needsYou}</Chip> <To to={`/tasks/${x.id}`} className="font-medium hover:text-accent"><Shown text={x.title} max={90} /></To></li>)}
                    {nWaiting > waiting.length && <li className="px-3 py-2"><To to="/tasks" search={{ status: 'suspended' }} className="link">{t.today.moreWait(nWaiting - waiting.length)}</To></li>}
                    {untaken.map((s) => <li key={s.scan_id} className="px-3 py-2"><Chip tone="wait">{t.scanState.queued}</Chip> <To to={`/scans/${s.scan_id}`} className="font-medium hover:text-accent"><Shown text={s.name} max={90} /></To><span className="block text-xs text-muted">{t.today.noWorker} {role.insider && <To to="/agents" className="link">{t.today.works}</To>}</span></li>)}
                    {broken.map((s) => <li key={s.scan_id} className="px-3 py-2"><Chip tone="bad">{t.scanState.failed}</Chip> <To to={`/scans/${s.scan_id}`} className="font-medium hover:text-accent"><Shown text={s.name} max={90} /></To><span className="block text-xs text-muted"><Shown text={s.failure_reason} max={160} /></span></li>)}
                    {unmade.slice(0, 6).map((x) => <li key={x.id} className="px-3 py-2"><Chip tone="bad">{t.today.noReport}</Chip> <To to="/reports" className="font-medium hover:text-accent"><Shown text={x.name} max={90} /></To>{x.last_error && <span className="block text-xs text-muted"><Shown text={x.last_error} max={160} /></span>}</li>)}
                    {sick.slice(0, 6).map((s) => <li key={s.source + s.domain} className="px-3 py-2"><Chip tone="wait">{t.today.source}</Chip> <Shown text={s.source} max={40} /> <span className="text-muted">{s.state.replace('_', ' ')} · <Shown text={s.domain} max={60} /></span></li>)}
                  </ul>
                </Card>
              )}
              <Card title={t.nav.tasks} flush actions={<To to="/tasks" className="link text-sm">{t.today.all}</To>}>
                {!tasks.data ? <Loading what={t.nav.tasks} /> : tasks.data.tasks.length === 0 ? <Empty title={t.tasks.empty} /> : (
                  <ul className="divide-y divide-line text-sm">
                    {tasks.data.tasks.slice(0, 5).map((x) => (
                      <li key={x.id} className="flex items-start gap-2 px-3 py-2"><To to={`/tasks/${x.id}`} className="line-clamp-2 min-w-0 flex-1 font-medium hover:text-accent"><Shown text={x.title} max={120} /></To><Chip tone={taskTone[x.status]}>{t.taskState[x.status]}</Chip></li>
                    ))}
                  </ul>
                )}
              </Card>
              <Card title={t.nav.scans} flush actions={<To to="/scans" className="link text-sm">{t.today.all}</To>}>
                {!scans.data ? <Loading what={t.nav.scans} /> : scans.data.data.length === 0 ? <Empty title={t.scans.empty} /> : (
                  <ul className="divide-y divide-line text-sm">
                    {scans.data.data.slice(0, 5).map((s) => (
                      <li key={s.scan_id} className="grid grid-cols-[minmax(0,1fr)_auto] gap-2 px-3 py-2"><span className="min-w-0"><To to={`/scans/${s.scan_id}`} className="line-clamp-2 font-medium hover:text-accent"><Shown text={s.name} max={120} /></To><span className="mt-0.5 block"><SeverityCounts of={s.severity as Record<string, number>} /></span></span><ScanState of={s} /></li>
                    ))}
                  </ul>
                )}
              </Card>
            </div>
          </div>
        </>
      )}
    </>
  )
}

function Number_({ to, search, name, value, note, tone = '' }: { to: string; search?: Record<string, string>; name: string; value: ReactNode; note?: ReactNode; tone?: string }) {
  return (
    <To to={to} search={search} className="block min-w-0 bg-canvas p-3 hover:bg-panel max-lg:last:odd:col-span-2">
      <span className="block text-xs text-muted">{name}</span>
      <span className={`block text-2xl leading-9 font-semibold tracking-tight ${tone}`}>{value ?? '…'}</span>
      {note && <span className="block text-xs text-muted">{note}</span>}
    </To>
  )
}
