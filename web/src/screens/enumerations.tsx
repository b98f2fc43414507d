import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { count, date, took } from '../lib/format'
import { useRole } from '../lib/me'
import { tabOf, useTyped, useURL } from '../lib/search'
import { save } from '../lib/save'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Facts, Field, Head, Loading, Pages, Problem, Table, Tabs, Time, To, useTitle } from '../ui/kit'
import { toast } from '../ui/toast'
import { Difference } from './enumeration-diff'
import { t } from '../texts'

const x = t.enumerations
const size = 50
const tone: Record<string, string> = { running: 'busy', starting: 'busy', queued: 'calm', failed: 'bad', finished: 'good', stopped: 'wait' }
const live = (s: string) => s === 'running' || s === 'starting' || s === 'queued'
type One = Platform['EnumerateData']

/** What finds the inventory. */
export function Enumerations() {
  useTitle(x.title)
  const role = useRole()
  const [search, set] = useURL()
  const [typed, setTyped] = useTyped('q')
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { search: search.q, status: search.status, limit: size, offset: page * size }
  const found = useQuery({
    queryKey: ['enumerations', team.id, query], placeholderData: keepPreviousData,
    queryFn: () => body(platform.GET('/v1/asset/enumerate', { params: { query: query as never } })),
    refetchInterval: (q) => (q.state.data?.data.some((e) => live(e.status)) ? 3000 : false),
  })
  const rows = found.data?.data ?? []
  return (
    <>
      <Head title={x.title} crumb={<To to="/assets" className="link">{t.nav.assets}</To>}>{role.writes && <Button kind="primary" onClick={() => set({ new: '1' })}>{x.new}</Button>}</Head>
      <input type="search" className="field mb-3 max-w-80" aria-label={t.scans.filter} placeholder={t.scans.filter} value={typed} onChange={(e) => setTyped(e.target.value)} />
      <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={x.title} /> : rows.length === 0 ? <Empty title={x.none} action={role.writes && <Button kind="primary" onClick={() => set({ new: '1' })}>{x.new}</Button>}>{x.noneText}</Empty> : (
          <Table label={x.title} head={[t.scans.name, x.state, x.assets, t.scans.started]}>
            {rows.map((e) => (
              <tr key={e.id}><td className="min-w-52"><To to={`/enumerations/${e.id}`} className="font-medium hover:text-accent"><Shown text={e.name} max={120} /></To> {e.enumeration_type === 'group' && <Chip>{t.group.one}</Chip>}<span className="block text-xs text-muted"><Shown text={e.root_domains.join(', ')} max={160} /></span></td>
                <td><Chip tone={tone[e.status]}>{t.scanState[e.status] ?? e.status}</Chip></td><td>{x.holds(e.enumeration_stats.hosts, e.enumeration_stats.ports, e.enumeration_stats.http)} {e.new_assets > 0 && <Chip tone="busy">{x.fresh(count(e.new_assets))}</Chip>}</td><td className="text-muted"><Time at={e.created_at} /></td></tr>
            ))}
          </Table>
        )}
        {(found.data?.total_results ?? 0) > size && <Pages page={page} total={found.data!.total_results} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
      </Card>
      {search.new === '1' && role.writes && <New domain={search.domain} onClose={() => set({ new: undefined, domain: undefined }, { replace: true })} />}
    </>
  )
}

