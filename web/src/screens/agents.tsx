import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { agent, body, platform, team } from '../lib/api'
import { count } from '../lib/format'
import { Shown } from '../lib/show'
import { Card, Chip, Empty, Head, Loading, Problem, Table, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'

const w = t.work
const often = 5_000

/** What runs, what waits and for how long, and how what the work depends on is doing. */
export function Agents() {
  useTitle(w.title)
  return <><Head title={w.title} note={w.note} /><div className="grid items-start gap-4 *:min-w-0 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]"><Work /><Needs /></div><div className="mt-4"><Sources /></div></>
}

/** How many there are in a state, and the one that has been in it longest. */
function useScans(status: string) {
  return useQuery({ queryKey: ['scans', team.id, 'work', status], refetchInterval: often, queryFn: () => body(platform.GET('/v1/scans', { params: { query: { status, limit: 1, sort_asc: 'created_at' } as never } })) })
}
function useTasks(status: 'queued' | 'running' | 'suspended') {
  return useQuery({ queryKey: ['tasks', team.id, 'work', status], refetchInterval: often, queryFn: () => body(agent.GET('/api/v1/tasks', { params: { query: { status, limit: 100 } } })) })
}
function useEnumerations(status: string) {
  return useQuery({ queryKey: ['enumerations', team.id, 'work', status], refetchInterval: often, queryFn: () => body(platform.GET('/v1/asset/enumerate', { params: { query: { status, limit: 1, sort_asc: 'created_at' } as never } })) })
}

function Work() {
  const s = { running: useScans('running'), queued: useScans('queued') }
  const k = { running: useTasks('running'), queued: useTasks('queued'), suspended: useTasks('suspended') }
  const e = { running: useEnumerations('running'), queued: useEnumerations('queued') }
  const all = [s.running, s.queued, k.running, k.queued, k.suspended, e.running, e.queued]
  const error = all.find((q) => q.error)?.error
  const n = (v: number | undefined, to: string, search?: Record<string, string>): ReactNode => (v === undefined ? '…' : v > 0 ? <To to={to} search={search} className="link">{count(v)}</To> : '0')
  const oldestScan = s.queued.data?.data[0]
  const oldestTask = k.queued.data?.tasks.at(-1)
  const oldestEnumeration = e.queued.data?.data[0]
  return (
    <div className="grid gap-4 *:min-w-0">
      <Card title={w.kind} flush>
        {error ? <Problem error={error} /> : all.some((q) => !q.data) ? <Loading what={w.title} /> : (
          <Table label={w.kind} head={[w.kind, w.running, w.queued, w.oldest, w.you]}>
            <tr><td className="font-medium">{t.nav.scans}</td><td>{n(s.running.data?.total_results, '/scans', { status: 'running' })}</td><td>{n(s.queued.data?.total_results, '/scans', { status: 'queued' })}</td><td>{oldestScan ? <Time at={oldestScan.created_at} /> : '–'}</td><td>–</td></tr>
            <tr><td className="font-medium">{t.nav.tasks}</td><td>{n(k.running.data?.total, '/tasks', { status: 'running' })}</td><td>{n(k.queued.data?.total, '/tasks', { status: 'queued' })}</td><td>{oldestTask ? <Time at={oldestTask.created_at} /> : '–'}</td><td>{n(k.suspended.data?.total, '/tasks', { status: 'suspended' })}</td></tr>
            <tr><td className="font-medium">{w.enumerations}</td><td>{n(e.running.data?.total_results, '/enumerations', { status: 'running' })}</td><td>{n(e.queued.data?.total_results, '/enumerations', { status: 'queued' })}</td><td>{oldestEnumeration ? <Time at={oldestEnumeration.created_at} /> : '–'}</td><td>–</td></tr>
          </Table>
        )}
      </Card>
      <Card title={w.where}><p className="text-sm">{w.whereText}</p></Card>
    </div>
  )
}

function Needs() {
  const models = useQuery({ queryKey: ['models', team.id], queryFn: () => body(agent.GET('/api/v1/models')) })
  const servers = useQuery({ queryKey: ['mcp', team.id], queryFn: () => body(agent.GET('/api/v1/mcp/servers')) })
  const kits = useQuery({ queryKey: ['toolkits', team.id], queryFn: () => body(agent.GET('/api/v1/dynamic-toolkits')) })
  const sick = (k: number, of: number) => (of === 0 ? <span className="text-muted">–</span> : k === 0 ? <Chip tone="good">{w.ok}</Chip> : <Chip tone="bad">{w.ill(k)}</Chip>)
  const s = servers.data?.servers ?? []
  const d = kits.data?.toolkits ?? []
  return (
    <Card title={w.needs} flush>
      <Table label={w.needs} head={[w.needs, w.found, w.state]}>
        <tr><td><To to="/settings/models" className="link">{w.models}</To></td><td>{models.data ? w.nModels(models.data.models.length) : '…'}</td><td>{models.error ? <Chip tone="bad">{models.error.message.slice(0, 80)}</Chip> : models.data && models.data.models.length > 0 ? <Chip tone="good">{w.ok}</Chip> : '–'}</td></tr>
        <tr><td><To to="/settings/tools" className="link">{w.servers}</To></td><td>{servers.data ? count(s.length) : '…'}</td><td>{sick(s.filter((x) => x.status !== 'connected').length, s.length)}</td></tr>
        <tr><td><To to="/settings/tools" className="link">{w.kits}</To></td><td>{kits.data ? count(d.length) : '…'}</td><td>{sick(d.filter((x) => x.installation_status === 'failed').length, d.length)}</td></tr>
      </Table>
    </Card>
  )
}

const tone: Record<string, string> = { ok: 'good', empty: 'calm', skipped: 'calm', limited: 'wait', timed_out: 'wait' }

function Sources() {
  const found = useQuery({ queryKey: ['sources', team.id], refetchInterval: 30_000, queryFn: () => body(platform.GET('/v1/domain/sources', { params: { query: {} } })) })
  const rows = [...(found.data?.data ?? [])].sort((a, b) => Number(a.state === 'ok' || a.state === 'empty') - Number(b.state === 'ok' || b.state === 'empty'))
  return (
    <Card title={w.sources} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={w.sources} /> : rows.length === 0 ? <Empty title={w.noSources} /> : (
        <Table label={w.sources} head={[w.source, w.domain, w.state, w.found, w.usual, w.asked]}>
          {rows.slice(0, 200).map((x) => (
            <tr key={x.source + x.domain}><td><Shown text={x.source} max={60} className="font-medium" /></td><td><Shown text={x.domain} max={80} /></td><td><Chip tone={tone[x.state] ?? 'bad'}>{x.state.replace('_', ' ')}</Chip>{x.detail && <span className="block text-xs text-muted"><Shown text={x.detail} max={200} /></span>}</td>
              <td>{count(x.count)}</td><td className="text-muted">{x.usual_count === undefined ? '–' : count(x.usual_count)}</td><td className="text-muted"><Time at={x.checked_at} /></td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
