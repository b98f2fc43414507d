import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Button, Card, Field, Loading, Problem, Severity } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.due
const severities = ['critical', 'high', 'medium', 'low', 'info', 'unknown'] as const
type Policy = Platform['SLAPolicy']

/** By when findings are to be fixed. */
export function Due() {
  const found = useQuery({ queryKey: ['sla', team.id], queryFn: () => body(platform.GET('/v1/team/sla')) })
  return found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.title} /> : <Form key={JSON.stringify(found.data)} of={found.data} />
}

function Form({ of }: { of: Policy }) {
  const role = useRole()
  const numbers = (d: unknown) => Object.fromEntries(severities.map((s) => [s, String((d as Record<string, number> | undefined)?.[s] || '')]))
  const [days, setDays] = useState(numbers(of.days))
  const [from, setFrom] = useState(of.count_from ?? 'first_seen')
  const [warn, setWarn] = useState(String(of.warn_days ?? ''))
  const [labels, setLabels] = useState((of.labels ?? []).map((l) => ({ label: l.label, days: numbers(l.days) })))
  const read = (d: Record<string, string>) => Object.fromEntries(Object.entries(d).filter(([, v]) => Number(v) > 0).map(([k, v]) => [k, Number(v)]))
  const save = useAct(() => body(platform.PUT('/v1/team/sla', { body: { days: read(days), count_from: from, warn_days: Number(warn) || 0, labels: labels.filter((l) => l.label.trim()).map((l) => ({ label: l.label.trim(), days: read(l.days) })) } as never })), ['sla', 'findings'], () => toast(o.saved), { shown: true })
  const drop = useAct(() => platform.DELETE('/v1/team/sla'), ['sla', 'findings'], () => toast(o.dropped))
  const row = (d: Record<string, string>, put: (d: Record<string, string>) => void, of: string) => (
    <div className="mb-3 grid grid-cols-2 gap-3 sm:grid-cols-3 xl:grid-cols-6">
      {severities.map((s) => <label key={s} className="text-sm"><Severity of={s} /><input className="field mt-1" type="number" min={0} max={3650} disabled={!role.admin} aria-label={o.daysOf(t.severity[s]!, of)} placeholder={o.never} value={d[s]} onChange={(e) => put({ ...d, [s]: e.target.value })} /></label>)}
    </div>
  )
  return (
    <form className="grid max-w-4xl gap-4" onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
      <Card title={o.title}>
        <p className="mb-3 text-sm text-muted">{o.text}</p>
        {row(days, setDays, '')}
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Field label={o.from}>{(p) => <select {...p} className="field" disabled={!role.admin} value={from} onChange={(e) => setFrom(e.target.value as typeof from)}>{(['first_seen', 'reopened'] as const).map((k) => <option key={k} value={k}>{o.froms[k]}</option>)}</select>}</Field>
          <Field label={o.warn} hint={o.warnHint}>{(p) => <input {...p} className="field" type="number" min={0} max={365} disabled={!role.admin} value={warn} onChange={(e) => setWarn(e.target.value)} />}</Field>
        </div>
      </Card>
      <Card title={o.labels} actions={role.admin && <Button onClick={() => setLabels([...labels, { label: '', days: numbers({}) }])}>{o.addLabel}</Button>}>
        <p className="mb-3 text-sm text-muted">{o.labelsText}</p>
        {labels.map((l, i) => (
          <fieldset key={i} className="mb-3 border-t border-line pt-3">
            <legend className="sr-only">{l.label || o.label}</legend>
            <div className="mb-2 flex items-end gap-2"><label className="text-sm">{o.label}<input className="field" maxLength={100} disabled={!role.admin} value={l.label} onChange={(e) => setLabels(labels.map((x, k) => (k === i ? { ...x, label: e.target.value } : x)))} /></label>{role.admin && <Button onClick={() => setLabels(labels.filter((_, k) => k !== i))}>{t.delete}</Button>}</div>
            {row(l.days, (d) => setLabels(labels.map((x, k) => (k === i ? { ...x, days: d } : x))), l.label)}
          </fieldset>
        ))}
      </Card>
      {save.error && <Problem error={save.error} />}
      {role.admin ? <div className="flex justify-end gap-2"><Button disabled={drop.isPending || Object.keys(of.days ?? {}).length === 0} onClick={() => drop.mutate()}>{o.drop}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div> : <p className="text-sm text-muted">{o.admins}</p>}
    </form>
  )
}
