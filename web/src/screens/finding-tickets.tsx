import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { plain, Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Time, To } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'
import type { Vulnerability } from './finding-evidence'

const k = t.tickets
type Ticket = Platform['FindingTicket']
type Config = Platform['ScanConfiguration']
type Linked = { tracker: Ticket['tracker_name']; id: string; url: string; ticket?: Ticket }

/** The issues of a finding: those that trackers are kept in step with, and those that somebody linked. */
function issuesOf(f: Vulnerability, tickets: Ticket[]): Linked[] {
  const out: Linked[] = tickets.map((x) => ({ tracker: x.tracker_name, id: x.ticket_id, url: x.ticket_url, ticket: x }))
  for (const [name, x] of Object.entries(f.event?.issue_trackers ?? {})) {
    if (!out.some((y) => y.tracker === name)) out.push({ tracker: name as Linked['tracker'], id: x.id, url: x.url })
  }
  return out
}

/** Issues of trackers about a finding: filed from here, linked, unlinked, and settled where both sides have changed. */
export function Tickets({ f, writes }: { f: Vulnerability; writes: boolean }) {
  const id = f.vuln_id
  const path = { vuln_id: id }
  const [filing, setFiling] = useState(false)
  const [gone, setGone] = useState<Linked>()
  const [settling, setSettling] = useState<Ticket>()
  const found = useQuery({ queryKey: ['tickets', team.id, id], queryFn: () => body(platform.GET('/v1/scans/vulns/tickets', { params: { query: { vuln_id: id } } })) })
  const link = useAct((x: { id: string; url: string }) => body(platform.POST('/v1/scans/vulns/{vuln_id}/ticket', { params: { path }, body: { custom_reporting_id: x.id, custom_reporting_url: x.url || undefined } })), ['tickets', 'finding'])
  const unlink = useAct((x: Linked) => platform.DELETE('/v1/scans/vulns/{vuln_id}/ticket', { params: { path, query: { provider_name: x.tracker } } }), ['tickets', 'finding'],
    (_, x) => { setGone(undefined); toast(k.unlinked(x.id), x.tracker === 'custom' ? () => link.mutate(x) : undefined) }, { shown: true })
  const list = issuesOf(f, found.data?.data ?? [])
  return (
    <Card title={k.title} flush actions={writes && <Button className="no-print" onClick={() => setFiling(true)}>{k.file}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={k.title} /> : list.length === 0 ? <p className="px-3 py-2.5 text-sm text-muted">{k.none}</p> : (
        <ul className="divide-y divide-line">
          {list.map((x) => (
            <li key={x.tracker + x.id} className="flex flex-wrap items-start gap-2 px-3 py-2 text-sm">
              <div className="min-w-0 flex-1 basis-40">
                <p><Issue of={x} /> <span className="text-muted">{k.tracker[x.tracker] ?? x.tracker}</span></p>
                {x.ticket && <State of={x.ticket} />}
              </div>
              {writes && <span className="no-print flex gap-2">{x.ticket?.conflict_at && <Button onClick={() => setSettling(x.ticket)}>{k.settle}</Button>}<Button aria-label={k.unlinkOne(x.id)} onClick={() => (x.tracker === 'custom' ? unlink.mutate(x) : setGone(x))}>{k.unlink}</Button></span>}
            </li>
          ))}
        </ul>
      )}
      {filing && <FileTicket id={id} onClose={() => setFiling(false)} onBack={(x) => unlink.mutate(x)} />}
      {settling && <Settle of={settling} id={id} onClose={() => setSettling(undefined)} />}
      {gone && <Confirm title={k.unlinkTitle} action={k.unlink} busy={unlink.isPending} error={unlink.error} onClose={() => setGone(undefined)} onYes={() => unlink.mutate(gone)}>{k.unlinkText(gone.id)}</Confirm>}
      {!gone && unlink.error && <Problem error={unlink.error} />}
    </Card>
  )
}

/** The way to an issue; only where it is one of the web. */
function Issue({ of }: { of: Linked }) {
  const name = <Shown text={of.id || of.url || k.waiting} max={80} className="font-medium" />
  return /^https?:\/\//i.test(of.url) ? <a href={of.url} target="_blank" rel="noopener noreferrer" className="link">{name}<span className="sr-only"> {k.opens}</span></a> : name
}

function State({ of: x }: { of: Ticket }) {
  return (
    <div className="mt-0.5 flex flex-wrap items-center gap-1.5 text-xs text-muted">
      {x.conflict_at ? <Chip tone="wait">{k.conflict}</Chip> : x.is_gone ? <Chip>{k.gone}</Chip> : x.error ? <Chip tone="bad">{k.failing}</Chip> : x.is_claimed ? <Chip tone="busy">{k.claimed}</Chip> : x.their_state ? <Chip>{k.state[x.their_state]}</Chip> : null}
      {x.their_status && x.their_status.toLowerCase() !== k.state[x.their_state ?? '']?.toLowerCase() && <Shown text={x.their_status} max={60} />}
      {x.pending > 0 && <span>{k.pending(x.pending)}</span>}
      <Time at={x.updated_at} />
      {x.error && <p className="basis-full text-high"><Shown text={x.error} max={400} /></p>}
    </div>
  )
}

