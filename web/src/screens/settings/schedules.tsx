import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, platform, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { date } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Table, Time, To } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const s = t.schedules
type Schedule = Agent['Schedule']
const tone: Record<string, string> = { active: 'good', paused: 'wait', completed: 'calm' }

/** What is done again and again: tasks by schedules of their own, scans and enumerations by theirs. */
export function Schedules() {
  const role = useRole()
  const [adding, setAdding] = useState(false)
  const [open, setOpen] = useState<Schedule>()
  const [gone, setGone] = useState<Schedule>()
  const found = useQuery({ queryKey: ['schedules', team.id], refetchInterval: 15_000, queryFn: () => body(agent.GET('/api/v1/schedules', { params: { query: { limit: 100 } } })) })
  const scans = useQuery({ queryKey: ['scan-schedules', team.id], queryFn: () => body(platform.GET('/v1/scans/schedule')) })
  const enumerations = useQuery({ queryKey: ['enumeration-schedules', team.id], enabled: role.insider, retry: false, queryFn: () => body(platform.GET('/v1/enumeration/schedule')) })
  const path = (x: Schedule) => ({ params: { path: { schedule_id: x.id } } })
  const toggle = useAct((x: Schedule) => body(x.status === 'paused' ? agent.POST('/api/v1/schedules/{schedule_id}/resume', path(x)) : agent.POST('/api/v1/schedules/{schedule_id}/pause', path(x))), ['schedules'], (_, x) => toast(x.status === 'paused' ? s.resumed(x.name) : s.paused(x.name)))
  const run = useAct((x: Schedule) => body(agent.POST('/api/v1/schedules/{schedule_id}/run', path(x))), ['schedules', 'tasks', 'executions'], () => toast(s.started))
  const remove = useAct(() => agent.DELETE('/api/v1/schedules/{schedule_id}', path(gone!)), ['schedules'], () => setGone(undefined), { shown: true })
  const others = [
    ...(scans.data?.schedules ?? []).map((x) => ({ id: x.scan_id, to: `/scans/${x.scan_id}`, name: t.scans.one, x })),
    ...(enumerations.data?.schedules ?? []).map((x) => ({ id: x.enumeration_id, to: `/enumerations/${x.enumeration_id}`, name: t.enumerations.one, x })),
  ]
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <Card title={s.tasks} flush actions={role.writes && <Button kind="primary" onClick={() => setAdding(true)}>{s.new}</Button>}>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.schedules!} /> : found.data.schedules.length === 0 ? <Empty title={s.none}>{s.noneText}</Empty> : (
          <ul className="divide-y divide-line">
            {found.data.schedules.map((x) => (
              <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
                <div className="min-w-0 flex-1 basis-72">
                  <p className="flex flex-wrap items-center gap-2"><button type="button" className="text-left font-medium hover:text-accent" onClick={() => setOpen(x)}><Shown text={x.name || x.task_message} max={120} /></button><Chip tone={tone[x.status]}>{s.status[x.status]}</Chip></p>
                  {x.name && <p className="line-clamp-2 text-muted"><Shown text={x.task_message} max={240} /></p>}
                  <p className="text-xs text-muted"><Shown text={x.frequency_description} max={120} /> · {x.next_execution_at ? <>{s.next} <Time at={x.next_execution_at} /></> : s.noNext} · {s.times(x.execution_count)}</p>
                </div>
                {role.writes && <span className="flex flex-wrap gap-2">
                  <Button disabled={run.isPending} onClick={() => run.mutate(x)}>{s.run}</Button>
                  {x.status !== 'completed' && <Button disabled={toggle.isPending} onClick={() => toggle.mutate(x)}>{x.status === 'paused' ? s.resume : s.pause}</Button>}
                  <Button onClick={() => setGone(x)}>{t.delete}</Button>
                </span>}
              </li>
            ))}
          </ul>
        )}
      </Card>
      {others.length > 0 && (
        <Card title={s.others} flush>
          <Table label={s.others} head={[s.what, s.often, s.last, s.next]}>
            {others.map((o) => <tr key={o.id}><td><To to={o.to} className="link">{o.name} <code className="text-xs">{o.id}</code></To></td><td>{s.frequency[o.x.scan_frequency] ?? o.x.scan_frequency}</td><td className="text-muted"><Shown text={o.x.schedule_last_run || '–'} max={40} /></td><td className="text-muted"><Shown text={o.x.schedule_next_run || '–'} max={40} /></td></tr>)}
          </Table>
        </Card>
      )}
      {adding && <Add onClose={() => setAdding(false)} />}
      {open && <Executions of={open} onClose={() => setOpen(undefined)} />}
      {gone && <Confirm title={s.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{s.deleteText}</Confirm>}
    </div>
  )
}