function New({ domain, onClose }: { domain?: string; onClose: () => void }) {
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const [domains, setDomains] = useState(domain ?? '')
  const [inputs, setInputs] = useState('')
  const [scan, setScan] = useState(false)
  const lines = (s: string) => s.split(/[\s,]+/).filter(Boolean)
  const create = useAct(() => body(platform.POST('/v1/asset/enumerate', {
    body: { name: name || undefined, root_domains: lines(domains), enrichment_inputs: lines(inputs), automatic_vuln_scans: scan || undefined } as never,
  })), ['enumerations'], (made) => { toast(x.started); void navigate({ to: `/enumerations/${made.id}` } as never) }, { shown: true })
  return (
    <Dialog title={x.new} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <Field label={x.domains} hint={x.domainsHint}>{(p) => <textarea {...p} autoFocus className="field font-mono" rows={3} spellCheck={false} placeholder="example.com" value={domains} onChange={(e) => setDomains(e.target.value)} />}</Field>
        <Field label={x.inputs} hint={x.inputsHint}>{(p) => <textarea {...p} className="field font-mono" rows={2} spellCheck={false} value={inputs} onChange={(e) => setInputs(e.target.value)} />}</Field>
        <Field label={t.scans.name}>{(p) => <input {...p} className="field" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={scan} onChange={(e) => setScan(e.target.checked)} />{x.scanToo}</label>
        {create.error && <Problem error={create.error} />}
        <p className="mb-3 text-xs text-muted">{t.scans.permission}</p>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={create.isPending || (lines(domains).length === 0 && lines(inputs).length === 0)}>{x.start}</Button></div>
      </form>
    </Dialog>
  )
}

/** One enumeration: what it found, how its sources did, what happened. */
export function Enumeration() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search] = useURL()
  const role = useRole()
  const navigate = useNavigate()
  const [asking, setAsking] = useState(false)
  const path = { params: { path: { enumerate_id: id } } }
  const found = useQuery({
    queryKey: ['enumeration', team.id, id], queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}', path)),
    refetchInterval: (q) => (q.state.data && live(q.state.data.data.status) ? 1500 : false),
  })
  const group = found.data?.data.enumeration_type === 'group'
  const keys = ['enumeration', 'enumerations', 'assets']
  const stop = useAct(() => body(platform.POST('/v1/asset/enumerate/{enumerate_id}/stop', path)), keys, () => toast(x.stopped))
  const again = useAct(() => body(platform.POST('/v1/asset/enumerate/{enumerate_id}/rescan', path)), keys, () => toast(x.started))
  const remove = useAct(() => body(group
    ? platform.DELETE('/v1/asset/enumerate/group/{group_id}', { params: { path: { group_id: id } } }) : platform.DELETE('/v1/asset/enumerate/{enumerate_id}', path)), keys, () => void navigate({ to: '/enumerations' }), { shown: true })
  const e = found.data?.data as One | undefined
  const queries = useQueryClient()
  const ended = !!e && !live(e.status)
  useEffect(() => { // what came last is read once more
    if (ended) for (const k of ['assets', 'enumeration-sources', 'enumeration-events', 'enumeration-history']) void queries.invalidateQueries({ queryKey: [k] })
  }, [ended, queries])
  useTitle(e?.name ?? x.one)
  if (found.error) return <Problem error={found.error} retry={() => void found.refetch()} />
  if (!e) return <Loading what={x.one} />
  const tab = tabOf(search, group ? ['assets', 'difference'] : ['assets', 'sources', 'events', 'runs', 'difference'])
  return (
    <>
      <Head title={<Shown text={e.name} max={200} />} crumb={<To to="/enumerations" className="link">{x.title}</To>}>
        <Files id={id} />
        {role.writes && live(e.status) && <Button kind="danger" disabled={stop.isPending} onClick={() => stop.mutate()}>{x.stop}</Button>}
        {role.writes && !live(e.status) && e.enumeration_type === 'discovery' && <Button disabled={again.isPending} onClick={() => again.mutate()}>{x.again}</Button>}
        {role.writes && !live(e.status) && <Button kind="quiet" onClick={() => setAsking(true)}>{t.delete}</Button>}
      </Head>
      <Card className="mb-4">
        <Facts of={[
          [x.state, <span key="s"><Chip tone={tone[e.status]}>{t.scanState[e.status] ?? e.status}</Chip> {e.failure_reason && <Shown text={e.failure_reason} max={300} className="text-high" />}</span>],
          [x.domains, e.root_domains.length > 0 && <Shown key="d" text={e.root_domains.join(', ')} max={500} />],
          [x.assets, x.holds(e.enumeration_stats.hosts, e.enumeration_stats.ports, e.enumeration_stats.http)],
          [t.assets.new, e.new_assets > 0 && count(e.new_assets)], [t.scope.exclusions, e.exclusions.length > 0 && <Shown key="x" text={e.exclusions.join(', ')} max={300} />],
          [x.took, took(e.enumeration_time_elapsed)], [t.coverage.denied!, e.denied > 0 && <span key="n" className="text-medium">{x.denied(count(e.denied))}</span>],
        ]} />
      </Card>
      <Tabs of={group ? [['assets', x.assets], ['difference', t.diff.title]] : [['assets', x.assets], ['sources', x.sources], ['events', x.events], ['runs', x.runs], ['difference', t.diff.title]]} now={tab} />
      {tab === 'assets' && <Contents id={id} live={live(e.status)} />}
      {tab === 'sources' && <Sources id={id} />}
      {tab === 'events' && <Events id={id} />}
      {tab === 'runs' && <Runs id={id} />}
      {tab === 'difference' && <Difference id={id} />}
      {asking && <Confirm title={group ? t.group.deleteTitle : x.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setAsking(false)} onYes={() => remove.mutate()}>{group ? t.group.deleteText : x.deleteText}</Confirm>}
    </>
  )
}

/** What it found, as files. */
function Files({ id }: { id: string }) {
  const path = { enumerate_id: id }
  const names = useAct(() => platform.GET('/v1/asset/enumerate/{enumerate_id}/domains/export', { params: { path, query: { format: 'raw' } }, parseAs: 'blob' }), [], (out) => save(out.data as unknown as Blob, 'names.txt', out.response))
  const table = useAct(() => platform.GET('/v1/asset/enumerate/{enumerate_id}/export', { params: { path, query: { format: 'csv' } as never }, parseAs: 'blob' }), [], (out) => save(out.data as unknown as Blob, 'assets.csv', out.response))
  return <><Button disabled={names.isPending} onClick={() => names.mutate()}>{t.group.names}</Button><Button disabled={table.isPending} onClick={() => table.mutate()}>{t.group.csv}</Button></>
}

