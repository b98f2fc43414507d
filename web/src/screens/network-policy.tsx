import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAct } from '../lib/act'
import { agent, body, team, type Agent } from '../lib/api'
import { date, size } from '../lib/format'
import { useRole } from '../lib/me'
import { Button, Dialog, Facts, Field, Loading, Problem } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const x = t.network
type P = Agent['NetworkPolicy']

/** What of the team's requests is kept, and how long: everybody sees it, admins change it. */
export function Policy({ onClose }: { onClose: () => void }) {
  const role = useRole()
  const found = useQuery({ queryKey: ['network-policy', team.id], queryFn: () => body(agent.GET('/api/v1/network/policy')) })
  const stats = useQuery({ queryKey: ['network-stats', team.id, 'all'], queryFn: () => body(agent.GET('/api/v1/network/stats')) })
  const p = found.data
  return (
    <Dialog title={x.policy} onClose={onClose}>
      <p className="mb-4 text-sm text-muted">{x.policyText} {stats.data && x.stored(size(stats.data.stored_bytes))}</p>
      {found.error ? <Problem error={found.error} /> : !p ? <Loading what={x.policy} /> : role.admin ? <Edit of={p} onClose={onClose} /> : (
        <>
          <Facts of={[[x.policyTasks, p.tasks ? x.yes : x.no], [x.policyScans, x.policyScan[p.scans]], [x.days, p.retention_days], [x.megabytes, p.max_megabytes], [t.models.changed, p.updated_at && date(p.updated_at)]]} />
          <p className="mt-3 text-xs text-muted">{x.policyAdmins}</p>
        </>
      )}
    </Dialog>
  )
}

function Edit({ of, onClose }: { of: P; onClose: () => void }) {
  const [tasks, setTasks] = useState(of.tasks)
  const [scans, setScans] = useState(of.scans)
  const [days, setDays] = useState(String(of.retention_days))
  const [most, setMost] = useState(String(of.max_megabytes))
  const store = useAct(() => body(agent.PATCH('/api/v1/network/policy', { body: { tasks, scans, retention_days: Number(days), max_megabytes: Number(most) } })), ['network-policy', 'network', 'network-stats'], () => { toast(x.policySaved); onClose() }, { shown: true })
  return (
    <form onSubmit={(e) => { e.preventDefault(); store.mutate() }}>
      <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" autoFocus checked={tasks} onChange={(e) => setTasks(e.target.checked)} />{x.policyTasks}</label>
      <Field label={x.policyScans}>{(p) => <select {...p} className="field" value={scans} onChange={(e) => setScans(e.target.value as P['scans'])}>{(['off', 'on_request', 'on'] as const).map((s) => <option key={s} value={s}>{x.policyScan[s]}</option>)}</select>}</Field>
      <div className="grid gap-x-3 sm:grid-cols-2">
        <Field label={x.days}>{(p) => <input {...p} className="field" type="number" required min={1} max={365} value={days} onChange={(e) => setDays(e.target.value)} />}</Field>
        <Field label={x.megabytes} hint={x.megabytesHint}>{(p) => <input {...p} className="field" type="number" required min={1} max={102400} value={most} onChange={(e) => setMost(e.target.value)} />}</Field>
      </div>
      {store.error && <Problem error={store.error} />}
      <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={store.isPending}>{t.save}</Button></div>
    </form>
  )
}
