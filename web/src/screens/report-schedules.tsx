import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { severities, type Status } from '../lib/findings'
import { date } from '../lib/format'
import { useRole } from '../lib/me'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Severity, Table, Time, To } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const r = t.reports
const s = t.reportSchedules
type Schedule = Platform['ReportSchedule']
type Config = Platform['ScanConfiguration']
const kinds = ['pdf', 'docx', 'html', 'csv', 'json', 'sarif', 'cyclonedx', 'csaf', 'openvex', 'defectdojo', 'ocsf'] as const
const times = ['all_time', 'last_week', 'last_month', 'last_3_months'] as const
const undecided: Status[] = ['open', 'triaged', 'fix_in_progress']
const tone: Record<string, string> = { queued: 'calm', running: 'busy', finished: 'good', failed: 'bad' }
const path = (x: Schedule) => ({ params: { path: { report_schedule_id: x.id } } })

/** Reports that are made again and again, and what became of the last one of each. */
export function Scheduled() {
  const role = useRole()
  const [open, setOpen] = useState<Schedule | 'new'>()
  const [gone, setGone] = useState<Schedule>()
  const found = useQuery({ queryKey: ['report-schedules', team.id], refetchInterval: 30_000, queryFn: () => body(platform.GET('/v1/export/schedule')) })
  const run = useAct((x: Schedule) => body(platform.POST('/v1/export/schedule/{report_schedule_id}/run', path(x))), ['report-schedules', 'exports'], (_, x) => toast(s.made(x.name)))
  const turn = useAct((x: Schedule) => body(platform.PUT('/v1/export/schedule/{report_schedule_id}', { ...path(x), body: { ...requestOf(x), is_active: !x.is_active } })), ['report-schedules'])
  const remove = useAct(() => platform.DELETE('/v1/export/schedule/{report_schedule_id}', path(gone!)), ['report-schedules'], () => setGone(undefined), { shown: true })
  return (
    <Card title={s.title} flush actions={role.writes && <Button onClick={() => setOpen('new')}>{s.new}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={s.title} /> : found.data.data.length === 0 ? <Empty title={s.none}>{s.noneText}</Empty> : (
        <Table label={s.title} head={[r.name, s.when, s.last, s.next, '']}>
          {found.data.data.map((x) => (
            <tr key={x.id}>
              <td className="min-w-40"><Shown text={x.name} max={100} className="font-medium" /> <Chip>{(x.type ?? 'pdf').toUpperCase()}</Chip></td>
              <td className="text-muted">{when(x)}</td>
              <td className="text-muted">{x.last_run ? <><Time at={x.last_run} /> {x.last_export_status && <Chip tone={tone[x.last_export_status]}>{r.state[x.last_export_status]}</Chip>}</> : '–'}{x.last_error && <span className="block text-xs text-high"><Shown text={x.last_error} max={300} /></span>}</td>
              <td className="text-muted">{x.next_run ? date(x.next_run) : <Chip tone="wait">{s.off}</Chip>}</td>
              <td>{role.writes && <span className="flex flex-wrap justify-end gap-2"><Button disabled={run.isPending} onClick={() => run.mutate(x)}>{s.run}</Button><Button disabled={turn.isPending} onClick={() => turn.mutate(x)}>{x.is_active ? s.turnOff : s.turnOn}</Button><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></span>}</td>
            </tr>
          ))}
        </Table>
      )}
      {open && <Edit of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {gone && <Confirm title={s.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{s.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}

function when(x: Schedule): string {
  const at = `${x.start_time} ${x.time_zone || 'UTC'}`
  return x.frequency === 'weekly' ? s.weekly(s.days[x.weekday ?? 0]!, at) : s.monthly(x.day ?? 1, at)
}

/** What a request sets anew: all that a schedule says, and nothing that the server tells of it. */
function requestOf({ id: _i, owner: _o, runs: _r, last_run: _l, last_export_id: _e, last_export_status: _s, last_error: _x, next_run: _n, created_at: _c, updated_at: _u, ...rest }: Schedule): Platform['ReportScheduleRequest'] {
  return rest as Platform['ReportScheduleRequest']
}

function Edit({ of, onClose }: { of?: Schedule; onClose: () => void }) {
  const [f, setF] = useState<Platform['ReportScheduleRequest']>(of ? requestOf(of) : {
    name: '', type: 'pdf', frequency: 'weekly', weekday: 1, day: 1, start_time: '08:00', time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, keep_days: 90, is_active: true,
    severity: ['critical', 'high', 'medium', 'low'], vuln_status: undecided.join(','), time: 'all_time', alert_config_ids: [],
  })
  const set = (change: Partial<typeof f>) => setF({ ...f, ...change })
  const configs = useQuery({ queryKey: ['configs', team.id, 'alerting'], queryFn: () => body(platform.GET('/v1/scans/config', { params: { query: { type: 'alerting', limit: 200 } as never } })) })
  const channels = (configs.data ?? []) as unknown as Config[]
  const isReport = f.type === 'pdf' || f.type === 'docx' || f.type === 'html'
  const severity = new Set<string>(f.severity ?? severities)
  const told = new Set(f.alert_config_ids ?? [])
  const toggle = (all: Set<string>, x: string) => { const next = new Set(all); if (!next.delete(x)) next.add(x); return [...next] }
  const save = useAct(() => (of
    ? body(platform.PUT('/v1/export/schedule/{report_schedule_id}', { ...path(of), body: f }))
    : body(platform.POST('/v1/export/schedule', { body: f }))), ['report-schedules'], (x) => { toast(s.saved(x.name, x.next_run ? date(x.next_run) : '')); onClose() }, { shown: true })
  // Filters that this form does not have stay as they are.
  const further = (['host', 'domain', 'port', 'template', 'category', 'scan_ids', 'ids'] as const).filter((k) => (f[k]?.length ?? 0) > 0)
  return (
    <Dialog title={of ? s.editTitle(of.name) : s.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-[minmax(0,1fr)_9rem_9rem]">
          <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={100} value={f.name} onChange={(e) => set({ name: e.target.value })} />}</Field>
          <Field label={r.kind}>{(p) => <select {...p} className="field" value={f.type} onChange={(e) => set({ type: e.target.value as typeof f.type })}>{kinds.map((k) => <option key={k} value={k}>{k.toUpperCase()}</option>)}</select>}</Field>
          {isReport && <Field label={r.audience}>{(p) => <select {...p} className="field" value={f.report?.audience ?? 'technical'} onChange={(e) => set({ report: { ...f.report, audience: e.target.value as 'technical' | 'executive' } })}>{(['technical', 'executive'] as const).map((k) => <option key={k} value={k}>{r.audiences[k]}</option>)}</select>}</Field>}
        </div>
        <div className="grid gap-x-3 sm:grid-cols-4">
          <Field label={s.often}>{(p) => <select {...p} className="field" value={f.frequency} onChange={(e) => set({ frequency: e.target.value as typeof f.frequency })}><option value="weekly">{s.frequency.weekly}</option><option value="monthly">{s.frequency.monthly}</option></select>}</Field>
          {f.frequency === 'weekly'
            ? <Field label={s.day}>{(p) => <select {...p} className="field" value={f.weekday ?? 0} onChange={(e) => set({ weekday: Number(e.target.value) })}>{[1, 2, 3, 4, 5, 6, 0].map((d) => <option key={d} value={d}>{s.days[d]}</option>)}</select>}</Field>
            : <Field label={s.dayOfMonth} hint={s.dayHint}>{(p) => <input {...p} type="number" className="field" required min={1} max={28} value={f.day ?? 1} onChange={(e) => set({ day: Number(e.target.value) })} />}</Field>}
          <Field label={s.at}>{(p) => <input {...p} type="time" className="field" required value={f.start_time} onChange={(e) => set({ start_time: e.target.value })} />}</Field>
          <Field label={s.zone}>{(p) => <input {...p} className="field" list="zones" spellCheck={false} maxLength={100} value={f.time_zone ?? ''} placeholder="UTC" onChange={(e) => set({ time_zone: e.target.value })} />}</Field>
          <datalist id="zones">{Intl.supportedValuesOf('timeZone').map((z) => <option key={z} value={z} />)}</datalist>
        </div>
        <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{t.findings.col.severity}</legend>
          <div className="flex flex-wrap gap-x-4">{severities.map((x) => <label key={x} className="flex min-h-8 items-center gap-1.5 text-sm"><input type="checkbox" checked={severity.has(x)} onChange={() => set({ severity: toggle(severity, x) as typeof f.severity })} /><Severity of={x} /></label>)}</div>
        </fieldset>
        <div className="grid gap-x-3 sm:grid-cols-3">
          <Field label={r.which}>{(p) => <select {...p} className="field" value={f.vuln_status ? (f.vuln_status === undecided.join(',') ? 'open' : 'as') : 'all'} onChange={(e) => set({ vuln_status: e.target.value === 'open' ? undecided.join(',') : e.target.value === 'all' ? undefined : f.vuln_status })}><option value="open">{r.whichOf.open}</option><option value="all">{r.whichOf.all}</option>{f.vuln_status && f.vuln_status !== undecided.join(',') && <option value="as">{f.vuln_status.split(',').map((x) => t.status[x] ?? x).join(', ')}</option>}</select>}</Field>
          <Field label={t.findings.found}>{(p) => <select {...p} className="field" value={f.time ?? 'all_time'} onChange={(e) => set({ time: e.target.value as typeof f.time })}>{[...new Set([...times, f.time ?? 'all_time'])].map((x) => <option key={x} value={x}>{s.times[x] ?? x}</option>)}</select>}</Field>
          <Field label={s.search} hint={s.searchHint}>{(p) => <input {...p} className="field" maxLength={200} value={f.search ?? ''} onChange={(e) => set({ search: e.target.value || undefined })} />}</Field>
        </div>
        {further.length > 0 && <p className="mb-4 text-xs text-muted">{s.further} {further.map((k) => <span key={k} className="mr-2">{k}: <Shown text={(f[k] ?? []).join(', ')} max={120} /></span>)}</p>}
        <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{s.tell}</legend><p className="mb-1 text-xs text-muted">{s.tellHint}</p>
          {configs.error ? <Problem error={configs.error} /> : !configs.data ? <Loading what={t.notify.title} /> : channels.length === 0 ? <p className="text-sm">{s.noChannels} <To to="/settings/notifications" className="link">{t.settings.page.notifications}</To></p> : channels.map((c) => (
            <label key={c.id} className="flex min-h-8 items-center gap-2 text-sm"><input type="checkbox" checked={told.has(c.id)} onChange={() => set({ alert_config_ids: toggle(told, c.id) })} /><Shown text={c.name} max={80} /> <span className="text-muted"><Shown text={c.provider_name ?? ''} max={40} /></span></label>
          ))}
        </fieldset>
        <div className="w-44"><Field label={s.keep} hint={s.keepHint}>{(p) => <input {...p} type="number" className="field" required min={1} max={400} value={f.keep_days ?? 90} onChange={(e) => set({ keep_days: Number(e.target.value) })} />}</Field></div>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending || severity.size === 0}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}
