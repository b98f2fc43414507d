import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { count, date } from '../lib/format'
import { useRole } from '../lib/me'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Head, Loading, Problem, Table, Time, To, useTitle } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const o = t.policies
type Policy = Platform['AssetPolicy']
type Start = { id?: string; alerting_config_ids?: string[]; enumeration_ids?: string[]; name: string; policy_type: Policy['policy_type']; labels: string[]; policies: Platform['AssetFilters'] }
const types = ['set_label', 'remove_label', 'alert', 'delete'] as const
const words = (s: string) => [...new Set(s.split(',').map((x) => x.trim()).filter(Boolean))]
/** The filters that the form has no field for. */
const others = ({ search: _s, custom_filter: _c, labels: _l, not_seen_for_days: _d, ...f }: Platform['AssetFilters']) => f
const said = (f: Platform['AssetFilters']) => Object.entries(f).filter(([, v]) => v !== undefined && v !== '').map(([k, v]) => `${k} = ${Array.isArray(v) ? v.join(', ') : String(v)}`).join(' · ')

/** What is done by itself when an asset comes to match a filter. */
export function Policies() {
  useTitle(o.title)
  const role = useRole()
  const [search, set] = useURL()
  const [start, setStart] = useState<Start>()
  const [gone, setGone] = useState<Policy>()
  const [log, setLog] = useState<Policy>()
  const found = useQuery({ queryKey: ['policies', team.id], queryFn: () => body(platform.GET('/v1/asset/policy', { params: { query: { limit: 100 } as never } })) })
  const remove = useAct(() => platform.DELETE('/v1/asset/policy/{policy_id}', { params: { path: { policy_id: gone!.id } } }), ['policies'], () => setGone(undefined), { shown: true })
  return (
    <>
      <Head title={o.title} note={o.text} crumb={<To to="/assets" className="link">{t.nav.assets}</To>}>
        {role.writes && <Button kind="primary" onClick={() => set({ new: '1' })}>{o.new}</Button>}
      </Head>
      <Card flush className="mb-4">
        {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !found.data ? <Loading what={o.title} /> : found.data.policies.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
          <Table label={o.title} head={[t.scans.name, o.does, o.when, o.acted, '']}>
            {found.data.policies.map((x) => (
              <tr key={x.id}><td><Shown text={x.name} max={120} className="font-medium" /></td><td><Chip tone={x.policy_type === 'delete' ? 'bad' : 'calm'}>{o.type[x.policy_type]}</Chip> <Shown text={x.labels.join(', ')} max={120} /></td>
                <td className="text-muted"><Shown text={said(x.policies)} max={300} /></td><td className="text-muted"><Time at={x.last_executed_at} /></td>
                <td><span className="flex justify-end gap-2"><Button onClick={() => setLog(x)}>{o.log}</Button>{role.writes && <Button onClick={() => { setStart(x); set({ new: '1' }) }}>{t.notify.edit}</Button>}{role.writes && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</span></td></tr>
            ))}
          </Table>
        )}
      </Card>
      <Suggestions take={(x) => { setStart(x); set({ new: '1' }) }} />
      {search.new === '1' && role.writes && <Write start={start} onClose={() => { setStart(undefined); set({ new: undefined }, { replace: true }) }} />}
      {log && <Log of={log} onClose={() => setLog(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </>
  )
}

function Write({ start, onClose }: { start?: Start; onClose: () => void }) {
  const [f, setF] = useState({
    name: start?.name ?? '', type: start?.policy_type ?? 'set_label' as Policy['policy_type'], labels: (start?.labels ?? []).join(', '), search: start?.policies.search ?? '', where: start?.policies.custom_filter ?? '', has: start?.policies.labels ?? '',
    days: start?.policies.not_seen_for_days ? String(start.policies.not_seen_for_days) : '', now: false,
  })
  const [alerts, setAlerts] = useState<string[]>(start?.alerting_config_ids ?? [])
  const configs = useQuery({ queryKey: ['configs', team.id, 'alerting'], enabled: f.type === 'alert', queryFn: () => body(platform.GET('/v1/scans/config', { params: { query: { type: 'alerting', limit: 200 } as never } })) })
  const make = useAct(() => {
    const policy = {
      name: f.name, policy_type: f.type, labels: f.type.endsWith('label') ? words(f.labels) : undefined, alerting_config_ids: f.type === 'alert' ? alerts : undefined, apply_to_existing: f.now,
      policies: { ...start?.policies, search: f.search || undefined, custom_filter: f.where || undefined, labels: f.has || undefined, not_seen_for_days: Number(f.days) || undefined },
    }
    return start?.id ? body(platform.PATCH('/v1/asset/policy/{policy_id}', { params: { path: { policy_id: start.id }, query: { update_type: 'replace' } }, body: { ...policy, enumeration_ids: start.enumeration_ids } })) : body(platform.POST('/v1/asset/policy', { body: policy }))
  }, ['policies', 'assets'], () => { toast((start?.id ? o.changed : o.saved)(f.name)); onClose() }, { shown: true })
  const text = (k: 'search' | 'where' | 'has', mono = false) => <Field label={o.field[k]!} hint={o.hint[k]}>{(p) => <input {...p} className={`field ${mono ? 'font-mono' : ''}`} maxLength={1000} spellCheck={false} value={f[k]} onChange={(e) => setF({ ...f, [k]: e.target.value })} />}</Field>
  return (
    <Dialog title={start?.id ? o.edit : o.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); make.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={200} value={f.name} onChange={(e) => setF({ ...f, name: e.target.value })} />}</Field>
          <Field label={o.does}>{(p) => <select {...p} className="field" value={f.type} onChange={(e) => setF({ ...f, type: e.target.value as Policy['policy_type'] })}>{types.map((x) => <option key={x} value={x}>{o.type[x]}</option>)}</select>}</Field>
        </div>
        {f.type.endsWith('label') && <Field label={o.which} hint={t.group.labelsHint}>{(p) => <input {...p} className="field" required maxLength={2000} value={f.labels} onChange={(e) => setF({ ...f, labels: e.target.value })} />}</Field>}
        {f.type === 'alert' && (
          <fieldset className="mb-4 text-sm"><legend className="mb-1 font-medium">{o.tell}</legend>
            {configs.error ? <Problem error={configs.error} /> : configs.data?.length === 0 ? <p className="text-muted">{o.noAlerts} <To to="/settings/notifications" className="link">{t.settings.page.notifications}</To></p> : (configs.data ?? []).map((c) => (
              <label key={c.id} className="flex items-center gap-1.5"><input type="checkbox" checked={alerts.includes(c.id)} onChange={(e) => setAlerts(e.target.checked ? [...alerts, c.id] : alerts.filter((a) => a !== c.id))} /><Shown text={c.name} max={80} /></label>
            ))}
          </fieldset>
        )}
        <fieldset className="mb-4 rounded-sm border border-line px-3 pt-1"><legend className="px-1 text-sm font-semibold">{o.when}</legend>
          {start && !start.id && <p className="mb-3 text-xs text-muted">{o.from} <Shown text={said(start.policies)} max={300} /></p>}
          {start?.id && said(others(start.policies)) && <p className="mb-3 text-xs text-muted">{o.kept} <Shown text={said(others(start.policies))} max={300} /></p>}
          <div className="grid gap-x-3 sm:grid-cols-2">{text('search')}{text('has')}</div>
          {text('where', true)}
          <Field label={o.field.days!} hint={o.hint.days}>{(p) => <input {...p} type="number" min={1} max={3650} className="field !w-32" value={f.days} onChange={(e) => setF({ ...f, days: e.target.value })} />}</Field>
        </fieldset>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={f.now} onChange={(e) => setF({ ...f, now: e.target.checked })} />{o.now}</label>
        {f.type === 'delete' && <p className="mb-4 text-sm text-high">{o.deletes}</p>}
        {make.error && <Problem error={make.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={make.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

function Log({ of, onClose }: { of: Policy; onClose: () => void }) {
  const found = useQuery({ queryKey: ['policy-events', team.id, of.id], queryFn: () => body(platform.GET('/v1/asset/policy/{policy_id}/events', { params: { path: { policy_id: of.id }, query: { limit: 100 } as never } })) })
  return (
    <Dialog title={o.logOf(of.name)} onClose={onClose} wide>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.log} /> : found.data.data.events.length === 0 ? <Empty title={o.never} /> : (
        <Table label={o.log} head={[t.scans.when, t.scans.state, t.nav.assets, '']}>
          {found.data.data.events.map((e) => (
            <tr key={e.id}><td className="whitespace-nowrap">{date(e.created_at)}</td><td><Chip tone={e.status === 'succeeded' ? 'good' : e.status === 'failed' ? 'bad' : 'busy'}>{o.outcome[e.status]}</Chip></td>
              <td>{count(Number(e.message_payload.affected_count ?? 0))}</td><td className="text-high"><Shown text={e.error_message} max={300} /></td></tr>
          ))}
        </Table>
      )}
    </Dialog>
  )
}

function Suggestions({ take }: { take: (x: Start) => void }) {
  const role = useRole()
  const found = useQuery({ queryKey: ['policies', team.id, 'suggested'], retry: false, queryFn: () => body(platform.GET('/v1/asset/policy/suggestion', { params: { query: { limit: 10 } } })) })
  return (
    <Card title={o.suggested} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.suggested} /> : found.data.suggestions.length === 0 ? <Empty title={o.noneSuggested} /> : (
        <Table label={o.suggested} head={[o.pattern, t.nav.assets, '']}>
          {found.data.suggestions.map((s) => (
            <tr key={s.id}><td><Shown text={s.title} max={160} className="font-medium" /><span className="block text-xs text-muted"><Shown text={s.reason} max={300} /></span></td><td>{count(s.affected_count)}</td>
              <td>{role.writes && <span className="flex justify-end"><Button onClick={() => take(s.suggested_policy)}>{o.use}</Button></span>}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
