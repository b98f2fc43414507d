import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { count, date, took } from '../lib/format'
import { eventOf, severities, statusTone, useFindings } from '../lib/findings'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import { tabOf, useTyped, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { scanLive, scanTone } from '../lib/states'
import { Button, Card, Chip, Confirm, Empty, Facts, Head, Loading, Pages, Problem, Severity, Table, Tabs, Time, To, useTitle } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'
import { Compare } from './scan-compare'
import { Coverage, useCoverage } from './scan-coverage'
import { ScanState, SeverityCounts } from './scans'

type S = Platform['ScanStatus']

export function Scan() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search] = useURL()
  const role = useRole()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [asking, setAsking] = useState<'' | 'stop' | 'delete'>('')
  const found = useQuery({
    queryKey: ['scan', team.id, id],
    queryFn: () => body(platform.GET('/v1/scans/{scan_id}', { params: { path: { scan_id: id } } })),
    refetchInterval: (q) => (q.state.data && scanLive(q.state.data.status) ? 1000 : false),
  })
  const s = found.data
  useTitle(s?.name || t.scans.one)
  const refresh = () => { for (const k of ['scan', 'scans', 'coverage', 'findings', 'scan-history']) void queries.invalidateQueries({ queryKey: [k] }) }
  const path = { params: { path: { scan_id: id } } }
  const again = useMutation({ mutationFn: () => body(platform.POST('/v1/scans/{scan_id}/rescan', path)), onSuccess: () => { toast(t.scans.startedAgain); refresh() }, onError: failed })
  const stop = useMutation({ mutationFn: () => body(platform.POST('/v1/scans/{scan_id}/stop', path)), onSuccess: () => { setAsking(''); toast(t.scans.stopped); refresh() } })
  const remove = useMutation({ mutationFn: () => body(platform.DELETE('/v1/scans/{scan_id}', path)), onSuccess: () => { refresh(); void navigate({ to: '/scans' }) } })
  const ended = !!s && !scanLive(s.status)
  useEffect(() => { // what came last is read once more
    if (ended) for (const k of ['coverage', 'findings', 'scan-log', 'scan-history']) void queries.invalidateQueries({ queryKey: [k] })
  }, [ended, queries])
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!s) return <Loading what={t.scans.one} />
  const live = scanLive(s.status)
  const tab = tabOf(search, ['findings', 'coverage', 'log', 'runs', 'compare', 'config'])
  return (
    <>
      <Head title={<Shown text={s.name || t.scans.one} max={200} />} crumb={<To to="/scans" className="link">{t.scans.title}</To>}>
        {role.writes && live && <Button kind="danger" onClick={() => setAsking('stop')}>{t.scans.stop}</Button>}
        {role.writes && !live && s.status !== 'uploaded' && <Button disabled={again.isPending} onClick={() => again.mutate()}>{t.scans.again}</Button>}
        {s.status !== 'uploaded' && <To to="/network" search={{ scan: id }} className="btn">{t.network.link}</To>}
        {!live && <Export id={id} />}
        {role.writes && !live && <Button kind="quiet" onClick={() => setAsking('delete')}>{t.delete}</Button>}
      </Head>
      <Summary s={s} live={live} />
      <Tabs of={[['findings', t.scans.tabs.findings], ['coverage', t.scans.tabs.coverage], ['log', t.scans.tabs.log], ['runs', t.scans.tabs.runs], ['compare', t.compare.tab], ['config', t.scans.tabs.config]]} now={tab} />
      {tab === 'findings' && <Found id={id} live={live} s={s} />}
      {tab === 'coverage' && <Coverage id={id} live={live} />}
      {tab === 'log' && <Log id={id} live={live} />}
      {tab === 'runs' && <Runs id={id} />}
      {tab === 'compare' && <Compare id={id} />}
      {tab === 'config' && <Configuration id={id} />}
      {asking === 'stop' && <Confirm title={t.scans.stopTitle} action={t.scans.stop} busy={stop.isPending} error={stop.error} onClose={() => setAsking('')} onYes={() => stop.mutate()}>{t.scans.stopText}</Confirm>}
      {asking === 'delete' && <Confirm title={t.scans.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setAsking('')} onYes={() => remove.mutate()}>{t.scans.deleteText(count(s.total_result))}</Confirm>}
    </>
  )
}

/** What is left, from how long the done part took; a range, as the rest may be slower or faster. */
function eta(s: S): string {
  const began = new Date(s.updated_at > s.created_at ? s.created_at : s.updated_at).getTime()
  const p = s.progress
  if (p < 3 || p >= 100) return ''
  const left = ((Date.now() - began) / p) * (100 - p)
  return t.scans.eta(Math.max(1, Math.round((left * 0.7) / 1000)), Math.max(2, Math.round((left * 1.5) / 1000)))
}

