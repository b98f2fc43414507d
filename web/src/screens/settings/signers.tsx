import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Confirm, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const s = t.signers

/** The keys whose signed templates may run programs for the team. */
export function Signers() {
  const role = useRole()
  const [name, setName] = useState('')
  const [certificate, setCertificate] = useState('')
  const [gone, setGone] = useState<{ id: string; name: string }>()
  const found = useQuery({ queryKey: ['template-keys', team.id], queryFn: () => body(platform.GET('/v1/template-keys')) })
  const create = useAct(() => body(platform.POST('/v1/template-keys', { body: { name: name.trim() || undefined, certificate } })), ['template-keys'], (x) => { setName(''); setCertificate(''); toast(s.trusted(x.key.name)) }, { shown: true })
  const remove = useAct(() => platform.DELETE('/v1/template-keys/{key_id}', { params: { path: { key_id: gone!.id } } }), ['template-keys'], () => setGone(undefined), { shown: true })
  const d = found.data
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      {d && !d.allowed && <p className="rounded-sm bg-medium-soft px-3 py-2 text-sm text-medium">{s.off}</p>}
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !d ? <Loading what={t.settings.page.signers!} /> : d.results.length === 0 ? <Empty title={s.none}>{s.noneText}</Empty> : (
          <Table label={t.settings.page.signers!} head={[t.scans.name, s.owner, s.fragment, s.added, '']}>
            {d.results.map((x) => <tr key={x.id}><td><Shown text={x.name} max={100} className="font-medium" /></td><td><Shown text={x.owner} max={100} /></td><td><code className="text-xs break-all"><Shown text={x.fragment} max={80} /></code></td><td className="text-muted"><Time at={x.created_at} /></td><td className="text-right">{role.admin && <Button onClick={() => setGone(x)}>{t.delete}</Button>}</td></tr>)}
          </Table>
        )}
      </Card>
      {role.admin && (
        <Card title={s.new}>
          <form onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
            <Field label={s.certificate} hint={s.certificateHint}>{(p) => <textarea {...p} className="field font-mono" rows={6} required maxLength={16_384} spellCheck={false} value={certificate} onChange={(e) => setCertificate(e.target.value)} />}</Field>
            <Field label={t.scans.name} hint={s.nameHint}>{(p) => <input {...p} className="field max-w-80" maxLength={128} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
            {create.error && <Problem error={create.error} />}
            <Button type="submit" kind="primary" disabled={create.isPending}>{s.trust}</Button>
          </form>
        </Card>
      )}
      {gone && <Confirm title={s.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{s.deleteText(gone.name)}</Confirm>}
    </div>
  )
}
