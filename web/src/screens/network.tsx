import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useAct } from '../lib/act'
import { agent, body, platform, team, type Agent } from '../lib/api'
import { count, date, size, span } from '../lib/format'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import { useURL, type Search } from '../lib/search'
import { plain, Shown } from '../lib/show'
import { Button, Chip, Confirm, Empty, Head, Loading, Problem, Time, To, useCards, useTitle, Sheet } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'
import { answerTone, EventDetail } from './network-event'
import { Policy } from './network-policy'

const x = t.network
const pageSize = 50
const filters = ['task', 'scan', 'tool', 'method', 'status', 'host'] as const

type Event = Agent['NetworkEvent']
type Counts = Agent['NetworkStatistics']

/** What tasks and scans sent, and what they were answered. */
export function Network() {
  useTitle(x.title)
  const [search, set] = useURL()
  const role = useRole()
  const navigate = useNavigate()
  const [at, setAt] = useState(0)
  const rowsOf = useRef<HTMLTableSectionElement>(null)
  const subject = { task_id: search.task, scan_id: search.scan }
  const query = {
    ...subject, tool: search.tool, method: search.method, host: search.host, limit: pageSize, starting_after: search.after,
    ...(search.status === 'none' ? { failed: true } : { status: search.status }),
  }
  const found = useQuery({
    queryKey: ['network', team.id, query], placeholderData: keepPreviousData, refetchInterval: search.after ? false : 10_000,
    queryFn: ({ signal }) => body(agent.GET('/api/v1/network/events', { params: { query: query as never }, signal })),
  })
  const stats = useQuery({
    queryKey: ['network-stats', team.id, subject], placeholderData: keepPreviousData, refetchInterval: 30_000,
    queryFn: ({ signal }) => body(agent.GET('/api/v1/network/stats', { params: { query: subject }, signal })),
  })
  const rows = found.data?.events ?? []
  const now = rows[Math.min(at, rows.length - 1)]
  const what = JSON.stringify(query)
  useEffect(() => setAt(0), [what])
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by))
    setAt(next)
    rowsOf.current?.querySelectorAll('tr')[next]?.scrollIntoView({ block: 'nearest' })
    if (search.open && rows[next]) set({ open: rows[next].id }, { replace: true })
  }
  const toggle = (e: Event) => set({ open: search.open === e.id ? undefined : e.id })
  useCommands([
    { id: 'n down', label: x.keys.next, group: x.title, keys: 'j', run: () => move(1) },
    { id: 'n up', label: x.keys.previous, group: x.title, keys: 'k', run: () => move(-1) },
    { id: 'n open', label: x.keys.open, group: x.title, keys: 'Enter', run: () => now && toggle(now) },
    { id: 'n page', label: x.keys.page, group: x.title, keys: 'o', run: () => now && void navigate({ to: `/network/${now.id}` } as never) },
    { id: 'n close', label: x.keys.close, group: x.title, keys: 'Escape', run: () => set({ open: undefined }) },
  ])
  const filtered = filters.some((k) => search[k])
  return (
    <>
      <Head title={x.title} note={stats.data && <>{x.note(count(stats.data.events))}{stats.data.dropped > 0 && <> · {x.dropped(count(stats.data.dropped))}</>}</>}>
        <Button onClick={() => set({ policy: '1' })}>{x.policy}</Button>
        {(!!search.task !== !!search.scan) && <OfOne search={search} writes={role.writes} any={(stats.data?.events ?? 0) > 0} />}
      </Head>
      <Filters search={search} set={set} counts={stats.data} filtered={filtered} />
      <div className={`grid min-w-0 items-start gap-4 ${search.open ? 'xl:grid-cols-[minmax(0,1fr)_minmax(28rem,50%)]' : ''}`}>
        <div className="card min-w-0">
          {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={x.title} /> : rows.length === 0 ? <Nothing search={search} filtered={filtered} none={stats.data?.events === 0} />
            : <Rows of={rows} at={at} open={search.open} body={rowsOf} onOpen={(e, i) => { setAt(i); toggle(e) }} />}
          {(search.after || found.data?.has_more) && (
            <div className="flex justify-end gap-2 border-t border-line px-3 py-1.5">
              {search.after && <Button onClick={() => set({ after: undefined })}>{x.newest}</Button>}
              {found.data?.has_more && <Button onClick={() => set({ after: rows.at(-1)!.id })}>{x.older}</Button>}
            </div>
          )}
        </div>
        {search.open && (
          <Sheet label={x.panel}>
            <EventDetail id={search.open} key={search.open} panel onClose={() => set({ open: undefined })} />
          </Sheet>
        )}
      </div>
      {search.policy === '1' && <Policy onClose={() => set({ policy: undefined }, { replace: true })} />}
    </>
  )
}