function Summary({ s, live }: { s: S; live: boolean }) {
  const stats = useQuery({
    queryKey: ['scan-stats', team.id, s.scan_id, s.status], refetchInterval: live ? 2000 : false, retry: false,
    queryFn: () => body(platform.GET('/v1/scans/{scan_id}/scan_log/stats', { params: { path: { scan_id: s.scan_id } } })),
  })
  const cell = 'min-w-0 border-line p-3 not-last:border-r max-md:not-last:border-r-0 max-md:not-last:border-b'
  return (
    <section className="card mb-4 grid md:grid-cols-4" aria-label={t.scans.summary}>
      <div className={cell}><p className="mb-1 text-xs text-muted">{t.scans.state}</p><ScanState of={s} />{live && <p className="mt-1 text-xs text-muted">{eta(s)}</p>}</div>
      <div className={cell}><p className="mb-1 text-xs text-muted">{t.scans.found}</p><SeverityCounts of={s.severity as Record<string, number>} /></div>
      <div className={cell}>
        <p className="mb-1 text-xs text-muted">{t.scans.work}</p>
        <p className="text-sm">{t.scans.workText(count(s.total_target), count(s.total_template))}</p>
        {stats.data && stats.data.error_count > 0 && <p className="text-xs text-high">{t.scans.errors(count(stats.data.error_count))}</p>}
      </div>
      <div className={cell}><p className="mb-1 text-xs text-muted">{t.scans.time}</p><p className="text-sm">{took(s.scan_time_elapsed) || '–'}</p><p className="text-xs text-muted">{t.scans.startedAt} <Time at={s.created_at} /></p></div>
    </section>
  )
}

function Found({ id, live, s }: { id: string; live: boolean; s: S }) {
  const [search, set] = useURL()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useFindings({ scan_ids: id, severity: severities.join(','), sort_desc: 'severity', limit: 100, offset: page * 100 }, true, live ? 2000 : false)
  const coverage = useCoverage(id, live)
  const c = coverage.data?.counts as Record<string, number> | undefined
  const missed = (c?.skipped ?? 0) + (c?.denied ?? 0) + (c?.failed ?? 0)
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!found.data) return <Loading what={t.findings.title} />
  return (
    <>
      {!live && missed > 0 && <p className="mb-3 rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{t.scans.missed(count(missed))} <To to={`/scans/${id}`} search={{ tab: 'coverage' }} className="underline">{t.scans.missedLink}</To></p>}
      <Card flush>
        {found.data.data.length === 0 ? (
          live ? <Empty title={t.scans.noneYet}>{coverage.data ? t.scans.doneOf(count((coverage.data.total ?? 0) - (c?.pending ?? 0)), count(coverage.data.total)) : ''}</Empty>
            : <Empty title={t.scans.none}>{s.status === 'uploaded' ? '' : missed > 0 ? t.scans.noneMissed(count(missed)) : t.scans.noneAll}</Empty>
        ) : (
          <Table label={t.findings.title} head={[t.findings.col.severity, t.findings.col.name, t.findings.col.place, t.findings.col.status]}>
            {found.data.data.map((r) => (
              <tr key={r.vuln_id}>
                <td><Severity of={eventOf(r)?.info.severity} /></td>
                <td><To to={`/findings/${r.vuln_id}`} className="font-medium hover:text-accent"><Shown text={eventOf(r)?.info.name || r.template_id} max={160} /></To></td>
                <td className="text-muted"><Shown text={eventOf(r)?.['matched-at'] || r.target} max={160} /></td>
                <td><Chip tone={statusTone[r.vuln_status ?? 'open']}>{t.status[r.vuln_status ?? 'open']}</Chip></td>
              </tr>
            ))}
          </Table>
        )}
        {found.data.total_results > 100 && <Pages page={page} total={found.data.total_results} size={100} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
    </>
  )
}

function Log({ id, live }: { id: string; live: boolean }) {
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const query = { severity: search.level === 'error' ? 'error' : 'all_logs', search: search.q, matched: search.matched === '1' ? true : undefined, limit: 200, next_page_token: search.from }
  const found = useQuery({
    queryKey: ['scan-log', team.id, id, query], placeholderData: keepPreviousData, refetchInterval: live && !search.from ? 2000 : false,
    queryFn: () => body(platform.GET('/v1/scans/{scan_id}/scan_log', { params: { path: { scan_id: id }, query: query as never } })),
  })
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3 text-sm">
        <input type="search" className="field max-w-80" aria-label={t.scans.logFilter} placeholder={t.scans.logFilter} value={typed} onChange={(e) => setTyped(e.target.value)} />
        <label className="flex items-center gap-1.5"><input type="checkbox" checked={search.level === 'error'} onChange={(e) => set({ level: e.target.checked ? 'error' : undefined, from: undefined })} />{t.scans.onlyErrors}</label>
        <label className="flex items-center gap-1.5"><input type="checkbox" checked={search.matched === '1'} onChange={(e) => set({ matched: e.target.checked ? '1' : undefined, from: undefined })} />{t.scans.onlyMatched}</label>
      </div>
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.scans.tabs.log} /> : found.data.logs.length === 0 ? <Empty title={t.scans.noLog} /> : (
          <Table label={t.scans.tabs.log} head={[t.scans.when, t.scans.what, t.coverageText.target, t.coverageText.check, t.coverageText.reason]}>
            {found.data.logs.map((l, i) => (
              <tr key={i}><td className="whitespace-nowrap text-muted">{date(l.timestamp)}</td><td>{l.matched ? <Chip tone="bad">{t.scans.matched}</Chip> : <Chip tone={l.severity === 'error' ? 'wait' : 'calm'}><Shown text={t.coverage[l.event] ?? l.event} max={40} /></Chip>}</td>
                <td><Shown text={l.target} max={120} /></td><td><Shown text={l.template_id} max={100} /></td><td className="text-muted"><Shown text={l.error} max={300} /></td></tr>
            ))}
          </Table>
        )}
        {(search.from || found.data?.next_page_token) && (
          <div className="flex justify-end gap-2 border-t border-line px-3 py-1.5">
            {search.from && <Button onClick={() => set({ from: undefined })}>{t.pages.first}</Button>}
            {found.data?.next_page_token && <Button onClick={() => set({ from: found.data!.next_page_token })}>{t.pages.next}</Button>}
          </div>
        )}
      </Card>
    </>
  )
}