const often = ['daily', 'weekly', 'monthly', 'custom', 'once'] as const

function Add({ onClose }: { onClose: () => void }) {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [how, setHow] = useState<(typeof often)[number]>('daily')
  const [days, setDays] = useState<number[]>([1])
  const [time, setTime] = useState('02:30')
  const [at, setAt] = useState('')
  const [changes, setChanges] = useState(false)
  const weekdays = how === 'weekly' ? days.slice(0, 1) : how === 'custom' ? days : undefined
  const create = useAct(() => body(agent.POST('/api/v1/schedules', {
    body: {
      name: name || undefined, task_message: text, time_zone: here, reporting_mode: changes ? 'changes_only' : 'full',
      ...(how === 'once' ? { schedule_type: 'one_time', run_at: at } : { schedule_type: 'recurring', scan_frequency: how, start_time: time, custom_weekdays: weekdays }),
    } as never,
  })), ['schedules'], () => { toast(s.made); onClose() }, { shown: true })
  const flip = (d: number) => setDays(how === 'weekly' ? [d] : days.includes(d) ? days.filter((x) => x !== d) : [...days, d].sort())
  return (
    <Dialog title={s.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <Field label={t.tasks.what} hint={t.tasks.whatHint}>{(p) => <textarea {...p} autoFocus className="field" rows={4} required maxLength={100_000} placeholder={t.tasks.example} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        <div className="grid gap-x-3 sm:grid-cols-3">
          <Field label={t.scans.name}>{(p) => <input {...p} className="field" maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
          <Field label={s.often}>{(p) => <select {...p} className="field" value={how} onChange={(e) => setHow(e.target.value as typeof how)}>{often.map((x) => <option key={x} value={x}>{s.frequency[x]}</option>)}</select>}</Field>
          {how === 'once' ? <Field label={s.at} hint={here}>{(p) => <input {...p} className="field" type="datetime-local" required value={at} onChange={(e) => setAt(e.target.value)} />}</Field>
            : <Field label={s.time} hint={here}>{(p) => <input {...p} className="field" type="time" required value={time} onChange={(e) => setTime(e.target.value)} />}</Field>}
        </div>
        {(how === 'weekly' || how === 'custom') && (
          <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{s.days}</legend>
            <div className="flex flex-wrap gap-x-4">{[1, 2, 3, 4, 5, 6, 0].map((d) => <label key={d} className="flex min-h-7 items-center gap-1.5 text-sm"><input type={how === 'weekly' ? 'radio' : 'checkbox'} name="day" checked={days.includes(d)} onChange={() => flip(d)} />{s.weekday[d]}</label>)}</div></fieldset>
        )}
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={changes} onChange={(e) => setChanges(e.target.checked)} />{s.changesOnly}</label>
        {create.error && <Problem error={create.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={create.isPending}>{s.create}</Button></div>
      </form>
    </Dialog>
  )
}

const outcome: Record<string, string> = { started: 'good', skipped: 'wait', missed: 'wait', failed: 'bad' }

function Executions({ of, onClose }: { of: Schedule; onClose: () => void }) {
  const found = useQuery({ queryKey: ['executions', team.id, of.id], queryFn: () => body(agent.GET('/api/v1/schedules/{schedule_id}/executions', { params: { path: { schedule_id: of.id }, query: { limit: 50 } as never } })) })
  return (
    <Dialog title={s.history} onClose={onClose} wide>
      <p className="mb-3 text-sm"><Shown text={of.task_message} max={2000} /></p>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={s.history} /> : found.data.executions.length === 0 ? <Empty title={s.noRuns} /> : (
        <Table label={s.history} head={[t.scans.when, t.scans.state, s.changed, '']}>
          {found.data.executions.map((e) => (
            <tr key={e.execution_id}><td className="whitespace-nowrap">{date(e.scheduled_at)}{e.manual && <span className="block text-xs text-muted">{s.manual}</span>}</td><td><Chip tone={outcome[e.status]}>{s.outcome[e.status]}</Chip>{e.note && <span className="block text-xs text-muted"><Shown text={e.note} max={200} /></span>}</td>
              <td className="text-muted">{e.changes ? s.changes(e.changes.new.length, e.changes.gone.length) : '–'}</td><td>{e.task_id && <To to={`/tasks/${e.task_id}`} className="link">{t.findings.openTask}</To>}</td></tr>
          ))}
        </Table>
      )}
    </Dialog>
  )
}
