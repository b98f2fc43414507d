import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { span } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Raw, Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Table } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { Servers } from './servers'
import { t } from '../../texts'

const o = t.tools

/** What people bring for tasks with a language model: programs, MCP servers, HTTP requests. */
export function Tools() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Programs /><Toolkits /><Servers /><Requests /></div>
}

type Program = Agent['Program']
const start = `export async function run({ host }) {\n  return { length: host.length }\n}\n`

function Programs() {
  const role = useRole()
  const [open, setOpen] = useState<Program | 'new'>()
  const [trying, setTrying] = useState<Program>()
  const [gone, setGone] = useState<Program>()
  const found = useQuery({ queryKey: ['programs', team.id], queryFn: () => body(agent.GET('/api/v1/dynamic-tools')) })
  const toggle = useAct((x: Program) => body(agent.PATCH('/api/v1/dynamic-tools/{dynamic_tool_id}', { params: { path: { dynamic_tool_id: x.id } }, body: { enabled: !x.enabled } })), ['programs'])
  const remove = useAct(() => agent.DELETE('/api/v1/dynamic-tools/{dynamic_tool_id}', { params: { path: { dynamic_tool_id: gone!.id } } }), ['programs'], () => setGone(undefined), { shown: true })
  return (
    <Card title={o.programs} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{o.newProgram}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.programs} /> : found.data.tools.length === 0 ? <Empty title={o.noPrograms}>{o.noProgramsText}</Empty> : (
        <Table label={o.programs} head={[t.scans.name, o.about, o.on, '']}>
          {found.data.tools.map((x) => (
            <tr key={x.id}><td><code className="font-medium"><Shown text={x.tool_id} max={80} /></code> {x.shared && <Chip>{t.projects.shared}</Chip>}</td><td className="text-muted"><Shown text={x.description} max={200} /></td>
              <td><input type="checkbox" className="size-4" aria-label={o.onOf(x.tool_id)} disabled={!role.writes || !x.is_owner} checked={x.enabled} onChange={() => toggle.mutate(x)} /></td>
              <td>{role.writes && x.is_owner && <span className="flex justify-end gap-2"><Button onClick={() => setTrying(x)}>{o.try}</Button><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></span>}</td></tr>
          ))}
        </Table>
      )}
      {open && <Write of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {trying && <Try of={trying} onClose={() => setTrying(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.tool_id)}</Confirm>}
    </Card>
  )
}

function Write({ of, onClose }: { of?: Program; onClose: () => void }) {
  const [id, setId] = useState(of?.tool_id ?? '')
  const [about, setAbout] = useState(of?.description ?? '')
  const [code, setCode] = useState(of?.code ?? start)
  const [schema, setSchema] = useState(of ? JSON.stringify(of.input_schema, null, 2) : '{\n  "type": "object",\n  "properties": { "host": { "type": "string" } }\n}')
  const [kit, setKit] = useState(of?.toolkit_id ?? '')
  const kits = useQuery({ queryKey: ['toolkits', team.id], queryFn: () => body(agent.GET('/api/v1/dynamic-toolkits')) })
  const save = useAct(() => {
    const fields = { description: about, code, input_schema: JSON.parse(schema) as Record<string, never> }
    return of ? body(agent.PATCH('/api/v1/dynamic-tools/{dynamic_tool_id}', { params: { path: { dynamic_tool_id: of.id } }, body: fields }))
      : body(agent.POST('/api/v1/dynamic-tools', { body: { tool_id: id, toolkit_id: kit || undefined, ...fields } }))
  }, ['programs'], () => { toast(o.saved(id)); onClose() }, { shown: true })
  let wrong = ''
  try { JSON.parse(schema) } catch (e) { wrong = (e as Error).message }
  return (
    <Dialog title={of ? o.editProgram : o.newProgram} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); if (!wrong) save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Field label={t.scans.name} hint={o.nameHint}>{(p) => <input {...p} autoFocus={!of} className="field font-mono" required disabled={!!of} maxLength={60} spellCheck={false} value={id} onChange={(e) => setId(e.target.value)} />}</Field>
          {!of && <Field label={o.toolkit} hint={o.toolkitHint}>{(p) => <select {...p} className="field" value={kit} onChange={(e) => setKit(e.target.value)}><option value="">{o.noToolkit}</option>{(kits.data?.toolkits ?? []).map((k) => <option key={k.id} value={k.id}>{k.name}</option>)}</select>}</Field>}
        </div>
        <Field label={o.about} hint={o.aboutHint}>{(p) => <input {...p} className="field" required maxLength={1000} value={about} onChange={(e) => setAbout(e.target.value)} />}</Field>
        <Field label={o.schema} error={wrong && `JSON: ${wrong}`}>{(p) => <textarea {...p} className="field font-mono" rows={5} spellCheck={false} value={schema} onChange={(e) => setSchema(e.target.value)} />}</Field>
        <Field label={o.code}>{(p) => <textarea {...p} className="field font-mono" rows={12} required spellCheck={false} value={code} onChange={(e) => setCode(e.target.value)} />}</Field>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending || !!wrong}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

