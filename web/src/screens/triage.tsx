import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { agent, ApiError, body, team, type Agent } from '../lib/api'
import { count } from '../lib/format'
import { useDecide, type Result, type Status } from '../lib/findings'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { tabOf, useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Empty, Head, Loading, Problem, Severity, Table, Tabs, Time, To, useTitle } from '../ui/kit'
import { t } from '../texts'
import { Detail } from './finding'
import { WorkDialogs, type Asking } from './finding-work'
import { SeverityCounts } from './scans'
import { Rules, Suggestions } from './triage-rules'
import { searchOf, useQueues, type Queue } from './views'

const tabs = ['queues', 'rules', 'suggestions'] as const

/** The queues of a team: views of findings that were saved, to be worked off. */
export function Triage() {
  useTitle(t.triage.title)
  const [search] = useURL()
  const tab = tabOf(search, tabs)
  const role = useRole()
  const queries = useQueryClient()
  const [gone, setGone] = useState<Queue>()
  const found = useQueues()
  const remove = useMutation({
    mutationFn: () => agent.DELETE('/api/v1/triage/queues/{queue_id}', { params: { path: { queue_id: gone!.id } } }),
    onSuccess: () => { setGone(undefined); void queries.invalidateQueries({ queryKey: ['queues'] }) },
  })
  return (
    <>
      <Head title={t.triage.title} crumb={<To to="/findings" className="link">{t.findings.title}</To>} note={t.triage.note} />
      <Tabs of={tabs.map((x) => [x, t.triage.tabs[x]])} now={tab} />
      {tab === 'rules' ? <Rules /> : tab === 'suggestions' ? <Suggestions /> : <Card flush>
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={t.triage.title} /> : found.data.queues.length === 0
          ? <Empty title={t.triage.none} action={<To to="/findings" className="btn btn-primary">{t.findings.title}</To>}>{t.triage.noneText}</Empty> : (
            <Table label={t.triage.title} head={[t.scans.name, t.triage.waiting, t.triage.oldest, t.triage.looked, '']}>
              {found.data.queues.map((q) => (
                <tr key={q.id}>
                  <td className="min-w-48"><To to={`/triage/${q.id}`} className="font-medium hover:text-accent"><Shown text={q.name} max={100} /></To><span className="block text-xs text-muted">{t.triage.orders[q.sort]}</span></td>
                  <td><SeverityCounts of={q.count_by_severity} /></td><td className="text-muted"><Time at={q.oldest_created_at} /></td>
                  <td className="text-muted">{q.claimed.length > 0 ? <Shown text={[...new Set(q.claimed.map((c) => c.claimed_by))].join(', ')} max={80} /> : '–'}</td>
                  <td><span className="flex justify-end gap-2">{q.count > 0 && <To to={`/triage/${q.id}`} className="btn">{t.triage.workOff}</To>}<To to="/findings" search={searchOf(q.selection)} className="btn">{t.triage.list}</To>{role.writes && <Button onClick={() => setGone(q)}>{t.delete}</Button>}</span></td>
                </tr>
              ))}
            </Table>
          )}
      </Card>}
      {gone && <Confirm title={t.triage.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{t.triage.deleteText(gone.name)}</Confirm>}
    </>
  )
}

type Item = Agent['TriageItem']
const quick: [key: string, status: Status][] = [['1', 'triaged'], ['2', 'fix_in_progress'], ['3', 'fixed'], ['4', 'duplicate']]