function Runs({ id }: { id: string }) {
  const found = useQuery({ queryKey: ['scan-history', team.id, id], queryFn: () => body(platform.GET('/v1/scans/{scan_id}/history', { params: { path: { scan_id: id }, query: { limit: 100, time_range: 'all_time' } as never } })) })
  if (found.error) return <Problem error={found.error} />
  if (!found.data) return <Loading what={t.scans.tabs.runs} />
  return (
    <Card flush>
      {found.data.data.length === 0 ? <Empty title={t.scans.noRuns} /> : (
        <Table label={t.scans.tabs.runs} head={[t.scans.when, t.scans.state, t.scans.found, t.scans.requests, t.scans.time, '']}>
          {found.data.data.map((r) => (
            <tr key={r.time}><td className="whitespace-nowrap">{date(r.time)}</td><td><Chip tone={scanTone[r.status]}>{t.scanState[r.status] ?? r.status}</Chip></td><td><SeverityCounts of={r.severity as Record<string, number>} /></td>
              <td className="whitespace-nowrap">{t.scans.requestsOf(count(r.completed_request), count(r.total_request))}</td><td className="whitespace-nowrap">{took(r.scan_time)}</td><td className="text-high"><Shown text={r.error_details} max={200} /></td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function Configuration({ id }: { id: string }) {
  const found = useQuery({ queryKey: ['scan-config', team.id, id], queryFn: () => body(platform.GET('/v1/scans/{scan_id}/config', { params: { path: { scan_id: id } } })) })
  if (found.error) return <Problem error={found.error} />
  if (!found.data) return <Loading what={t.scans.tabs.config} />
  const c = found.data
  const list = (of: string[] | undefined) => of && of.length > 0 && <ul>{of.slice(0, 200).map((x, i) => <li key={i}><Shown text={x} max={200} /></li>)}{of.length > 200 && <li className="text-muted">{t.more(of.length - 200)}</li>}</ul>
  return (
    <Card>
      <Facts of={[
        [t.scans.targets, list(c.targets)], [t.scans.excluded, list(c.exclusions)],
        [t.scans.checks, list([...(c.recommended ? [t.scans.which.recommended] : []), ...(c.all ? [t.scans.which.all] : []), ...c.public_templates, ...c.template_ids, ...c.template_urls])],
        [t.scans.configs, list([...c.scan_config_ids, ...c.report_config_ids, ...c.alerting_config_ids].map((x) => x.name))],
        ['SOCKS5', c.socks5_proxy],
      ]} />
    </Card>
  )
}

function Export({ id }: { id: string }) {
  const [busy, setBusy] = useState(false)
  const run = async (type: string) => {
    setBusy(true)
    try {
      const { data, response } = await platform.GET('/v1/scans/{scan_id}/export', { params: { path: { scan_id: id }, query: { type: type as never } }, parseAs: 'blob' })
      save(data as unknown as Blob, `scan.${type}`, response)
    } catch (e) { failed(e) } finally { setBusy(false) }
  }
  return (
    <select className="field !w-auto" aria-label={t.findings.export} value="" disabled={busy} onChange={(e) => void run(e.target.value)}>
      <option value="">{busy ? t.findings.exporting : t.findings.export}</option>
      {['pdf', 'html', 'docx', 'csv', 'json', 'sarif'].map((f) => <option key={f} value={f}>{f.toUpperCase()}</option>)}
    </select>
  )
}