function Try({ of, onClose }: { of: Program; onClose: () => void }) {
  const [input, setInput] = useState('{}')
  const run = useAct(() => body(agent.POST('/api/v1/dynamic-tools/{dynamic_tool_id}/test', { params: { path: { dynamic_tool_id: of.id } }, body: { input: JSON.parse(input) as Record<string, never> } })), [], undefined, { shown: true })
  let wrong = ''
  try { JSON.parse(input) } catch (e) { wrong = (e as Error).message }
  return (
    <Dialog title={o.tryTitle(of.tool_id)} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); if (!wrong) run.mutate() }}>
        <Field label={o.input} error={wrong && `JSON: ${wrong}`}>{(p) => <textarea {...p} autoFocus className="field font-mono" rows={4} spellCheck={false} value={input} onChange={(e) => setInput(e.target.value)} />}</Field>
        {run.error && <Problem error={run.error} />}
        {run.data && (
          <div role="status" className="mb-4 grid gap-2 text-sm">
            <p><Chip tone={run.data.success ? 'good' : 'bad'}>{run.data.success ? o.ran : o.failed}</Chip> <span className="text-muted">{span(run.data.duration_ms)}</span></p>
            {run.data.error && <p className="text-high"><Shown text={run.data.error} max={1000} /></p>}
            {run.data.success && <Raw label={o.output} text={JSON.stringify(run.data.output, null, 2)} />}
            {run.data.logs && <Raw label={o.logs} text={run.data.logs} />}
          </div>
        )}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.close}</Button><Button kind="primary" type="submit" disabled={run.isPending || !!wrong}>{run.isPending ? o.running : o.try}</Button></div>
      </form>
    </Dialog>
  )
}

const kitTone: Record<string, string> = { installed: 'good', failed: 'bad', installing: 'busy', not_started: 'calm' }

function Toolkits() {
  const role = useRole()
  const [adding, setAdding] = useState(false)
  const [gone, setGone] = useState<Agent['Toolkit']>()
  const found = useQuery({
    queryKey: ['toolkits', team.id], queryFn: () => body(agent.GET('/api/v1/dynamic-toolkits')),
    refetchInterval: (q) => q.state.data?.toolkits.some((x) => x.installation_status === 'installing') ? 2000 : false,
  })
  const look = useAct((toolkit_id: string) => body(agent.POST('/api/v1/dynamic-toolkits/{toolkit_id}/install', { params: { path: { toolkit_id } } })), ['toolkits'])
  const remove = useAct(() => agent.DELETE('/api/v1/dynamic-toolkits/{toolkit_id}', { params: { path: { toolkit_id: gone!.id } } }), ['toolkits', 'programs'], () => setGone(undefined), { shown: true })
  return (
    <Card title={o.toolkits} flush actions={role.writes && <Button onClick={() => setAdding(true)}>{o.newToolkit}</Button>}>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.toolkits} /> : found.data.toolkits.length === 0 ? <Empty title={o.noToolkits}>{o.noToolkitsText}</Empty> : (
        <Table label={o.toolkits} head={[t.scans.name, o.language, t.scans.state, '']}>
          {found.data.toolkits.map((x) => (
            <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /><span className="block text-xs text-muted"><Shown text={x.description} max={160} /></span></td><td>{x.language}<span className="block font-mono text-xs text-muted"><Shown text={Object.entries(x.dependencies).map((d) => d.join(' ')).join(', ')} max={200} /></span></td>
              <td><Chip tone={kitTone[x.installation_status]}>{o.installation[x.installation_status]}</Chip>{x.installation_error && <span className="block text-xs text-high"><Shown text={x.installation_error} max={300} /></span>}</td>
              <td>{role.writes && !x.is_system_global && <span className="flex justify-end gap-2"><Button disabled={look.isPending} onClick={() => look.mutate(x.id)}>{Object.keys(x.dependencies).length > 0 ? o.install : o.look}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></span>}</td></tr>
          ))}
        </Table>
      )}
      {adding && <NewToolkit onClose={() => setAdding(false)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.kitDeleteText(gone.name)}</Confirm>}
    </Card>
  )
}

