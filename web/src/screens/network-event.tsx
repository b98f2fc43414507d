import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { agent, body, team, type Agent } from '../lib/api'
import { date, size, span } from '../lib/format'
import { useCommands } from '../lib/keys'
import { useRole } from '../lib/me'
import { isMasked } from '../lib/resend'
import { useURL } from '../lib/search'
import { Raw, Shown } from '../lib/show'
import { Button, Card, Chip, Copy, Facts, Head, Loading, Problem, To, useTitle } from '../ui/kit'
import { t } from '../texts'
import { differing } from './finding-evidence'
import { SendAgain } from './network-again'

const x = t.network
export type Event = Agent['NetworkEventDetail']

/** How an answer looks: 0 is none. */
export const answerTone = (status: number) => (status === 0 ? 'wait' : status < 300 ? 'good' : status < 400 ? 'busy' : status < 500 ? 'calm' : 'bad')

const useEvent = (id: string | undefined, unmasked: boolean) => useQuery({
  queryKey: ['network-event', team.id, id, unmasked], enabled: !!id, staleTime: unmasked ? Infinity : 60_000, // each look at secrets is in the audit log
  queryFn: () => body(agent.GET('/api/v1/network/events/{eventId}', { params: { path: { eventId: id! }, query: unmasked ? { unmasked } : {} } })),
})

export function NetworkEvent() {
  const { id } = useParams({ strict: false }) as { id: string }
  return <EventDetail id={id} key={id} />
}

/** A request and its answer: as a page of its own, or as a panel beside the list. The page shows those of another time beside them. */
export function EventDetail({ id, panel = false, onClose }: { id: string; panel?: boolean; onClose?: () => void }) {
  const [search, set] = useURL()
  const role = useRole()
  const navigate = useNavigate()
  const [unmasked, setUnmasked] = useState(false)
  const [asking, setAsking] = useState(false)
  const found = useEvent(id, unmasked)
  const other = useEvent(panel ? undefined : search.with, unmasked)
  const e = found.data
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => { if (panel) box.current?.scrollIntoView({ block: 'nearest' }) }, [panel, !e]) // on a narrow screen it is above the list
  const can = role.writes && !!e?.replayable
  useCommands(can ? [{ id: 'n again', label: x.keys.again, group: x.title, keys: 'r', run: () => setAsking(true) }] : [])
  const after = (result: string) => {
    setAsking(false)
    if (panel) void navigate({ to: `/network/${id}`, search: { with: result } } as never)
    else set({ with: result })
  }
  if (found.error) return <><Closing panel={panel} onClose={onClose} /><Problem error={found.error} retry={() => void found.refetch()} /></>
  if (!e) return <><Closing panel={panel} onClose={onClose} /><Loading what={x.one} /></>
  const name = <><code className="mr-1.5 text-[0.85em] text-muted"><Shown text={e.method} max={20} /></code><Shown text={e.url} max={panel ? 300 : 600} /></>
  const hides = isMasked(e.request) || isMasked(e.response) || isMasked(e.url)
  const buttons = can && <Button kind="primary" onClick={() => setAsking(true)}>{x.again} <span className="kbd" aria-hidden="true">r</span></Button>
  return (
    <div ref={box} className={panel ? 'scroll-mt-4 p-4' : ''}>
      {panel ? (
        <div className="mb-3 flex items-start gap-2">
          <h2 className="min-w-0 flex-1 text-base leading-snug font-semibold"><To to={`/network/${id}`} className="hover:text-accent">{name}</To></h2>
          <Button kind="quiet" className="w-8 !px-0" aria-label={t.close} onClick={onClose}>✕</Button>
        </div>
      ) : <><Title of={`${e.method} ${e.url}`} /><Head title={name} crumb={<To to="/network" search={{ task: e.task_id, scan: e.scan_id }} className="link">{x.title}</To>}>{buttons}</Head></>}
      {panel && buttons && <div className="mb-3">{buttons}</div>}
      {(hides || unmasked) && (
        <p className="mb-3 flex flex-wrap items-center gap-2 text-xs text-muted">{unmasked ? x.unmasked : x.masked}
          {role.writes && !unmasked && <button type="button" className="link min-h-6" onClick={() => setUnmasked(true)}>{x.unmask}</button>}</p>
      )}
      {!panel && search.with ? (
        <>
          <p className="mb-3 flex flex-wrap items-center gap-3 text-sm"><span>{x.compared}</span><Button onClick={() => set({ with: undefined })}>{x.closeCompare}</Button></p>
          {other.error ? <Problem error={other.error} retry={() => void other.refetch()} /> : !other.data ? <Loading what={x.second} /> : (
            <div className="grid gap-4 xl:grid-cols-2">
              <About e={e} of={x.first} /><About e={other.data} of={x.second} than={e} />
              <Sent e={e} of={x.first} /><Sent e={other.data} of={x.second} />
              <Answered e={e} of={x.first} /><Answered e={other.data} of={x.second} than={e} />
            </div>
          )}
        </>
      ) : <div className={panel ? 'grid gap-4' : 'grid items-start gap-4 xl:grid-cols-2'}><About e={e} className={panel ? '' : 'xl:col-span-2'} /><Sent e={e} /><Answered e={e} /></div>}
      {asking && <SendAgain e={e} onClose={() => setAsking(false)} onSent={after} />}
    </div>
  )
}

