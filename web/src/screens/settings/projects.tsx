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
  const [people, setPeople] = useState<Project>()
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
                <span className="flex flex-wrap gap-2"><Button aria-label={p.peopleOf(x.name)} onClick={() => setPeople(x)}>{p.people}</Button>{role.writes && (x.is_owner || role.admin) && <><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></>}</span>
              </li>
            ))}
          </ul>
        )}
      </Card>
      {open && <Edit of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {people && <People of={people} onClose={() => setPeople(undefined)} />}
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

/** Who may use a project beside the team's admins, and the facts that all of its tasks know. */
function People({ of, onClose }: { of: Project; onClose: () => void }) {
  const role = useRole()
  const [email, setEmail] = useState('')
  const [as, setAs] = useState<'member' | 'admin'>('member')
  const path = { project_id: of.id }
  const members = useQuery({ queryKey: ['project-members', of.id], queryFn: () => body(agent.GET('/api/v1/projects/{project_id}/members', { params: { path } })) })
  const memory = useQuery({ queryKey: ['project-memory', of.id], queryFn: () => body(agent.GET('/api/v1/projects/{project_id}/memory', { params: { path } })) })
  const add = useAct(() => agent.POST('/api/v1/projects/{project_id}/members', { params: { path }, body: { email, role: as } }), ['project-members', 'projects'], () => setEmail(''), { shown: true })
  const remove = useAct((who: string) => agent.DELETE('/api/v1/projects/{project_id}/members', { params: { path, query: { email: who } } }), ['project-members', 'projects'])
  return (
    <Dialog title={p.peopleOf(of.name)} onClose={onClose}>
      <p className="mb-3 text-sm text-muted">{of.shared_with_team ? p.all : p.invited}</p>
      {members.error ? <Problem error={members.error} /> : !members.data ? <Loading what={p.people} /> : members.data.members.length === 0 ? <p className="text-sm text-muted">{p.nobody}</p> : (
        <ul className="divide-y divide-line border-y border-line">
          {members.data.members.map((m) => <li key={m.email} className="flex flex-wrap items-center gap-2 py-1.5 text-sm"><Shown text={m.email} max={100} className="min-w-0 flex-1" /><Chip>{m.is_owner ? p.owner : p.roles[m.role]}</Chip>{role.writes && !m.is_owner && <Button disabled={remove.isPending} aria-label={p.removeOf(m.email)} onClick={() => remove.mutate(m.email)}>{p.remove}</Button>}</li>)}
        </ul>
      )}
      {role.writes && (
        <form className="mt-4 grid gap-x-3 sm:grid-cols-[minmax(0,1fr)_8rem]" onSubmit={(e) => { e.preventDefault(); add.mutate() }}>
          <Field label={p.who}>{(q) => <input {...q} className="field" type="email" required maxLength={254} value={email} onChange={(e) => setEmail(e.target.value)} />}</Field>
          <Field label={p.role}>{(q) => <select {...q} className="field" value={as} onChange={(e) => setAs(e.target.value as typeof as)}>{(['member', 'admin'] as const).map((x) => <option key={x} value={x}>{p.roles[x]}</option>)}</select>}</Field>
          <div className="sm:col-span-2">{add.error && <Problem error={add.error} />}<Button type="submit" disabled={add.isPending}>{p.invite}</Button></div>
        </form>
      )}
      {memory.error ? <Problem error={memory.error} /> : memory.data && <Facts key={memory.data.facts.join()} id={of.id} of={memory.data.facts} writes={role.writes} />}
    </Dialog>
  )
}

function Facts({ id, of, writes }: { id: string; of: string[]; writes: boolean }) {
  const [text, setText] = useState(of.join('\n'))
  const save = useAct(() => agent.PUT('/api/v1/projects/{project_id}/memory', { params: { path: { project_id: id } }, body: { facts: text.split('\n').map((x) => x.trim()).filter(Boolean) } }), ['project-memory'], () => toast(p.factsSaved), { shown: true })
  return (
    <form className="mt-4 border-t border-line pt-4" onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
      <Field label={p.facts} hint={p.factsHint}>{(q) => <textarea {...q} className="field" rows={4} disabled={!writes} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
      {save.error && <Problem error={save.error} />}
      {writes && <Button type="submit" disabled={save.isPending}>{t.save}</Button>}
    </form>
  )
}
