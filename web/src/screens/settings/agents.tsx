import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { AgentText, installTone, ReadAgent } from './agent-read'
import { WriteAgent } from './agent-write'

const o = t.custom
const p = t.programs
type Doc = Agent['AgentDoc']

/** Agents that people describe, and the directory from which they are copied. */
export function Agents() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Own /><Directory /></div>
}

function Own() {
  const role = useRole()
  const [open, setOpen] = useState<Doc | 'new'>()
  const [old, setOld] = useState<Doc>()
  const [gone, setGone] = useState<Doc>()
  const [read, setRead] = useState<string>()
  const found = useQuery({
    queryKey: ['custom-agents', team.id], queryFn: () => body(agent.GET('/api/v1/agents/user')),
    refetchInterval: (q) => (q.state.data?.agents.some((x) => x.installation_status === 'installing') ? 2000 : false),
  })
  const shown = found.data?.agents.find((x) => x.id === read)
  const publish = useAct(async (x: Doc) => { await (x.published_version > 0
    ? agent.DELETE('/api/v1/agents/user/{agent_id}/publish', { params: { path: { agent_id: x.id } } })
    : agent.POST('/api/v1/agents/user/{agent_id}/publish', { params: { path: { agent_id: x.id } } })) }, ['custom-agents', 'directory'])
  const remove = useAct(() => agent.DELETE('/api/v1/agents/user/{agent_id}', { params: { path: { agent_id: gone!.id } } }), ['custom-agents'], () => setGone(undefined), { shown: true })
  return (
    <Card title={o.own} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{o.new}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.own} /> : found.data.agents.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
        <Table label={o.own} head={[t.scans.name, o.when, o.version, o.uses, '']}>
          {found.data.agents.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /> {x.shared && <Chip>{t.projects.shared}</Chip>} {x.published_version > 0 && <Chip tone="good">{o.published}</Chip>}
                {x.installation_status !== 'none' && <span className="block"><Chip tone={installTone[x.installation_status]}>{p.states[x.installation_status]}</Chip>{x.installation_error && <span className="block text-xs text-high"><Shown text={x.installation_error} max={200} /></span>}</span>}</td>
              <td className="text-muted"><Shown text={x.when_to_use || x.description} max={200} /></td><td>{x.config_version}</td><td>{count(x.use_count)}</td>
              <td><span className="flex flex-wrap justify-end gap-2"><Button onClick={() => setRead(x.id)}>{o.read}</Button><Button onClick={() => setOld(x)}>{o.versions}</Button>
                {role.writes && x.is_owner && <><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button>{role.admin && <Button disabled={publish.isPending} onClick={() => publish.mutate(x)}>{x.published_version > 0 ? o.unpublish : o.publish}</Button>}<Button onClick={() => setGone(x)}>{t.delete}</Button></>}</span></td></tr>
          ))}
        </Table>
      )}
      {shown && <ReadAgent of={shown} onClose={() => setRead(undefined)} />}
      {open && <WriteAgent of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {old && <Versions of={old} onClose={() => setOld(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </Card>
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
            <div className="mt-1"><AgentText of={v} /></div>
          </li>
        ))}</ul>
      )}
    </Dialog>
  )
}

function Directory() {
  const role = useRole()
  const [q, setQ] = useState('')
  const [read, setRead] = useState<Doc>()
  const found = useQuery({ queryKey: ['directory', team.id, q], placeholderData: keepPreviousData, queryFn: ({ signal }) => body(agent.GET('/api/v1/agents/directory', { params: { query: { search: q || undefined, limit: 50 } }, signal })) })
  const copy = useAct((x: Doc) => body(agent.POST('/api/v1/agents/directory/{listed_agent_id}/fork', { params: { path: { listed_agent_id: x.id } }, body: {} })), ['custom-agents', 'directory'], (x) => toast(o.copied(x.name)))
  return (
    <Card title={o.directory} flush actions={<input type="search" className="field !w-56" aria-label={o.search} placeholder={o.search} value={q} onChange={(e) => setQ(e.target.value)} />}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.directory} /> : found.data.agents.length === 0 ? <Empty title={o.noMatch} /> : (
        <Table label={o.directory} head={[t.scans.name, o.when, o.from, o.copies, '']}>
          {found.data.agents.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /></td><td className="text-muted"><Shown text={x.when_to_use || x.description} max={240} /></td><td>{o.kind[x.type]}</td><td>{count(x.fork_count)}</td>
              <td><span className="flex justify-end gap-2"><Button onClick={() => setRead(x)}>{o.read}</Button>{role.writes && <Button disabled={copy.isPending} onClick={() => copy.mutate(x)}>{o.copy}</Button>}</span></td></tr>
          ))}
        </Table>
      )}
      {read && <ReadAgent of={read} onClose={() => setRead(undefined)} />}
    </Card>
  )
}
