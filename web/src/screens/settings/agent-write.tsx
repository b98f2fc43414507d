import { useId, useState } from 'react'
import { agent, body, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { Button, Dialog, Field, Problem } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.custom
const p = t.programs
type Doc = Agent['AgentDoc']
type Tool = { key: number; id: string; description: string; command: string; schema: string; script: string; path: string; alone: boolean; seconds: string }

const words = (s: string) => s.split(/[\s,]+/).filter(Boolean)
const most = 20 // commands of a kind, and tools

let made = 0
const emptySchema = '{\n  "type": "object",\n  "properties": {}\n}'
const tool = (x?: Agent['CustomToolDoc']): Tool => ({
  key: made++, id: x?.id ?? '', description: x?.description ?? '', command: x?.commandTemplate ?? '', schema: x ? JSON.stringify(x.inputSchema, null, 2) : emptySchema,
  script: x?.scriptContent ?? '', path: x?.scriptPath ?? '', alone: x?.isExecutable ?? false, seconds: String(x?.timeoutSeconds ?? 30),
})
const fault = (json: string) => { try { JSON.parse(json); return '' } catch (e) { return `JSON: ${(e as Error).message}` } }
const sent = (x: Tool): Agent['CustomTool'] => ({
  id: x.id, description: x.description, command_template: x.command, input_schema: JSON.parse(x.schema) as Record<string, never>,
  script_content: x.script, script_path: x.script ? x.path : '', is_executable: x.alone, timeout_seconds: Number(x.seconds) || 30,
})

/** What an agent is: its texts, and what is run of it. */
export function WriteAgent({ of, onClose }: { of?: Doc; onClose: () => void }) {
  const [f, set] = useState({
    name: of?.name ?? '', description: of?.description ?? '', when_to_use: of?.when_to_use ?? '', system_context: of?.system_context ?? '', native_tools: (of?.native_tools ?? []).join(' '), skills: (of?.skills ?? []).join(' '), tags: (of?.tags ?? []).join(' '),
    prereq_packages: (of?.prereq_packages ?? []).join(' '), require_env_vars: (of?.require_env_vars ?? []).join(' '), shared: of?.shared ?? false,
  })
  const [install, setInstall] = useState(of?.install_commands ?? [])
  const [verify, setVerify] = useState(of?.verify_commands ?? [])
  const [tools, setTools] = useState(() => (of?.custom_tools ?? []).map(tool))
  const wrong = tools.some((x) => fault(x.schema))
  const save = useAct(() => {
    const fields = {
      ...f, native_tools: words(f.native_tools), skills: words(f.skills), tags: words(f.tags), prereq_packages: words(f.prereq_packages), require_env_vars: words(f.require_env_vars),
      install_commands: install.filter((c) => c.trim()), verify_commands: verify.filter((c) => c.trim()), custom_tools: tools.map(sent),
    }
    return of ? body(agent.PATCH('/api/v1/agents/user/{agent_id}', { params: { path: { agent_id: of.id } }, body: fields })) : body(agent.POST('/api/v1/agents/user', { body: fields }))
  }, ['custom-agents', 'agent-versions'], () => { toast(o.saved(f.name)); onClose() }, { shown: true })
  const text = (k: 'name' | 'description' | 'when_to_use' | 'native_tools' | 'skills' | 'tags' | 'prereq_packages' | 'require_env_vars', max: number, required = false) =>
    <Field label={o.field[k]!} hint={o.hint[k]}>{(a) => <input {...a} className="field" required={required} maxLength={max} autoFocus={k === 'name' && !of} spellCheck={k === 'name' || k === 'description' || k === 'when_to_use'} value={f[k]} onChange={(e) => set({ ...f, [k]: e.target.value })} />}</Field>
  return (
    <Dialog title={of ? o.edit : o.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); if (!wrong) save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">{text('name', 128, true)}{text('description', 2000)}</div>
        {text('when_to_use', 2000)}
        <Field label={o.field.system_context!} hint={o.hint.system_context}>{(a) => <textarea {...a} className="field" rows={8} maxLength={20_000} value={f.system_context} onChange={(e) => set({ ...f, system_context: e.target.value })} />}</Field>
        <div className="grid gap-x-3 sm:grid-cols-3">{text('native_tools', 2000)}{text('skills', 2000)}{text('tags', 500)}</div>
        <fieldset className="mb-4 rounded-sm border border-line px-3 pt-1">
          <legend className="px-1 text-sm font-semibold">{p.title}</legend>
          <p className="mb-3 text-xs text-muted">{p.text}</p>
          {tools.map((x, i) => <OneTool key={x.key} of={x} n={i + 1} set={(y) => setTools(tools.map((z) => (z.key === x.key ? y : z)))} remove={() => setTools(tools.filter((z) => z.key !== x.key))} />)}
          {tools.length < most && <p className="mb-4"><Button onClick={() => setTools([...tools, tool()])}>{p.add}</Button></p>}
          <div className="grid gap-x-3 sm:grid-cols-2">{text('prereq_packages', 5000)}{text('require_env_vars', 5000)}</div>
          <Commands title={p.install} hint={p.installHint} one={p.installNo} add={p.addInstall} of={install} set={setInstall} />
          <Commands title={p.verify} hint={p.verifyHint} one={p.verifyNo} add={p.addVerify} of={verify} set={setVerify} />
        </fieldset>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={f.shared} onChange={(e) => set({ ...f, shared: e.target.checked })} />{o.share}</label>
        {f.shared && words(f.require_env_vars).length > 0 && <p className="mb-4 text-xs text-medium">{p.sharedSecrets}</p>}
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending || wrong}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

function OneTool({ of: x, n, set, remove }: { of: Tool; n: number; set: (x: Tool) => void; remove: () => void }) {
  const [script, setScript] = useState(x.script !== '')
  const wrong = fault(x.schema)
  return (
    <fieldset className="mb-4 rounded-sm border border-line px-3 pt-1">
      <legend className="px-1 text-sm font-medium">{p.toolNo(n)}</legend>
      <div className="grid gap-x-3 sm:grid-cols-[minmax(0,1fr)_7rem]">
        <Field label={p.id} hint={p.idHint}>{(a) => <input {...a} autoFocus={x.id === ''} className="field font-mono" required maxLength={64} spellCheck={false} value={x.id} onChange={(e) => set({ ...x, id: e.target.value })} />}</Field>
        <Field label={p.seconds}>{(a) => <input {...a} type="number" min={1} max={300} className="field" value={x.seconds} onChange={(e) => set({ ...x, seconds: e.target.value })} />}</Field>
      </div>
      <Field label={p.about} hint={p.aboutHint}>{(a) => <input {...a} className="field" required maxLength={2000} value={x.description} onChange={(e) => set({ ...x, description: e.target.value })} />}</Field>
      <Field label={p.command} hint={p.commandHint}>{(a) => <textarea {...a} className="field font-mono" rows={2} spellCheck={false} value={x.command} onChange={(e) => set({ ...x, command: e.target.value })} />}</Field>
      <Field label={p.schema} hint={p.schemaHint} error={wrong}>{(a) => <textarea {...a} className="field font-mono" rows={4} spellCheck={false} value={x.schema} onChange={(e) => set({ ...x, schema: e.target.value })} />}</Field>
      {script ? (
        <>
          <Field label={p.script} hint={p.scriptHint}>{(a) => <textarea {...a} className="field font-mono" rows={6} spellCheck={false} value={x.script} onChange={(e) => set({ ...x, script: e.target.value })} />}</Field>
          <Field label={p.path} hint={p.pathHint}>{(a) => <input {...a} className="field font-mono" maxLength={100} spellCheck={false} value={x.path} onChange={(e) => set({ ...x, path: e.target.value })} />}</Field>
          <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={x.alone} onChange={(e) => set({ ...x, alone: e.target.checked })} />{p.alone}</label>
        </>
      ) : null}
      <p className="mb-3 flex flex-wrap gap-2">
        {!script && <Button onClick={() => setScript(true)}>{p.addScript}</Button>}
        <Button aria-label={p.removeTool(n)} onClick={remove}>{p.remove}</Button>
      </p>
    </fieldset>
  )
}

/** Commands in their order, a field each: one may have several lines. */
function Commands({ title, hint, one, add, of, set }: { title: string; hint: string; one: (n: number) => string; add: string; of: string[]; set: (x: string[]) => void }) {
  const id = useId()
  return (
    <div className="mb-4" role="group" aria-labelledby={id} aria-describedby={`${id}-hint`}>
      <p id={id} className="text-sm font-medium">{title}</p>
      <p id={`${id}-hint`} className="mb-1 text-xs text-muted">{hint}</p>
      {of.map((c, i) => (
        <div key={i} className="mb-1.5 flex items-start gap-2">
          <textarea autoFocus={c === ''} className="field font-mono" rows={c.split('\n').length} spellCheck={false} aria-label={one(i + 1)} value={c} onChange={(e) => set(of.map((d, j) => (j === i ? e.target.value : d)))} />
          <Button aria-label={p.removeOf(one(i + 1))} onClick={() => set(of.filter((_, j) => j !== i))}>{p.remove}</Button>
        </div>
      ))}
      {of.length < most && <Button onClick={() => set([...of, ''])}>{add}</Button>}
    </div>
  )
}
