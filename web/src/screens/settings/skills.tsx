import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count, size } from '../../lib/format'
import { useRole } from '../../lib/me'
import { Raw, Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Dialog, Empty, Field, Loading, Problem, Table } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const o = t.skills
type Skill = Agent['SkillSummary']

/** Instructions that tasks load when they need them. */
export function Skills() {
  const role = useRole()
  const [open, setOpen] = useState<Skill>()
  const [adding, setAdding] = useState<'write' | 'url'>()
  const [gone, setGone] = useState<Skill>()
  const found = useQuery({ queryKey: ['skills', team.id], queryFn: () => body(agent.GET('/api/v1/skills')) })
  const toggle = useAct((x: Skill) => body(agent.PATCH('/api/v1/skills/{skill_id}', { params: { path: { skill_id: x.id } }, body: { enabled: !x.enabled } })), ['skills'])
  const remove = useAct(() => agent.DELETE('/api/v1/skills/{skill_id}', { params: { path: { skill_id: gone!.id } } }), ['skills'], () => setGone(undefined), { shown: true })
  return (
    <div className="grid max-w-5xl gap-4 *:min-w-0">
      <Card title={o.title} flush actions={role.writes && <span className="flex gap-2"><Button onClick={() => setAdding('url')}>{o.import}</Button><Button kind="primary" onClick={() => setAdding('write')}>{o.new}</Button></span>}>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.title} /> : found.data.skills.length === 0 ? <Empty title={o.none}>{o.noneText}</Empty> : (
          <Table label={o.title} head={[t.scans.name, t.tools.about, t.custom.uses, t.tools.on, '']}>
            {found.data.skills.map((x) => (
              <tr key={x.id}><td><Shown text={x.name} max={80} className="font-medium" /> <Chip>{t.custom.kind[x.type]}</Chip></td><td className="text-muted"><Shown text={x.description} max={240} /></td><td>{count(x.use_count)}</td>
                <td><input type="checkbox" className="size-4" aria-label={t.tools.onOf(x.name)} disabled={!role.writes || toggle.isPending || (!x.is_owner && x.type !== 'shipped')} checked={x.enabled} onChange={() => toggle.mutate(x)} /></td>
                <td><span className="flex justify-end gap-2"><Button onClick={() => setOpen(x)}>{o.read}</Button>{role.writes && x.is_owner && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</span></td></tr>
            ))}
          </Table>
        )}
      </Card>
      {open && <Read of={open} onClose={() => setOpen(undefined)} />}
      {adding && <Add how={adding} onClose={() => setAdding(undefined)} />}
      {gone && <Confirm title={o.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{o.deleteText(gone.name)}</Confirm>}
    </div>
  )
}

function Read({ of, onClose }: { of: Skill; onClose: () => void }) {
  const found = useQuery({ queryKey: ['skill', team.id, of.id], queryFn: () => body(agent.GET('/api/v1/skills/{skill_id}', { params: { path: { skill_id: of.id } } })) })
  return (
    <Dialog title={of.name.slice(0, 100)} onClose={onClose} wide>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={o.title} /> : (
        <div className="grid gap-3 text-sm">
          <p className="text-muted"><Shown text={found.data.description} max={1000} /></p>
          <Raw label={o.instructions} text={found.data.instructions} />
          {found.data.files.length > 0 && <ul aria-label={o.files}>{found.data.files.map((f) => <li key={f.path}><code><Shown text={f.path} max={200} /></code> <span className="text-muted">{size(f.size)}</span></li>)}</ul>}
        </div>
      )}
    </Dialog>
  )
}

function Add({ how, onClose }: { how: 'write' | 'url'; onClose: () => void }) {
  const [name, setName] = useState('')
  const [about, setAbout] = useState('')
  const [text, setText] = useState('')
  const [shared, setShared] = useState(false)
  const save = useAct(async () => (how === 'url' ? body(agent.POST('/api/v1/skills/import-url', { body: { url: name, shared } })) : body(agent.POST('/api/v1/skills', { body: { name, description: about, instructions: text, shared } }))), ['skills'], () => { toast(o.added); onClose() }, { shown: true })
  return (
    <Dialog title={how === 'url' ? o.import : o.new} onClose={onClose} wide={how === 'write'}>
      <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
        <Field label={how === 'url' ? o.url : t.scans.name} hint={how === 'url' ? o.urlHint : o.nameHint}>{(p) => <input {...p} autoFocus className="field" required maxLength={how === 'url' ? 2000 : 64} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        {how === 'write' && <><Field label={t.tools.about} hint={t.tools.aboutHint}>{(p) => <input {...p} className="field" required maxLength={1024} value={about} onChange={(e) => setAbout(e.target.value)} />}</Field>
          <Field label={o.instructions} hint={o.instructionsHint}>{(p) => <textarea {...p} className="field" rows={10} required maxLength={100_000} value={text} onChange={(e) => setText(e.target.value)} />}</Field></>}
        <label className="mb-4 flex items-center gap-2 text-sm"><input type="checkbox" className="size-4" checked={shared} onChange={(e) => setShared(e.target.checked)} />{t.custom.share}</label>
        {save.error && <Problem error={save.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={save.isPending}>{how === 'url' ? o.import : t.save}</Button></div>
      </form>
    </Dialog>
  )
}
