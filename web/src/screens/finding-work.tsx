import { useState } from 'react'
import { statuses, statusTone, useAssign, useAssignAll, useAssignees, useDecide, eventOf, useDecideAll, useJoin, useLabel, useLabelAll, type Decision, type Everything, type Result, type Status } from '../lib/findings'
import { count } from '../lib/format'
import { useMe, useRole } from '../lib/me'
import { Shown } from '../lib/show'
import { Button, Chip, Dialog, Field, Severity } from '../ui/kit'
import { t } from '../texts'

/** Which dialog about findings is open. */
export type Asking = '' | 'status' | 'assign' | 'label' | 'join'

/** What people decide about one or many findings, or all that a list shows: their status, who works on them, their labels. */
export function WorkDialogs({ asking, list, all, onClose, onDone }: { asking: Asking; list: Result[]; all?: Everything; onClose: () => void; onDone?: () => void }) {
  const decide = useDecide()
  const assign = useAssign()
  const label = useLabel()
  const decideAll = useDecideAll()
  const assignAll = useAssignAll()
  const labelAll = useLabelAll()
  const join = useJoin()
  const then = (work: Promise<boolean>) => { onClose(); void work.then((ok) => { if (ok) onDone?.() }) }
  if (asking === 'status') return <StatusDialog list={list} all={all} onClose={onClose} onDecide={(d) => then(all ? decideAll(all, d) : decide(list, d))} />
  if (asking === 'assign') return <AssignDialog list={list} all={all} onClose={onClose} onAssign={(who) => then(all ? assignAll(all, who) : assign(list, who))} />
  if (asking === 'label') return <LabelDialog list={list} all={all} onClose={onClose} onLabel={(labels, type) => then(all ? labelAll(all, labels, type) : label(list, labels, type))} />
  if (asking === 'join') return <JoinDialog list={list} onClose={onClose} onJoin={(first) => then(join(first, list.filter((r) => r !== first)))} />
  return null
}

/** Says what a decision about everything is about: how many, by which filter, and that there is a way back. */
export function About({ all }: { all?: Everything }) {
  if (!all) return null
  return <p className="mb-4 rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{t.findings.everything(count(all.n), all.about)} <Shown text={all.words} max={600} className="font-medium" />. {t.findings.everythingBack}</p>
}

const ends = ['30', '90', '180', '365', 'date', ''] as const

function StatusDialog({ list, all, onClose, onDecide }: { list: Result[]; all?: Everything; onClose: () => void; onDecide: (d: Decision) => void }) {
  const [status, setStatus] = useState<Status>(!all && list.length === 1 && (list[0]!.vuln_status ?? 'open') !== 'open' ? 'open' : 'false_positive')
  const [reason, setReason] = useState('')
  const [ending, setEnding] = useState<(typeof ends)[number]>('90')
  const [day, setDay] = useState('')
  const risk = status === 'accepted_risk'
  const needs = status === 'false_positive' || risk
  // A day ends where the person is.
  const until = !risk || ending === '' ? undefined : ending === 'date' ? (day ? new Date(`${day}T23:59:59`).toISOString() : undefined) : new Date(Date.now() + Number(ending) * 86_400_000).toISOString()
  const days = (n: number) => { const d = new Date(Date.now() + n * 86_400_000); return new Date(d.getTime() - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 10) }
  return (
    <Dialog title={t.findings.statusOf(all?.n ?? list.length)} onClose={onClose}>
      <About all={all} />
      <form onSubmit={(e) => { e.preventDefault(); onDecide({ status, reason: reason.trim(), until }) }}>
        <fieldset className="mb-4">
          <legend className="mb-1 text-sm font-medium">{t.findings.col.status}</legend>
          <div className="grid gap-1 sm:grid-cols-2">
            {statuses.map((s) => (
              <label key={s} className="flex min-h-8 items-center gap-2 rounded-sm px-2 hover:bg-hover"><input type="radio" name="status" autoFocus={s === status} checked={status === s} onChange={() => setStatus(s)} />{t.status[s]}</label>
            ))}
          </div>
        </fieldset>
        {risk && (
          <div className="grid gap-x-3 sm:grid-cols-2">
            <Field label={t.findings.ends} hint={t.findings.endsHint}>
              {(p) => <select {...p} className="field" value={ending} onChange={(e) => setEnding(e.target.value as typeof ending)}>{ends.map((d) => <option key={d} value={d}>{d === '' ? t.findings.endless : d === 'date' ? t.findings.onDay : t.settings.inDays(d)}</option>)}</select>}
            </Field>
            {ending === 'date' && <Field label={t.findings.endDay}>{(p) => <input {...p} type="date" className="field" required min={days(1)} max={days(3650)} value={day} onChange={(e) => setDay(e.target.value)} />}</Field>}
          </div>
        )}
        <Field label={t.findings.reason} hint={needs ? t.findings.reasonNeeded : t.findings.reasonHint}>
          {(p) => <textarea {...p} className="field" rows={2} maxLength={2000} required={needs} value={reason} onChange={(e) => setReason(e.target.value)} />}
        </Field>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit">{t.findings.setStatus}</Button></div>
      </form>
    </Dialog>
  )
}