function Contents({ id, live }: { id: string; live: boolean }) {
  const [search, set] = useURL()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const found = useQuery({
    queryKey: ['assets', team.id, 'of', id, page], placeholderData: keepPreviousData, refetchInterval: live ? 3000 : false,
    queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}/contents', { params: { path: { enumerate_id: id }, query: { limit: 100, offset: page * 100 } as never } })),
  })
  const rows = found.data?.data ?? []
  return (
    <Card flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={x.assets} /> : rows.length === 0 ? <Empty title={t.assets.empty} /> : (
        <Table label={x.assets} head={[t.assets.name, t.assets.kind, t.assets.address, t.assets.answer, t.assets.tech]}>
          {rows.map((a) => <tr key={a.id}><td><To to={`/assets/${a.id}`} className="font-medium hover:text-accent"><Shown text={a.name || a.host} max={120} /></To> {a.is_new && <Chip tone="busy">{t.assets.new}</Chip>}</td><td>{a.type}{a.port ? `:${a.port}` : ''}</td><td className="text-muted"><Shown text={(a.ip ?? []).join(', ')} max={60} /></td><td>{a.status_code ? <><Chip>{a.status_code}</Chip> <Shown text={a.title} max={60} /></> : ''}</td><td className="text-muted"><Shown text={(a.technologies ?? []).join(', ')} max={60} /></td></tr>)}
        </Table>
      )}
      {(found.data?.total_results ?? 0) > 100 && <Pages page={page} total={found.data!.total_results} size={100} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
    </Card>
  )
}

const sourceTone: Record<string, string> = { ok: 'good', empty: 'calm', skipped: 'calm', limited: 'wait', timed_out: 'wait' }

function Sources({ id }: { id: string }) {
  const found = useQuery({ queryKey: ['enumeration-sources', team.id, id], queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}/sources', { params: { path: { enumerate_id: id }, query: { limit: 200 } as never } })) })
  return (
    <Card flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={x.sources} /> : found.data.data.length === 0 ? <Empty title={x.noSources} /> : (
        <Table label={x.sources} head={[t.work.source, x.what, x.state, t.work.found, x.took]}>
          {found.data.data.map((s, i) => <tr key={i}><td><Shown text={s.source} max={60} className="font-medium" /></td><td><Shown text={s.about} max={100} /></td><td><Chip tone={sourceTone[s.state] ?? 'bad'}>{s.state.replace('_', ' ')}</Chip>{s.detail && <span className="block text-xs text-muted"><Shown text={s.detail} max={200} /></span>}</td><td>{count(s.count)}</td><td className="text-muted">{took(s.took)}</td></tr>)}
        </Table>
      )}
    </Card>
  )
}

function Events({ id }: { id: string }) {
  const found = useQuery({ queryKey: ['enumeration-events', team.id, id], queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}/events', { params: { path: { enumerate_id: id }, query: { limit: 200 } as never } })) })
  return (
    <Card flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={x.events} /> : found.data.data.length === 0 ? <Empty title={x.noEvents} /> : (
        <Table label={x.events} head={[t.scans.when, x.what, t.scans.one, x.detail, x.times]}>
          {found.data.data.map((e, i) => <tr key={i}><td className="whitespace-nowrap text-muted">{date(e.at)}</td><td><Chip tone={e.kind === 'denied' ? 'wait' : 'calm'}>{x.kind[e.kind] ?? e.kind}</Chip></td><td><Shown text={e.subject} max={120} /></td><td className="text-muted"><Shown text={e.detail} max={300} /></td><td>{count(e.times)}</td></tr>)}
        </Table>
      )}
    </Card>
  )
}

function Runs({ id }: { id: string }) {
  const found = useQuery({ queryKey: ['enumeration-history', team.id, id], queryFn: () => body(platform.GET('/v1/asset/enumerate/{enumerate_id}/history', { params: { path: { enumerate_id: id }, query: { limit: 100, time_range: 'all_time' } as never } })) })
  return (
    <Card flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={x.runs} /> : found.data.data.length === 0 ? <Empty title={t.scans.noRuns} /> : (
        <Table label={x.runs} head={[t.scans.when, x.state, t.assets.new, x.took, '']}>
          {found.data.data.map((r) => <tr key={r.enum_started_at}><td className="whitespace-nowrap">{date(r.enum_started_at)}</td><td><Chip tone={tone[r.status]}>{t.scanState[r.status] ?? r.status}</Chip></td><td>{count(r.new_assets_discovered)}</td><td className="whitespace-nowrap">{took(r.enumeration_time)}</td><td className="text-high"><Shown text={r.error_details} max={200} /></td></tr>)}
        </Table>
      )}
    </Card>
  )
}
