import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { useURL } from '../../lib/search'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Pages, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const n = t.notify
type Config = Platform['ScanConfiguration']
const size = 50

/** Whom the team tells, through which channels, and what was sent. */
export function Notifications() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Configs type="alerting" title={n.title} none={n.none} text={n.noneText} /><Alerts /></div>
}

/** The trackers in which findings become issues. */
export function Trackers() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Configs type="reporting" title={t.settings.page.trackers!} none={n.noTrackers} text={n.noTrackersText} /></div>
}

function Configs({ type, title, none, text }: { type: 'alerting' | 'reporting'; title: string; none: string; text: string }) {
  const role = useRole()
  const [open, setOpen] = useState<Config | 'new'>()
  const [gone, setGone] = useState<Config>()
  const found = useQuery({ queryKey: ['configs', team.id, type], queryFn: () => body(platform.GET('/v1/scans/config', { params: { query: { type, limit: 200 } as never } })) })
  const remove = useAct(() => platform.DELETE('/v1/scans/config/{config_id}', { params: { path: { config_id: gone!.id } } }), ['configs'], () => setGone(undefined), { shown: true })
  const rows = (found.data ?? []) as unknown as Config[]
  return (
    <Card title={title} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{n.add}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={title} /> : rows.length === 0 ? <Empty title={none}>{text}</Empty> : (
        <Table label={title} head={[t.scans.name, n.provider, n.use, n.changed, '']}>
          {rows.map((c) => (
            <tr key={c.id}><td><Shown text={c.name} max={100} className="font-medium" /></td><td><Shown text={c.provider_name || '–'} max={60} /></td><td>{c.global ? <Chip tone="good">{n.always}</Chip> : <Chip>{n.named}</Chip>}</td><td className="text-muted"><Time at={c.updated_at} /></td>
              <td><span className="flex justify-end gap-2">{role.writes && !c.read_only && <><Button onClick={() => setOpen(c)}>{n.edit}</Button><Button onClick={() => setGone(c)}>{t.delete}</Button></>}</span></td></tr>
          ))}
        </Table>
      )}
      {open && <Edit type={type} of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {gone && <Confirm title={n.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{n.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}

function Edit({ type, of, onClose }: { type: 'alerting' | 'reporting'; of?: Config; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? '')
  const [config, setConfig] = useState(of?.config ?? n.example[type])
  const [global, setGlobal] = useState(of?.global ?? true)
  const save = useAct(() => (of
    ? body(platform.PATCH('/v1/scans/config/{config_id}', { params: { path: { config_id: of.id } }, body: { name, config, global } }))
    : body(platform.POST('/v1/scans/config', { body: { name, config, config_type: type, global } }))), ['configs'], () => { toast(n.saved(name)); onClose() }, { shown: true })
  const test = useAct(() => body(platform.POST('/v1/scans/config/verify', { body: { config, config_type: type } })), ['alerts'], undefined, { shown: true })
  return (
    <Dialog title={of ? n.editTitle(of.name) : n.addTitle} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={n.config} hint={n.configHint[type]}>{(p) => <textarea {...p} className="field font-mono" rows={12} required spellCheck={false} value={config} onChange={(e) => { setConfig(e.target.value); test.reset() }} />}</Field>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={global} onChange={(e) => setGlobal(e.target.checked)} />{n.global}</label>
        {(save.error ?? test.error) && <Problem error={save.error ?? test.error} />}
        {test.data && <p role="status" className={`mb-3 rounded-sm px-3 py-2 text-sm whitespace-pre-line ${test.data.is_verified ? 'bg-good-soft text-good' : 'bg-high-soft text-high'}`}><Shown text={test.data.response} max={2000} /></p>}
        <div className="flex flex-wrap justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button disabled={test.isPending} onClick={() => test.mutate()}>{test.isPending ? n.testing : n.test}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

const tone: Record<string, string> = { succeeded: 'good', failed: 'bad', pending: 'busy' }

function Alerts() {
  const [search, set] = useURL()
  const page = Math.max(0, Number(search.page ?? 1) - 1 || 0)
  const query = { status: search.status, limit: size, offset: page * size, time_range: 'all_time' }
  const found = useQuery({ queryKey: ['alerts', team.id, query], queryFn: () => body(platform.GET('/v1/team/alert_log', { params: { query: query as never } })) })
  const rows = found.data?.data.events ?? []
  return (
    <Card title={n.log} flush actions={
      <select className="field !w-auto" aria-label={t.scans.state} value={search.status ?? ''} onChange={(e) => set({ status: e.target.value || undefined, page: undefined })}>
        <option value="">{t.scans.anyState}</option>{(['succeeded', 'failed', 'pending'] as const).map((s) => <option key={s} value={s}>{n.state[s]}</option>)}
      </select>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={n.log} /> : rows.length === 0 ? <Empty title={n.noLog}>{n.noLogText}</Empty> : (
        <Table label={n.log} head={[t.scans.when, n.event, n.about, n.channel, t.scans.state]}>
          {rows.map((e) => (
            <tr key={e.id}><td className="text-muted"><Time at={e.created_at} /></td><td className="font-medium">{n.events[e.event_type] ?? e.event_type}</td><td><Shown text={e.subject_name} max={100} /></td><td className="text-muted"><Shown text={`${e.alert_config_name} · ${e.channel}`} max={100} /></td>
              <td><Chip tone={tone[e.status]}>{n.state[e.status]}</Chip>{e.error_message && <span className="block text-xs text-high"><Shown text={e.error_message} max={300} /></span>}</td></tr>
          ))}
        </Table>
      )}
      {(found.data?.total ?? 0) > size && <Pages page={page} total={found.data!.total} size={size} go={(p) => set({ page: p > 0 ? String(p + 1) : undefined })} />}
    </Card>
  )
}