// Packages are lines of a name and a version, which may be missing.
function packagesOf(text: string): Record<string, string> {
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean)
  return Object.fromEntries(lines.map((line) => { const [, name = '', version = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? []; return [name, version || '*'] }))
}

function NewToolkit({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('')
  const [about, setAbout] = useState('')
  const [language, setLanguage] = useState<'javascript' | 'typescript' | 'python'>('javascript')
  const [packages, setPackages] = useState('')
  const create = useAct(() => body(agent.POST('/api/v1/dynamic-toolkits', { body: { toolkit_id: id, name: id, description: about, language, dependencies: packagesOf(packages) } })), ['toolkits'], () => onClose(), { shown: true })
  return (
    <Dialog title={o.newToolkit} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <Field label={t.scans.name} hint={o.nameHint}>{(p) => <input {...p} autoFocus className="field font-mono" required maxLength={60} value={id} onChange={(e) => setId(e.target.value)} />}</Field>
        <Field label={o.about}>{(p) => <input {...p} className="field" maxLength={1000} value={about} onChange={(e) => setAbout(e.target.value)} />}</Field>
        <Field label={o.language}>{(p) => <select {...p} className="field" value={language} onChange={(e) => setLanguage(e.target.value as typeof language)}>{['javascript', 'typescript', 'python'].map((l) => <option key={l} value={l}>{l}</option>)}</select>}</Field>
        <Field label={o.packages} hint={o.packagesHint}>{(p) => <textarea {...p} className="field font-mono" rows={3} value={packages} onChange={(e) => setPackages(e.target.value)} />}</Field>
        {create.error && <Problem error={create.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={create.isPending}>{o.newToolkit}</Button></div>
      </form>
    </Dialog>
  )
}

function Requests() {
  const role = useRole()
  const [gone, setGone] = useState<Agent['Tool']>()
  const found = useQuery({ queryKey: ['http-tools', team.id], queryFn: () => body(agent.GET('/api/v1/tools')) })
  const toggle = useAct((x: Agent['Tool']) => body(agent.PATCH('/api/v1/tools/{tool_id}', { params: { path: { tool_id: x.id } }, body: { enabled: !x.enabled } })), ['http-tools'])
  const remove = useAct(() => agent.DELETE('/api/v1/tools/{tool_id}', { params: { path: { tool_id: gone!.id } } }), ['http-tools'], () => setGone(undefined), { shown: true })
  return (
    <Card title={o.requests} flush>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.requests} /> : found.data.tools.length === 0 ? <Empty title={o.noRequests}>{o.noRequestsText}</Empty> : (
        <Table label={o.requests} head={[t.scans.name, o.url, o.about, o.on, '']}>
          {found.data.tools.map((x) => <tr key={x.id}><td><code className="font-medium"><Shown text={x.name} max={80} /></code></td><td><Shown text={`${x.method} ${x.url}`} max={160} /></td><td className="text-muted"><Shown text={x.description} max={160} /></td><td><input type="checkbox" className="size-4" aria-label={o.onOf(x.name)} disabled={!role.writes || !x.is_owner} checked={x.enabled} onChange={() => toggle.mutate(x)} /></td><td className="text-right">{role.writes && x.is_owner && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</td></tr>)}
        </Table>
      )}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </Card>
  )
}