function AssignDialog({ list, all, onClose, onAssign }: { list: Result[]; all?: Everything; onClose: () => void; onAssign: (who: string) => void }) {
  const me = useMe()
  const role = useRole()
  const people = useAssignees(role.insider)
  const mine = me.data?.email ?? ''
  const [who, setWho] = useState(list.length === 1 && list[0]!.assignee === mine ? '' : mine)
  const members = [...new Set([...(mine ? [mine] : []), ...people])]
  return (
    <Dialog title={t.findings.assignOf(all?.n ?? list.length)} onClose={onClose}>
      <About all={all} />
      <form onSubmit={(e) => { e.preventDefault(); onAssign(who) }}>
        <Field label={t.findings.assignee} hint={t.findings.assignHint}>
          {(p) => <select {...p} autoFocus className="field" value={who} onChange={(e) => setWho(e.target.value)}>
            <option value="">{t.findings.nobody}</option>
            {members.map((m) => <option key={m} value={m}>{m === mine ? t.findings.me(m) : m}</option>)}
          </select>}
        </Field>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit">{t.findings.assign}</Button></div>
      </form>
    </Dialog>
  )
}

function LabelDialog({ list, all, onClose, onLabel }: { list: Result[]; all?: Everything; onClose: () => void; onLabel: (labels: string[], type: 'append' | 'delete') => void }) {
  const [text, setText] = useState('')
  const there = [...new Set(list.flatMap((r) => r.labels))].slice(0, 60)
  const labels = [...new Set(text.split(',').map((l) => l.trim()).filter(Boolean))]
  return (
    <Dialog title={t.findings.labelOf(all?.n ?? list.length)} onClose={onClose}>
      <About all={all} />
      <form onSubmit={(e) => { e.preventDefault(); onLabel(labels, 'append') }}>
        <Field label={t.findings.labels} hint={t.findings.labelHint}>{(p) => <input {...p} autoFocus required className="field" maxLength={500} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        {there.length > 0 && (
          <div className="mb-4 text-sm"><p className="mb-1 font-medium">{t.findings.labelsNow}</p>
            <ul className="flex flex-wrap gap-1">{there.map((l) => <li key={l}><button type="button" className="min-h-6 rounded-sm bg-info-soft px-2 text-xs text-info hover:bg-hover" onClick={() => onLabel([l], 'delete')}><Shown text={l} max={60} /> <span aria-hidden="true">✕</span><span className="sr-only">{t.findings.labelDrop}</span></button></li>)}</ul></div>
        )}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={labels.length === 0}>{t.findings.label}</Button></div>
      </form>
    </Dialog>
  )
}

/** Which of some findings the others become part of: its status and labels hold for all. */
function JoinDialog({ list, onClose, onJoin }: { list: Result[]; onClose: () => void; onJoin: (first: Result) => void }) {
  const [first, setFirst] = useState(list[0])
  return (
    <Dialog title={t.findings.joinOf(list.length)} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); if (first) onJoin(first) }}>
        <p className="mb-4 text-sm text-muted">{t.findings.joinText}</p>
        <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{t.findings.joinInto}</legend>
          {list.map((r) => (
            <label key={r.vuln_id} className="flex items-start gap-2 rounded-sm px-2 py-1.5 text-sm hover:bg-hover">
              <input type="radio" name="first" className="mt-0.5" autoFocus={r === list[0]} checked={first === r} onChange={() => setFirst(r)} />
              <span className="min-w-0"><Severity of={eventOf(r)?.info.severity} short /> <Shown text={eventOf(r)?.info.name || r.template_id} max={120} className="font-medium" /> <Chip tone={statusTone[r.vuln_status ?? 'open']}>{t.status[r.vuln_status ?? 'open']}</Chip>
                <span className="block text-xs text-muted"><Shown text={eventOf(r)?.['matched-at'] || r.target} max={160} /></span></span>
            </label>
          ))}
        </fieldset>
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit">{t.findings.join}</Button></div>
      </form>
    </Dialog>
  )
}