function FileTicket({ id, onClose, onBack }: { id: string; onClose: () => void; onBack: (x: Linked) => void }) {
  const [how, setHow] = useState<'file' | 'link'>('file')
  const [config, setConfig] = useState('')
  const [issue, setIssue] = useState({ id: '', url: '' })
  const found = useQuery({ queryKey: ['configs', team.id, 'reporting'], queryFn: () => body(platform.GET('/v1/scans/config', { params: { query: { type: 'reporting', limit: 200 } as never } })) })
  const trackers = (found.data ?? []) as unknown as Config[]
  const chosen = config || trackers[0]?.id || ''
  const send = useAct(() => body(platform.POST('/v1/scans/vulns/{vuln_id}/ticket', {
    params: { path: { vuln_id: id }, query: how === 'file' ? { reporting_config_id: chosen } : {} },
    body: how === 'file' ? {} : { custom_reporting_id: issue.id.trim(), custom_reporting_url: issue.url.trim() || undefined },
  })), ['tickets', 'finding', 'findings', 'timeline'], (x) => { onClose(); toast(how === 'file' ? k.filed(x.ticket_id) : k.linked(x.ticket_id), () => onBack({ tracker: x.tracker_name, id: x.ticket_id, url: x.ticket_url })) }, { shown: true })
  const none = how === 'file' && found.data && trackers.length === 0
  return (
    <Dialog title={k.fileTitle} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); send.mutate() }}>
        <fieldset className="mb-4 flex flex-wrap gap-x-4 text-sm"><legend className="sr-only">{k.fileTitle}</legend>
          {(['file', 'link'] as const).map((x) => <label key={x} className="flex min-h-8 items-center gap-1.5"><input type="radio" name="how" autoFocus={x === 'file'} checked={how === x} onChange={() => { setHow(x); send.reset() }} />{k.how[x]}</label>)}
        </fieldset>
        {how === 'file' ? (found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={k.where} /> : none ? <Empty title={t.notify.noTrackers} action={<To to="/settings/trackers" className="btn">{t.settings.page.trackers}</To>}>{t.notify.noTrackersText}</Empty> : (
          <Field label={k.where} hint={k.whereHint}>{(p) => <select {...p} className="field" value={chosen} onChange={(e) => setConfig(e.target.value)}>{trackers.map((c) => <option key={c.id} value={c.id}>{`${plain(c.name.slice(0, 80))}${c.provider_name ? ` (${k.tracker[c.provider_name] ?? c.provider_name})` : ''}`}</option>)}</select>}</Field>
        )) : (
          <>
            <Field label={k.id} hint={k.idHint}>{(p) => <input {...p} className="field" required maxLength={200} value={issue.id} onChange={(e) => setIssue({ ...issue, id: e.target.value })} />}</Field>
            <Field label={k.url}>{(p) => <input {...p} type="url" className="field" maxLength={2000} value={issue.url} onChange={(e) => setIssue({ ...issue, url: e.target.value })} />}</Field>
          </>
        )}
        {send.error && <Problem error={send.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button>{!none && <Button kind="primary" type="submit" disabled={send.isPending || (how === 'file' && !chosen)}>{send.isPending ? k.sending : how === 'file' ? k.file : k.link}</Button>}</div>
      </form>
    </Dialog>
  )
}

const declined = ['accepted_risk', 'false_positive', 'duplicate'] as const

/** Says which side holds, where both have changed. */
function Settle({ of, id, onClose }: { of: Ticket; id: string; onClose: () => void }) {
  const [keep, setKeep] = useState<'ours' | 'theirs'>('ours')
  const [status, setStatus] = useState<(typeof declined)[number]>('accepted_risk')
  const asks = keep === 'theirs' && of.their_state === 'declined'
  const send = useAct(() => body(platform.POST('/v1/scans/vulns/{vuln_id}/ticket/resolve', { params: { path: { vuln_id: id } }, body: { reporting_config_id: of.reporting_config_id, tracker_name: of.tracker_name, keep, vuln_status: asks ? status : undefined } })), ['tickets', 'finding', 'findings', 'timeline'], () => { toast(k.settled); onClose() }, { shown: true })
  return (
    <Dialog title={k.settleTitle} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); send.mutate() }}>
        <fieldset className="mb-4 grid gap-1 text-sm"><legend className="mb-1 font-medium">{k.keep}</legend>
          {(['ours', 'theirs'] as const).map((x) => <label key={x} className="flex min-h-8 items-center gap-2"><input type="radio" name="keep" autoFocus={x === 'ours'} checked={keep === x} onChange={() => setKeep(x)} />{k.keepOf[x](t.status[of.vuln_status ?? 'open'] ?? '', of.their_status || k.state[of.their_state ?? ''] || '')}</label>)}
        </fieldset>
        {asks && <Field label={t.findings.col.status}>{(p) => <select {...p} className="field" value={status} onChange={(e) => setStatus(e.target.value as typeof status)}>{declined.map((x) => <option key={x} value={x}>{t.status[x]}</option>)}</select>}</Field>}
        {send.error && <Problem error={send.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={send.isPending}>{k.settle}</Button></div>
      </form>
    </Dialog>
  )
}