function Title({ of }: { of: string }) { useTitle(of); return null }

/** The way out of a panel that has nothing to show yet. */
function Closing({ panel, onClose }: { panel: boolean; onClose?: () => void }) {
  return panel ? <p className="flex justify-end p-2"><Button kind="quiet" className="w-8 !px-0" aria-label={t.close} onClick={onClose}>✕</Button></p> : <Head title={x.one} crumb={<To to="/network" className="link">{x.title}</To>} />
}

// Of two of the same request, each card says which one it is about (of); the second (than is the first) says what is new.
type Part = { e: Event; of?: string; than?: Event; className?: string }
const titled = (of: string | undefined, name: string) => (of ? `${of}: ${name}` : name)

function About({ e, of, than, className = '' }: Part) {
  return (
    <Card title={titled(of, t.findings.facts)} className={className}>
      <Facts of={[
        [x.status, <span key="s"><Chip tone={answerTone(e.status)}>{e.status || x.noAnswer}</Chip>{than && than.status === e.status && <span className="text-muted"> {x.sameStatus}</span>}</span>],
        [x.error, e.error && <Shown key="e" text={e.error} max={500} className="text-high" />],
        [x.time, e.status ? span(e.duration_ms) : ''], [x.sent, date(e.sent_at)], [x.tool, x.tools[e.tool] ?? e.tool],
        [x.host, <Shown key="h" text={e.host} max={300} />], [x.address, e.ip && <Shown key="i" text={e.ip} max={60} />],
        [e.task_id ? x.of_task : x.of_scan, <span key="o" className="flex flex-wrap gap-x-3"><To to={e.task_id ? `/tasks/${e.task_id}` : `/scans/${e.scan_id ?? ''}`} className="link">{e.task_id ? x.openTask : x.openScan}</To><To to="/network" search={{ task: e.task_id, scan: e.scan_id }} className="link">{x.only}</To></span>],
        [x.replayOf, e.replay_of && !of && <To key="r" to={`/network/${e.replay_of}`} search={{ with: e.id }} className="link">{x.original}</To>],
      ]} />
    </Card>
  )
}

function Sent({ e, of }: Part) {
  return (
    <Card title={`${titled(of, x.request)} · ${size(e.request_bytes)}`} actions={<Copy text={e.request} />}>
      <Raw text={e.request} label={titled(of, x.request)} />
      {e.request_truncated && <p className="mt-1 text-xs text-medium">{x.cut('64 KB')}</p>}
    </Card>
  )
}

function Answered({ e, of, than }: Part) {
  const apart = than ? differing(e.response, than.response) : undefined
  return (
    <Card title={`${titled(of, x.response)} · ${size(e.response_bytes)}`} actions={e.response && <Copy text={e.response} />}>
      {apart && <p role="status" className="mb-2 text-xs text-muted">{apart.length === 0 ? x.same : x.differs(apart.length)}</p>}
      {apart && apart.length > 0 && <ul className="mb-2 font-mono text-xs text-medium">{apart.slice(0, 8).map((l, i) => <li key={i}>+ <Shown text={l} max={160} /></li>)}</ul>}
      {e.response ? <Raw text={e.response} label={titled(of, x.response)} /> : <p className="text-sm text-muted">{x.empty_body}</p>}
      {e.response_truncated && <p className="mt-1 text-xs text-medium">{x.cut('128 KB')}</p>}
    </Card>
  )
}
