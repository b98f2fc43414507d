import { useState } from 'react'
import { agent, body, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Dialog, Field, Problem, Table } from '../../ui/kit'
import { t } from '../../texts'

const o = t.tools
type Server = Agent['MCPServer']

const lines = (s: string) => s.split('\n').map((x) => x.trim()).filter(Boolean)

/** Connects an MCP server, or changes one that is connected. Whether it is at an address or a program stays. */
export function ServerForm({ of, onDone, onClose }: { of?: Server; onDone: (x: Server) => void; onClose: () => void }) {
  const role = useRole()
  const [how, setHow] = useState<'url' | 'command'>(of && !of.url ? 'command' : 'url')
  const [f, setF] = useState({ name: of?.name ?? '', url: of?.url ?? '', token: '', command: (of?.command ?? []).join('\n'), hosts: (of?.hosts ?? []).join('\n'), env: (of?.env_vars ?? []).join(', ') })
  const [files, setFiles] = useState(Object.entries(of?.files ?? {}).map(([name, text]) => ({ name, text })))
  const [heads, setHeads] = useState(Object.entries(of?.headers ?? {}).map(([name, value]) => ({ name, value })))
  const [is, setIs] = useState({ read_only: of?.read_only ?? true, enabled: of?.enabled ?? true, shared: of?.shared ?? false })
  const [noToken, setNoToken] = useState(false)
  const tools = (of?.tools ?? []).filter((x) => x.state !== 'gone')
  const [offered, setOffered] = useState(new Set(of?.enabled_tools.length ? of.enabled_tools : tools.map((x) => x.name)))
  const [trusted, setTrusted] = useState(new Set(of?.trusted_tools))
  const program = () => ({ command: lines(f.command), hosts: lines(f.hosts), env_vars: f.env.split(',').map((x) => x.trim()).filter(Boolean), files: Object.fromEntries(files.filter((x) => x.name.trim()).map((x) => [x.name.trim(), x.text])) })
  const headers = () => Object.fromEntries(heads.map((h) => [h.name.trim(), h.value]))
  const create = useAct(() => (of ? body(agent.PATCH('/api/v1/mcp/servers/{mcp_server_id}', { params: { path: { mcp_server_id: of.id } }, body: {
    name: f.name, read_only: is.read_only, enabled: is.enabled, shared: role.admin && is.shared !== of.shared ? is.shared : undefined,
    ...(tools.length > 0 ? { enabled_tools: offered.size === tools.length ? [] : [...offered], trusted_tools: [...trusted] } : {}),
    ...(how === 'url' ? { url: f.url, headers: headers(), bearer_token: noToken ? '' : f.token || undefined } : program()),
  } })) : body(agent.POST('/api/v1/mcp/servers', { body: {
    name: f.name, read_only: is.read_only, ...(how === 'url' ? { url: f.url, headers: headers(), bearer_token: f.token || undefined } : program()),
  } }))), ['mcp'], (x) => { onDone(x); onClose() }, { shown: true })
  const flip = (all: Set<string>, x: string) => { const next = new Set(all); if (!next.delete(x)) next.add(x); return next }
  const field = (k: keyof typeof f) => ({ value: f[k], onChange: (e: { target: { value: string } }) => setF({ ...f, [k]: e.target.value }) })
  const head = (i: number, change: Partial<(typeof heads)[number]>) => setHeads(heads.map((x, j) => (i === j ? { ...x, ...change } : x)))
  const file = (i: number, change: Partial<(typeof files)[number]>) => setFiles(files.map((x, j) => (i === j ? { ...x, ...change } : x)))
  return (
    <Dialog title={of ? o.editServer(of.name) : o.newServer} onClose={onClose} wide={how === 'command' || tools.length > 0}>
      <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <Field label={t.scans.name} hint={o.serverHint}>{(p) => <input {...p} autoFocus className="field" required maxLength={20} {...field('name')} />}</Field>
        {!of && <fieldset className="mb-4 flex flex-wrap gap-x-4 text-sm"><legend className="sr-only">{o.newServer}</legend>
          {(['url', 'command'] as const).map((x) => <label key={x} className="flex min-h-8 items-center gap-1.5"><input type="radio" name="how" checked={how === x} onChange={() => setHow(x)} />{o.how[x]}</label>)}
        </fieldset>}
        {how === 'url' ? (
          <>
            <Field label={o.url}>{(p) => <input {...p} className="field" type="url" required {...field('url')} />}</Field>
            <Field label={o.token} hint={of?.masked_token ? o.tokenStays(of.masked_token) : o.tokenHint}>{(p) => <input {...p} className="field" autoComplete="off" disabled={noToken} {...field('token')} />}</Field>
            {of?.masked_token && <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" checked={noToken} onChange={(e) => setNoToken(e.target.checked)} />{o.noToken}</label>}
            <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{o.headers}</legend><p className="mb-2 text-xs text-muted">{o.headersHint}</p>
              {heads.map((h, i) => (
                <div key={i} className="mb-2 grid gap-2 sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto]">
                  <input className="field font-mono" aria-label={`${o.headerName} ${i + 1}`} placeholder="X-Tenant" autoFocus={!h.name} required maxLength={200} spellCheck={false} value={h.name} onChange={(e) => head(i, { name: e.target.value })} />
                  <input className="field font-mono" aria-label={`${o.headerValue} ${i + 1}`} placeholder="{{$NAME}}" maxLength={8192} spellCheck={false} value={h.value} onChange={(e) => head(i, { value: e.target.value })} />
                  <Button aria-label={o.dropHeader(i + 1)} onClick={() => setHeads(heads.filter((_, j) => j !== i))}>✕</Button>
                </div>
              ))}
              <Button onClick={() => setHeads([...heads, { name: '', value: '' }])}>{o.addHeader}</Button>
            </fieldset>
          </>
        ) : (
          <>
            <Field label={o.command} hint={o.commandHint}>{(p) => <textarea {...p} className="field font-mono" rows={3} required spellCheck={false} {...field('command')} />}</Field>
            <div className="grid gap-x-3 sm:grid-cols-2">
              <Field label={o.hosts} hint={o.hostsHint}>{(p) => <textarea {...p} className="field" rows={2} spellCheck={false} {...field('hosts')} />}</Field>
              <Field label={o.env} hint={o.envHint}>{(p) => <input {...p} className="field" spellCheck={false} {...field('env')} />}</Field>
            </div>
            <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{o.files}</legend><p className="mb-2 text-xs text-muted">{o.filesHint}</p>
              {files.map((x, i) => (
                <div key={i} className="mb-3 rounded-sm border border-line p-3">
                  <Field label={o.fileName}>{(p) => <input {...p} autoFocus className="field font-mono" required maxLength={200} spellCheck={false} value={x.name} onChange={(e) => file(i, { name: e.target.value })} />}</Field>
                  <Field label={o.fileText}>{(p) => <textarea {...p} className="field font-mono" rows={6} spellCheck={false} value={x.text} onChange={(e) => file(i, { text: e.target.value })} />}</Field>
                  <Button onClick={() => setFiles(files.filter((_, j) => j !== i))}>{o.dropFile(i + 1)}</Button>
                </div>
              ))}
              <Button onClick={() => setFiles([...files, { name: '', text: '' }])}>{o.addFile}</Button>
            </fieldset>
          </>
        )}
        {tools.length > 0 && (
          <fieldset className="mb-4"><legend className="mb-1 text-sm font-medium">{o.toolsOf}</legend>
            <Table label={o.toolsOf} head={[o.tool, o.offered, o.trusted]}>
              {tools.map((x) => (
                <tr key={x.name}><td><code className="text-xs"><Shown text={x.name} max={100} /></code></td>
                  <td><input type="checkbox" aria-label={`${o.offered}: ${x.name.slice(0, 80)}`} checked={offered.has(x.name)} onChange={() => setOffered(flip(offered, x.name))} /></td>
                  <td><input type="checkbox" aria-label={`${o.trusted}: ${x.name.slice(0, 80)}`} checked={trusted.has(x.name)} onChange={() => setTrusted(flip(trusted, x.name))} /></td></tr>
              ))}
            </Table>
          </fieldset>
        )}
        <label className="mb-2 flex items-center gap-2 text-sm"><input type="checkbox" checked={is.read_only} onChange={(e) => setIs({ ...is, read_only: e.target.checked })} />{o.readOnly}</label>
        {of && <label className="mb-2 flex items-center gap-2 text-sm"><input type="checkbox" checked={is.enabled} onChange={(e) => setIs({ ...is, enabled: e.target.checked })} />{o.enabled}</label>}
        {of && role.admin && <label className="mb-2 flex items-center gap-2 text-sm"><input type="checkbox" checked={is.shared} onChange={(e) => setIs({ ...is, shared: e.target.checked })} />{o.share}</label>}
        {create.error && <Problem error={create.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={create.isPending || (tools.length > 0 && offered.size === 0)}>{create.isPending ? o.connecting : of ? t.save : o.connect}</Button></div>
      </form>
    </Dialog>
  )
}
