import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Raw, Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.custom
type Doc = Agent['AgentDoc']

const words = (s: string) => s.split(/[\s,]+/).filter(Boolean)

/** Agents that people describe, and the directory from which they are copied. */
export function Agents() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Own /><Directory /></div>
}

function Own() {
  const role = useRole()
  const [open, setOpen] = useState<Doc | 'new'>()
  const [old, setOld] = useState<Doc>()
  const [gone, setGone] = useState<Doc>()
  const found = useQuery({ queryKey: ['custom-agents', team.id], queryFn: () => body(agent.GET('/api/v1/agents/user')) })
  const publish = useAct(async (x: Doc) => { await (x.published_version > 0
    ? agent.DELETE('/api/v1/agents/user/{agent_id}/publish', { params: { path: { agent_id: x.id } } })
    : agent.POST('/api/v1/agents/user/{agent_id}/publish', { params: { path: { agent_id: x.id } } })) }, ['custom-agents', 'directory'])
  const remove = useAct(() => agent.DELETE('/api/v1/agents/user/{agent_id}', { params: { path: { agent_id: gone!.id } } }), ['custom-agents'], () => setGone(undefined), { shown: true })
  return (
    <Card title={o.own} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{o.new}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.own} /> : found.data.agents.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
        <Table label={o.own} head={[t.scans.name, o.when, o.version, o.uses, '']}>
          {found.data.agents.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /> {x.shared && <Chip>{t.projects.shared}</Chip>} {x.published_version > 0 && <Chip tone="good">{o.published}</Chip>}</td>
              <td className="text-muted"><Shown text={x.when_to_use || x.description} max={200} /></td><td>{x.config_version}</td><td>{count(x.use_count)}</td>
              <td><span className="flex flex-wrap justify-end gap-2"><Button onClick={() => setOld(x)}>{o.versions}</Button>
                {role.writes && x.is_owner && <><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button>{role.admin && <Button disabled={publish.isPending} onClick={() => publish.mutate(x)}>{x.published_version > 0 ? o.unpublish : o.publish}</Button>}<Button onClick={() => setGone(x)}>{t.delete}</Button></>}</span></td></tr>
          ))}
        </Table>
      )}
      {open && <Write of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {old && <Versions of={old} onClose={() => setOld(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}

function Write({ of, onClose }: { of?: Doc; onClose: () => void }) {
  const [f, set] = useState({ name: of?.name ?? '', description: of?.description ?? '', when_to_use: of?.when_to_use ?? '', system_context: of?.system_context ?? '', native_tools: (of?.native_tools ?? []).join(' '), skills: (of?.skills ?? []).join(' '), tags: (of?.tags ?? []).join(' '), shared: of?.shared ?? false })
  const save = useAct(() => {
    const fields = { ...f, native_tools: words(f.native_tools), skills: words(f.skills), tags: words(f.tags) }
    return of ? body(agent.PATCH('/api/v1/agents/user/{agent_id}', { params: { path: { agent_id: of.id } }, body: fields })) : body(agent.POST('/api/v1/agents/user', { body: fields }))
  }, ['custom-agents'], () => { toast(o.saved(f.name)); onClose() }, { shown: true })
  const text = (k: 'name' | 'description' | 'when_to_use' | 'native_tools' | 'skills' | 'tags', max: number, required = false) =>
    <Field label={o.field[k]!} hint={o.hint[k]}>{(p) => <input {...p} className="field" required={required} maxLength={max} autoFocus={k === 'name' && !of} value={f[k]} onChange={(e) => set({ ...f, [k]: e.target.value })} />}</Field>
  return (
    <Dialog title={of ? o.edit : o.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">{text('name', 100, true)}{text('description', 1000)}</div>
        {text('when_to_use', 1000)}
        <Field label={o.field.system_context!} hint={o.hint.system_context}>{(p) => <textarea {...p} className="field" rows={8} maxLength={50_000} value={f.system_context} onChange={(e) => set({ ...f, system_context: e.target.value })} />}</Field>
        <div className="grid gap-x-3 sm:grid-cols-3">{text('native_tools', 2000)}{text('skills', 2000)}{text('tags', 500)}</div>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={f.shared} onChange={(e) => set({ ...f, shared: e.target.checked })} />{o.share}</label>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

function Versions({ of, onClose }: { of: Doc; onClose: () => void }) {
  const found = useQuery({ queryKey: ['agent-versions', team.id, of.id], queryFn: () => body(agent.GET('/api/v1/agents/user/{agent_id}/versions', { params: { path: { agent_id: of.id } } })) })
  const back = useAct((config_version: number) => body(agent.POST('/api/v1/agents/user/{agent_id}/restore', { params: { path: { agent_id: of.id } }, body: { config_version } })), ['custom-agents', 'agent-versions'], () => { toast(o.restored); onClose() })
  const role = useRole()
  return (
    <Dialog title={o.versionsOf(of.name)} onClose={onClose} wide>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.versions} /> : (
        <ul className="grid gap-3 text-sm">{found.data.versions.map((v) => (
          <li key={v.config_version}>
            <p className="flex items-center gap-2"><span className="font-medium">{o.versionNo(v.config_version)}</span><Time at={v.created_at} className="text-muted" />
              {role.writes && of.is_owner && v.config_version !== of.config_version && <Button className="ml-auto" disabled={back.isPending} onClick={() => back.mutate(v.config_version)}>{o.restore}</Button>}</p>
            {v.system_context && <details className="mt-1"><summary className="text-accent">{o.field.system_context}</summary><Raw label={o.field.system_context!} text={v.system_context} /></details>}
          </li>
        ))}</ul>
      )}
    </Dialog>
  )
}

function Directory() {
  const role = useRole()
  const [q, setQ] = useState('')
  const found = useQuery({ queryKey: ['directory', team.id, q], placeholderData: keepPreviousData, queryFn: ({ signal }) => body(agent.GET('/api/v1/agents/directory', { params: { query: { search: q || undefined, limit: 50 } }, signal })) })
  const copy = useAct((x: Doc) => body(agent.POST('/api/v1/agents/directory/{listed_agent_id}/fork', { params: { path: { listed_agent_id: x.id } }, body: {} })), ['custom-agents', 'directory'], (x) => toast(o.copied(x.name)))
  return (
    <Card title={o.directory} flush actions={<input type="search" className="field !w-56" aria-label={o.search} placeholder={o.search} value={q} onChange={(e) => setQ(e.target.value)} />}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.directory} /> : found.data.agents.length === 0 ? <Empty title={o.noMatch} /> : (
        <Table label={o.directory} head={[t.scans.name, o.when, o.from, o.copies, '']}>
          {found.data.agents.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /></td><td className="text-muted"><Shown text={x.when_to_use || x.description} max={240} /></td><td>{o.kind[x.type]}</td><td>{count(x.fork_count)}</td>
              <td>{role.writes && <span className="flex justify-end"><Button disabled={copy.isPending} onClick={() => copy.mutate(x)}>{o.copy}</Button></span>}</td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