/** A queue, worked off one finding after the other. Each is claimed, so that two people do not look at the same one. */
export function WorkOff() {
  const { id } = useParams({ strict: false }) as { id: string }
  const role = useRole()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const decide = useDecide()
  const [item, setItem] = useState<Item>()
  const [done, setDone] = useState(0)
  const [asking, setAsking] = useState<Asking>('')
  const path = { queue_id: id }
  const queue = useQuery({ queryKey: ['queue', team.id, id], queryFn: () => body(agent.GET('/api/v1/triage/queues/{queue_id}', { params: { path } })) })
  const items = useQuery({ queryKey: ['queue', team.id, id, 'items'], queryFn: () => body(agent.GET('/api/v1/triage/queues/{queue_id}/items', { params: { path, query: { limit: 50 } } })) })
  const claim = useMutation({
    mutationFn: () => body(agent.POST('/api/v1/triage/queues/{queue_id}/claim', { params: { path } })),
    onSuccess: (next) => { setItem(next); void queries.invalidateQueries({ queryKey: ['queue'] }) },
    onError: () => setItem(undefined),
  })
  const take = useMutation({
    mutationFn: (vuln_id: string) => body(agent.PUT('/api/v1/triage/claims/{vuln_id}', { params: { path: { vuln_id } } })),
    onSuccess: (x) => { setItem(x); void queries.invalidateQueries({ queryKey: ['queue'] }) },
  })
  const release = async () => {
    if (item) await agent.DELETE('/api/v1/triage/claims/{vuln_id}', { params: { path: { vuln_id: item.vuln_id } } }).catch(() => undefined)
    setItem(undefined)
    void queries.invalidateQueries({ queryKey: ['queue'] })
  }
  const q = queue.data
  useTitle(q?.name ?? t.triage.title)
  const list = item ? [item as unknown as Result] : []
  const next = () => { setDone((n) => n + 1); claim.mutate() }
  const set = (status: Status) => { if (item) void decide(list, { status, reason: '' }).then((ok) => { if (ok) next() }) }
  const g = t.triage.title
  useCommands(role.writes ? [
    { id: 'q next', label: item ? t.triage.skip : t.triage.start, group: g, keys: 'n', run: () => claim.mutate() },
    ...(item ? [
      { id: 'q status', label: t.findings.keys.status, group: g, keys: 's', run: () => setAsking('status') },
      { id: 'q assign', label: t.findings.keys.assign, group: g, keys: 'a', run: () => setAsking('assign') },
      { id: 'q label', label: t.findings.keys.label, group: g, keys: 'l', run: () => setAsking('label') },
      { id: 'q open', label: t.findings.keys.page, group: g, keys: 'o', run: () => void navigate({ to: `/findings/${item.vuln_id}` } as never) },
      { id: 'q stop', label: t.triage.pause, group: g, keys: 'Escape', run: () => void release() },
      ...quick.map(([keys, s]) => ({ id: `q ${s}`, label: t.status[s]!, group: g, keys, run: () => set(s) })),
    ] : []),
  ] : [])
  const empty = claim.error instanceof ApiError && claim.error.status === 404
  useEffect(() => { if (item) window.scrollTo({ top: 0 }) }, [item])
  if (queue.error) return <Problem error={queue.error} retry={() => void queue.refetch()} />
  if (!q) return <Loading what={t.triage.title} />
  return (
    <>
      <Head title={<Shown text={q.name} max={100} />} crumb={<To to="/triage" className="link">{t.triage.title}</To>} note={t.triage.left(count(q.count), done)}>
        <To to="/findings" search={searchOf(q.selection)} className="btn">{t.triage.list}</To>
        {role.writes && item && <Button onClick={() => void release()}>{t.triage.pause} <span className="kbd" aria-hidden="true">Esc</span></Button>}
        {role.writes && <Button kind={item ? '' : 'primary'} disabled={claim.isPending} onClick={() => claim.mutate()}>{item ? t.triage.skip : t.triage.start} <span className="kbd" aria-hidden="true">n</span></Button>}
      </Head>
      {empty && !item && <p role="status" className="mb-4 rounded-sm bg-good-soft px-3 py-2 text-sm text-good">{t.triage.empty}</p>}
      {claim.error && !empty ? <Problem error={claim.error} /> : null}
      <div className="grid items-start gap-4 *:min-w-0 lg:grid-cols-[18rem_minmax(0,1fr)]">
        <Card title={t.triage.next} flush className={item ? 'max-lg:hidden' : ''}>
          {!items.data ? <Loading what={t.findings.title} /> : items.data.items.length === 0 ? <Empty title={t.triage.nothing} /> : (
            <ol className="max-h-[70vh] divide-y divide-line overflow-auto" tabIndex={0} aria-label={t.triage.next}>
              {items.data.items.map((x) => (
                <li key={x.vuln_id} className={`px-3 py-2 text-sm ${x.vuln_id === item?.vuln_id ? 'bg-accent-soft' : ''}`}>
                  <span className="flex items-start gap-2"><Severity of={x.severity} short />
                    {role.writes ? <button type="button" className="min-w-0 flex-1 text-left font-medium hover:text-accent" onClick={() => take.mutate(x.vuln_id)}><Shown text={x.name} max={100} /></button> : <To to={`/findings/${x.vuln_id}`} className="min-w-0 flex-1 font-medium hover:text-accent"><Shown text={x.name} max={100} /></To>}</span>
                  <span className="block truncate text-xs text-muted"><Shown text={x.matched_at || x.target} max={100} /></span>
                  {x.claim && <Chip tone="busy"><Shown text={x.claim.claimed_by} max={50} /></Chip>}
                </li>
              ))}
            </ol>
          )}
        </Card>
        {item ? (
          <div className="grid gap-4 *:min-w-0">
            <Card>
              <div className="flex flex-wrap items-center gap-2" role="group" aria-label={t.triage.decide}>
                <Button kind="primary" onClick={() => setAsking('status')}>{t.triage.withReason} <span className="kbd" aria-hidden="true">s</span></Button>
                {quick.map(([key, s]) => <Button key={s} onClick={() => set(s)}>{t.status[s]} <span className="kbd" aria-hidden="true">{key}</span></Button>)}
                {item.claim && <span className="text-xs text-muted">{t.triage.yours} <Time at={item.claim.claimed_until} /></span>}
              </div>
            </Card>
            <div className="card"><Detail key={item.vuln_id} id={item.vuln_id} panel onClose={() => void release()} /></div>
          </div>
        ) : <Card className="max-lg:hidden"><Empty title={t.triage.ready}>{role.writes ? t.triage.readyText : t.triage.viewer}</Empty></Card>}
      </div>
      <WorkDialogs asking={asking} list={list} onClose={() => setAsking('')} onDone={() => { if (asking === 'status') next() }} />
    </>
  )
}