function Nothing({ search, filtered, none }: { search: Search; filtered: boolean; none: boolean }) {
  const navigate = useNavigate()
  if (search.scan && none) return <Empty title={x.none}>{x.noneScan}</Empty>
  if (search.task && none) return <Empty title={x.none}>{x.noneText}</Empty>
  if (filtered || search.after) return <Empty title={x.noMatch} action={<Button onClick={() => void navigate({ to: '/network', search: {} } as never)}>{x.clear}</Button>} />
  return <Empty title={x.none}>{x.noneText}</Empty>
}

function Rows({ of: rows, at, open, body, onOpen }: { of: Event[]; at: number; open?: string; body: React.RefObject<HTMLTableSectionElement | null>; onOpen: (e: Event, i: number) => void }) {
  const narrow = !!open
  const cards = useCards()
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label={x.title}>
      <table ref={cards} role="table" className="cards w-full border-collapse text-left text-sm" aria-label={x.title}>
        <thead role="rowgroup">
          <tr role="row" className="border-b border-line text-xs text-muted">
            {[x.request, x.status, ...(narrow ? [] : [x.time, x.size, x.tool]), x.sent].map((h, i) => <th key={h} role="columnheader" scope="col" className={`px-3 py-1.5 whitespace-nowrap ${i === 0 ? 'w-full' : ''}`}>{h}</th>)}
          </tr>
        </thead>
        <tbody ref={body} role="rowgroup">
          {rows.map((e, i) => (
            <tr key={e.id} aria-selected={i === at} onClick={(ev) => { if (!(ev.target as Element).closest('a, button')) onOpen(e, i) }}
              className={`cursor-pointer border-b border-line align-top last:border-0 [&>td]:px-3 [&>td]:py-1.5 ${open === e.id ? 'bg-accent-soft' : 'hover:bg-panel'} ${i === at ? 'shadow-[inset_3px_0_0_var(--accent)]' : ''}`}>
              <td className="min-w-52">
                <button type="button" className="line-clamp-2 text-left font-medium hover:text-accent" aria-expanded={open === e.id} onClick={() => onOpen(e, i)}><code className="mr-1.5 text-xs text-muted"><Shown text={e.method} max={20} /></code><Shown text={e.url} max={200} /></button>
              </td>
              <td><Answer status={e.status} /></td>
              {!narrow && <><td className="whitespace-nowrap text-muted">{e.status ? span(e.duration_ms) : ''}</td><td className="whitespace-nowrap text-muted">{e.status ? size(e.response_bytes) : ''}</td>
                <td className="whitespace-nowrap"><To to={e.task_id ? `/tasks/${e.task_id}` : `/scans/${e.scan_id ?? ''}`} className="link">{e.task_id ? x.of_task : x.of_scan}</To> <span className="text-muted">· {x.tools[e.tool] ?? e.tool}</span></td></>}
              <td className="text-muted"><Time at={e.sent_at} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function Answer({ status }: { status: number }) {
  return <Chip tone={answerTone(status)}>{status || x.noAnswer}</Chip>
}

const toolNames = ['templates', 'http', 'webtest', 'replay']

function Filters({ search, set, counts, filtered }: { search: Search; set: (c: Partial<Search>) => void; counts?: Counts; filtered: boolean }) {
  const navigate = useNavigate()
  const choose = (change: Partial<Search>) => set({ ...change, after: undefined, open: undefined })
  const facet = (key: 'tool' | 'method' | 'status' | 'host', name: string, any: string, of: { value: string; count: number }[], say = (v: string) => v) => {
    const there = of.some((c) => c.value === search[key]) || !search[key] ? of : [{ value: search[key], count: 0 }, ...of]
    return (
      <select className="field !w-auto max-w-60" aria-label={name} value={search[key] ?? ''} onChange={(e) => choose({ [key]: e.target.value || undefined })}>
        <option value="">{any}</option>
        {there.map((c) => <option key={c.value} value={c.value}>{x.counted(plain(say(c.value).slice(0, 80)), count(c.count))}</option>)}
      </select>
    )
  }
  const tools = toolNames.map((value) => counts?.tools.find((c) => c.value === value) ?? { value, count: 0 })
  const statuses = (counts?.statuses ?? []).map((c) => ({ ...c, value: c.value === '0' ? 'none' : c.value })).sort((a, b) => a.value.localeCompare(b.value))
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Subject search={search} choose={choose} />
      {facet('tool', x.tool, x.anyTool, tools, (v) => x.tools[v] ?? v)}
      {facet('method', x.method, x.anyMethod, counts?.methods ?? [])}
      {facet('status', x.status, x.anyStatus, statuses, (v) => (v === 'none' ? x.noAnswer : v))}
      {facet('host', x.host, x.anyHost, counts?.hosts ?? [])}
      {filtered && <button type="button" className="link text-sm" onClick={() => void navigate({ to: '/network', search: {} } as never)}>{x.clear}</button>}
    </div>
  )
}

/** The task or scan whose requests are listed: one of the latest, or the one that the address names. */
function Subject({ search, choose }: { search: Search; choose: (c: Partial<Search>) => void }) {
  const tasks = useQuery({ queryKey: ['tasks', team.id, 'latest'], staleTime: 30_000, queryFn: () => body(agent.GET('/api/v1/tasks', { params: { query: { limit: 25 } } })) })
  const scans = useQuery({ queryKey: ['scans', team.id, 'latest'], staleTime: 30_000, retry: false, queryFn: () => body(platform.GET('/v1/scans', { params: { query: { limit: 25 } as never } })) })
  const ofTasks = (tasks.data?.tasks ?? []).map((k) => ({ id: k.id, name: k.title }))
  const ofScans = (scans.data?.data ?? []).map((s) => ({ id: s.scan_id, name: `${s.name || s.scan_id} · ${date(s.created_at)}` }))
  const now = search.task ? `task ${search.task}` : search.scan ? `scan ${search.scan}` : ''
  const listed = !now || [...ofTasks, ...ofScans].some((o) => now.endsWith(` ${o.id}`))
  return (
    <select className="field !w-auto max-w-72" aria-label={x.of} value={now} onChange={(e) => {
      const [kind, id] = e.target.value.split(' ')
      choose({ task: kind === 'task' ? id : undefined, scan: kind === 'scan' ? id : undefined, host: undefined, method: undefined, status: undefined })
    }}>
      <option value="">{x.ofAny}</option>
      {!listed && <option value={now}>{(search.task ? x.of_task : x.of_scan)} {plain((search.task ?? search.scan ?? '').slice(0, 64))}</option>}
      {ofTasks.length > 0 && <optgroup label={x.tasks}>{ofTasks.map((o) => <option key={o.id} value={`task ${o.id}`}>{plain(o.name.slice(0, 80))}</option>)}</optgroup>}
      {ofScans.length > 0 && <optgroup label={x.scans}>{ofScans.map((o) => <option key={o.id} value={`scan ${o.id}`}>{plain(o.name.slice(0, 80))}</option>)}</optgroup>}
    </select>
  )
}

/** What can be done with all requests of a task or a scan. */
function OfOne({ search, writes, any }: { search: Search; writes: boolean; any: boolean }) {
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)
  const query = { task_id: search.task, scan_id: search.scan }
  const remove = useAct(() => body(agent.DELETE('/api/v1/network/events', { params: { query } })), ['network', 'network-stats'], (x2) => { setAsking(false); toast(x.deleted(x2.deleted)) }, { shown: true })
  const file = async () => {
    setBusy(true)
    try {
      const { data, response } = await agent.GET('/api/v1/network/har', { params: { query }, parseAs: 'blob' })
      save(data as unknown as Blob, 'network-events.har', response)
    } catch (e) { failed(e) } finally { setBusy(false) }
  }
  return (
    <>
      <To to={search.task ? `/tasks/${search.task}` : `/scans/${search.scan}`} className="btn">{search.task ? x.openTask : x.openScan}</To>
      <Button disabled={busy || !any} onClick={() => void file()}>{busy ? t.findings.exporting : x.har}</Button>
      {writes && <Button kind="quiet" disabled={!any} onClick={() => setAsking(true)}>{x.delete}</Button>}
      {asking && <Confirm title={x.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setAsking(false)} onYes={() => remove.mutate()}>{search.task ? x.deleteText.task : x.deleteText.scan}</Confirm>}
    </>
  )
}
