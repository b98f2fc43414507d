import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { money } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Bar, Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const p = t.projects
type Project = Agent['Project']

/** Projects: tasks that belong together, what all of them are told, and what they may spend. */
export function Projects() {
  const role = useRole()
  const [open, setOpen] = useState<Project | 'new'>()
  const [gone, setGone] = useState<Project>()
  const found = useQuery({ queryKey: ['projects', team.id], queryFn: () => body(agent.GET('/api/v1/projects')) })
  const remove = useAct(() => agent.DELETE('/api/v1/projects/{project_id}', { params: { path: { project_id: gone!.id } } }), ['projects'], () => setGone(undefined), { shown: true })
  const rows = found.data?.projects ?? []
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <Card title={t.settings.page.projects} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{p.new}</Button>}>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.projects!} /> : rows.length === 0 ? <Empty title={p.none}>{p.noneText}</Empty> : (
          <ul className="divide-y divide-line">
            {rows.map((x) => (
              <li key={x.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
                <div className="min-w-0 flex-1 basis-72">
                  <p className="flex flex-wrap items-center gap-2"><Shown text={x.name} max={120} className="font-medium" />{x.shared_with_team && <Chip>{p.shared}</Chip>}{x.tags.slice(0, 8).map((tag) => <Chip key={tag}><Shown text={tag} max={30} /></Chip>)}</p>
                  <p className="text-xs text-muted">{p.holds(x.task_count, x.member_count)} · <Shown text={x.owner_email} max={80} /> · <Time at={x.updated_at} /></p>
                  {x.spending_cap_usd !== null && <div className="mt-1.5 max-w-xs"><p className="mb-1 text-xs text-muted">{p.spent(money(x.cap_used_usd), money(x.spending_cap_usd))}</p><Bar percent={x.cap_percent_used ?? 100} label={p.cap} /></div>}
                </div>
                {role.writes && (x.is_owner || role.admin) && <span className="flex gap-2"><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></span>}
              </li>
            ))}
          </ul>
        )}
      </Card>
      {open && <Edit of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {gone && <Confirm title={p.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{p.deleteText(gone.name)}</Confirm>}
    </div>
  )
}

function Edit({ of, onClose }: { of?: Project; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? '')
  const [told, setTold] = useState(of?.settings_md ?? '')
  const [shared, setShared] = useState(of?.shared_with_team ?? true)
  const [cap, setCap] = useState(of?.spending_cap_usd === null || of === undefined ? '' : String(of.spending_cap_usd))
  const save = useAct(async () => {
    const fields = { name, settings_md: told, shared_with_team: shared }
    const done = of ? await body(agent.PATCH('/api/v1/projects/{project_id}', { params: { path: { project_id: of.id } }, body: fields })) : await body(agent.POST('/api/v1/projects', { body: fields }))
    const path = { params: { path: { project_id: done.project.id } } }
    if (cap !== '' && Number(cap) !== of?.spending_cap_usd) await agent.PATCH('/api/v1/projects/{project_id}/cap', { ...path, body: { spending_cap_usd: Number(cap) } })
    if (cap === '' && of && of.spending_cap_usd !== null) await agent.DELETE('/api/v1/projects/{project_id}/cap', path)
  }, ['projects'], () => { toast(p.saved(name)); onClose() }, { shown: true })
  return (
    <Dialog title={of ? p.edit : p.new} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <Field label={t.scans.name}>{(q) => <input {...q} autoFocus className="field" required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={p.told} hint={p.toldHint}>{(q) => <textarea {...q} className="field" rows={5} maxLength={20_000} value={told} onChange={(e) => setTold(e.target.value)} />}</Field>
        <Field label={p.cap} hint={p.capHint}>{(q) => <input {...q} className="field" type="number" min={0} step={0.01} value={cap} onChange={(e) => setCap(e.target.value)} />}</Field>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={shared} onChange={(e) => setShared(e.target.checked)} />{p.share}</label>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}
