import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useAct } from '../lib/act'
import { agent, body, team, type Agent } from '../lib/api'
import { draftOf, editsOf, isMasked, sendsMasks, wrongHeaders } from '../lib/resend'
import { visible } from '../lib/show'
import { Button, Dialog, Field, Problem } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const x = t.network

/** Asks before a request is sent again, lets it be changed, and waits for the answer. */
export function SendAgain({ e, onClose, onSent }: { e: Agent['NetworkEventDetail']; onClose: () => void; onSent: (resultId: string) => void }) {
  const [was] = useState(() => draftOf(e.request))
  const [now, setNow] = useState(was)
  const change = (part: Partial<typeof was>) => setNow((old) => ({ ...old, ...part }))
  const edits = editsOf(was, now)
  const bad = wrongHeaders(was, now)
  const binary = was.body.includes('\ufffd')
  const wrong = {
    method: /^[A-Z]{1,20}$/.test(now.method) || now.method === was.method ? '' : x.badMethod,
    path: now.path.startsWith('/') || now.path === was.path ? '' : x.badPath,
    headers: bad.line ? x.badLine(bad.line) : bad.twice ? x.twice(bad.twice) : '',
  }
  const send = useAct(() => body(agent.POST('/api/v1/network/events/{eventId}/replay', { params: { path: { eventId: e.id } }, body: edits })), [], undefined, { shown: true })
  const id = send.data?.id
  const replay = useQuery({
    queryKey: ['network-replay', team.id, id], enabled: !!id,
    queryFn: () => body(agent.GET('/api/v1/network/replays/{replay_id}', { params: { path: { replay_id: id! } } })),
    refetchInterval: (q) => (q.state.data && q.state.data.state !== 'queued' ? false : 400),
  })
  const result = replay.data?.state === 'sent' ? replay.data.result_event_id : undefined
  const arrived = useAct(async (to: string) => to, ['network', 'network-stats'], (to) => { toast(x.wasSent); onSent(to) })
  const { mutate } = arrived
  useEffect(() => { if (result) mutate(result) }, [result, mutate])
  const failed = replay.data?.state === 'failed'
  const busy = send.isPending || (!!id && !failed && !replay.error)
  const changes = Object.keys(edits).filter((k) => k !== 'headers').length + Object.keys(edits.headers ?? {}).length
  return (
    <Dialog title={x.againTitle} onClose={onClose} wide>
      <form onSubmit={(ev) => { ev.preventDefault(); if (!busy && !Object.values(wrong).some(Boolean)) send.mutate() }}>
        <p className="mb-4 text-sm">{x.againText(e.host.slice(0, 200))}</p>
        <div className="grid gap-x-3 sm:grid-cols-[7rem_minmax(0,1fr)]">
          <Field label={x.method} error={wrong.method}>{(p) => <input {...p} className="field font-mono" required maxLength={20} spellCheck={false} autoCapitalize="characters" value={now.method} onChange={(ev) => change({ method: ev.target.value })} />}</Field>
          <Field label={x.path} error={wrong.path}>{(p) => <input {...p} autoFocus className="field font-mono" required maxLength={8192} spellCheck={false} value={now.path} onChange={(ev) => change({ path: ev.target.value })} />}</Field>
        </div>
        <Field label={x.headers} hint={x.headersHint} error={wrong.headers}>{(p) => <textarea {...p} className="field font-mono" rows={Math.min(10, Math.max(3, now.headers.split('\n').length))} spellCheck={false} value={now.headers} onChange={(ev) => change({ headers: ev.target.value })} />}</Field>
        <Field label={x.body} hint={binary ? x.bodyBinary : undefined}>{(p) => <textarea {...p} className="field font-mono" rows={now.body ? Math.min(12, Math.max(3, now.body.split('\n').length)) : 2} maxLength={65536} readOnly={binary} spellCheck={false} value={now.body} onChange={(ev) => change({ body: ev.target.value })} />}</Field>
        {sendsMasks(edits) ? <p role="alert" className="mb-3 text-sm text-medium">{x.sendsMasks}</p> : isMasked(e.request) && <p className="mb-3 text-xs text-muted">{x.maskHint}</p>}
        {send.error && <Problem error={send.error} />}
        {replay.error && <Problem error={replay.error} />}
        {failed && <div role="alert" className="mb-3 rounded-sm border border-high bg-high-soft px-3 py-2 text-sm text-high"><p className="font-medium">{x.notSent}</p><p className="[overflow-wrap:anywhere]">{visible((replay.data?.note ?? '').slice(0, 1000))}</p></div>}
        <div className="flex flex-wrap items-center justify-end gap-2">
          <span className="flex-1 text-xs text-muted" role="status">{busy ? x.sending : x.changes(changes)}</span>
          <Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={busy || Object.values(wrong).some(Boolean)}>{x.send}</Button>
        </div>
      </form>
    </Dialog>
  )
}
