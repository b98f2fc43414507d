import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Dialog, Empty, Field, Loading, Problem, Table } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.prompts
type Prompt = Agent['Prompt']

/** Instructions with variables, for tasks and schedules. */
export function Prompts() {
  const role = useRole()
  const [open, setOpen] = useState<Prompt | 'new'>()
  const [filling, setFilling] = useState<Prompt>()
  const [gone, setGone] = useState<Prompt>()
  const found = useQuery({ queryKey: ['prompts', team.id], queryFn: () => body(agent.GET('/api/v1/prompts')) })
  const remove = useAct(() => agent.DELETE('/api/v1/prompts/{prompt_id}', { params: { path: { prompt_id: gone!.id } } }), ['prompts'], () => setGone(undefined), { shown: true })
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <Card title={o.title} flush actions={role.writes && <Button kind="primary" onClick={() => setOpen('new')}>{o.new}</Button>}>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.title} /> : found.data.prompts.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
          <Table label={o.title} head={[t.scans.name, o.text, o.variables, t.custom.uses, '']}>
            {found.data.prompts.map((x) => (
              <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /> {x.type !== 'user' && <Chip>{t.custom.kind[x.type]}</Chip>}<span className="block text-xs text-muted"><Shown text={x.description} max={160} /></span></td>
                <td className="text-muted"><Shown text={x.text} max={160} /></td><td className="text-xs"><Shown text={x.variables.map((v) => v.name).join(', ')} max={120} /></td><td>{count(x.use_count)}</td>
                <td><span className="flex flex-wrap justify-end gap-2"><Button onClick={() => setFilling(x)}>{o.fill}</Button>{role.writes && x.is_owner && <><Button onClick={() => setOpen(x)}>{t.notify.edit}</Button><Button onClick={() => setGone(x)}>{t.delete}</Button></>}</span></td></tr>
            ))}
          </Table>
        )}
      </Card>
      {open && <Write of={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />}
      {filling && <Fill of={filling} onClose={() => setFilling(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </div>
  )
}

function Write({ of, onClose }: { of?: Prompt; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? '')
  const [about, setAbout] = useState(of?.description ?? '')
  const [text, setText] = useState(of?.text ?? '')
  const [shared, setShared] = useState(of?.shared ?? false)
  // The variables of a text are those that it names; what is known of them stays.
  const names = [...new Set([...text.matchAll(/\{\{\s*([a-z][a-z0-9_]*)\s*\}\}/g)].map((m) => m[1]!))]
  const save = useAct(() => {
    const fields = { name, description: about, text, shared, variables: names.map((v) => of?.variables.find((x) => x.name === v) ?? { name: v }) }
    return of ? body(agent.PATCH('/api/v1/prompts/{prompt_id}', { params: { path: { prompt_id: of.id } }, body: fields })) : body(agent.POST('/api/v1/prompts', { body: fields }))
  }, ['prompts'], () => { toast(t.custom.saved(name)); onClose() }, { shown: true })
  return (
    <Dialog title={of ? o.edit : o.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <div className="grid gap-x-3 sm:grid-cols-2">
          <Field label={t.scans.name}>{(p) => <input {...p} autoFocus={!of} className="field" required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
          <Field label={t.tools.about}>{(p) => <input {...p} className="field" maxLength={1000} value={about} onChange={(e) => setAbout(e.target.value)} />}</Field>
        </div>
        <Field label={o.text} hint={names.length > 0 ? o.has(names.join(', ')) : o.textHint}>{(p) => <textarea {...p} className="field" rows={8} required maxLength={50_000} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={shared} onChange={(e) => setShared(e.target.checked)} />{t.custom.share}</label>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

function Fill({ of, onClose }: { of: Prompt; onClose: () => void }) {
  const [values, set] = useState<Record<string, string>>({})
  const run = useAct(() => body(agent.POST('/api/v1/prompts/{prompt_id}/render', { params: { path: { prompt_id: of.id } }, body: { values: values as never } })), [], undefined, { shown: true })
  const text = (run.data as { text?: string; task?: string } | undefined)?.text ?? (run.data as { task?: string } | undefined)?.task
  return (
    <Dialog title={o.fillTitle(of.name)} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); run.mutate() }}>
        {of.variables.length === 0 && <p className="mb-4 text-sm text-muted">{o.noVariables}</p>}
        {of.variables.map((v) => (
          <Field key={v.name} label={v.name} hint={v.description || v.default && o.default(v.default)}>{(p) => ((v.choices ?? []).length > 0
            ? <select {...p} className="field" value={values[v.name] ?? ''} onChange={(e) => set({ ...values, [v.name]: e.target.value })}><option value="">{v.default ?? ''}</option>{v.choices!.map((c) => <option key={String(c)}>{String(c)}</option>)}</select>
            : <input {...p} className="field" required={v.required && !v.default} value={values[v.name] ?? ''} onChange={(e) => set({ ...values, [v.name]: e.target.value })} />)}</Field>
        ))}
        {run.error && <Problem error={run.error} />}
        {text && <div role="status" className="mb-4 rounded-sm border border-line bg-panel p-3 text-sm"><p className="whitespace-pre-line"><Shown text={text} max={20_000} /></p><p className="mt-2"><Copy text={text} /></p></div>}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.close}</Button><Button kind="primary" type="submit" disabled={run.isPending}>{o.fill}</Button></div>
      </form>
    </Dialog>
  )
}
