import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Button, Card, Copy, Field, Loading, Problem } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const r = t.results

/** What a team says about its findings as a whole: when one is fixed, who may see secrets in evidence, how reports look. */
export function Results() {
  const style = useQuery({ queryKey: ['report-style', team.id], queryFn: () => body(platform.GET('/v1/team/report')) })
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      <Decisions />
      <Card title={r.style}>{style.error ? <Problem error={style.error} /> : !style.data ? <Loading what={r.style} /> : <Style key={JSON.stringify(style.data)} of={style.data} />}</Card>
    </div>
  )
}

function Decisions() {
  const role = useRole()
  const fixed = useQuery({ queryKey: ['finding-settings', team.id], queryFn: () => body(platform.GET('/v1/team/findings')) })
  const policy = useQuery({ queryKey: ['evidence-policy', team.id], queryFn: () => body(platform.GET('/v1/team/evidence')) })
  const key = useQuery({ queryKey: ['evidence-key'], queryFn: () => body(platform.GET('/v1/evidence/key')) })
  const fix = useAct((on: boolean) => body(platform.PUT('/v1/team/findings', { body: { fixed_by_scans: on } })), ['finding-settings'], () => toast(r.saved))
  const show = useAct((unmasked: Platform['EvidencePolicy']['unmasked']) => body(platform.PUT('/v1/team/evidence', { body: { unmasked } })), ['evidence-policy'], () => toast(r.saved))
  const error = fixed.error ?? policy.error
  return (
    <Card title={r.findings}>
      {error ? <Problem error={error} /> : !fixed.data || !policy.data ? <Loading what={r.findings} /> : (
        <>
          <label className="mb-4 flex items-start gap-2 text-sm"><input type="checkbox" className="mt-1" disabled={!role.admin || fix.isPending} checked={fixed.data.fixed_by_scans ?? false} onChange={(e) => fix.mutate(e.target.checked)} /><span>{r.fixed}<span className="block text-xs text-muted">{r.fixedHint}</span></span></label>
          <Field label={r.unmasked} hint={r.unmaskedHint}>{(p) => <select {...p} className="field max-w-56" disabled={!role.admin || show.isPending} value={policy.data.unmasked} onChange={(e) => show.mutate(e.target.value as never)}>{(['members', 'admins', 'nobody'] as const).map((x) => <option key={x} value={x}>{r.who[x]}</option>)}</select>}</Field>
          {key.data && <p className="text-sm"><span className="block font-medium">{r.key}</span><code className="text-xs break-all">{key.data.key}</code> <Copy text={key.data.key} /><span className="block text-xs text-muted">{r.keyHint}</span></p>}
          {!role.admin && <p className="mt-3 text-sm text-muted">{r.admins}</p>}
        </>
      )}
    </Card>
  )
}

type Of = Platform['Style']
const words = ['title', 'company', 'client', 'author', 'contact'] as const
const sections = ['summary', 'scope', 'gaps', 'findings', 'proof', 'status', 'appendix'] as const
const most = 512 << 10

function Style({ of }: { of: Of }) {
  const role = useRole()
  const [x, setX] = useState<Of>(of)
  const [big, setBig] = useState(false)
  const chosen = x.sections ?? []
  const save = useAct(() => body(platform.PUT('/v1/team/report', { body: { ...x, sections: chosen.length > 0 ? chosen : undefined } })), ['report-style'], () => toast(r.saved), { shown: true })
  const logo = async (file: File | undefined) => {
    setBig((file?.size ?? 0) > most)
    if (!file || file.size > most) return
    const bytes = new Uint8Array(await file.arrayBuffer())
    let text = ''
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192))
    setX({ ...x, logo: btoa(text) })
  }
  return (
    <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
      <fieldset disabled={!role.admin} className="min-w-0">
        <div className="grid gap-x-3 sm:grid-cols-2">
          {words.map((k) => <Field key={k} label={r.words[k]!}>{(p) => <input {...p} className="field" maxLength={200} value={x[k] ?? ''} onChange={(e) => setX({ ...x, [k]: e.target.value || undefined })} />}</Field>)}
          <Field label={r.audience}>{(p) => <select {...p} className="field" value={x.audience ?? 'technical'} onChange={(e) => setX({ ...x, audience: e.target.value as Of['audience'] })}>{(['technical', 'executive'] as const).map((k) => <option key={k} value={k}>{r.audiences[k]}</option>)}</select>}</Field>
        </div>
        <Field label={r.notice} hint={r.noticeHint}>{(p) => <textarea {...p} className="field" rows={2} maxLength={1000} value={x.notice ?? ''} onChange={(e) => setX({ ...x, notice: e.target.value || undefined })} />}</Field>
        <fieldset className="mb-4 flex flex-wrap gap-x-4"><legend className="mb-1 text-sm font-medium">{r.sections}</legend>
          {sections.map((k) => <label key={k} className="flex min-h-7 items-center gap-1.5 text-sm"><input type="checkbox" checked={chosen.includes(k)} onChange={(e) => setX({ ...x, sections: e.target.checked ? sections.filter((s) => s === k || chosen.includes(s)) : chosen.filter((s) => s !== k) })} />{r.section[k]}</label>)}
        </fieldset>
        <Field label={r.logo} hint={r.logoHint} error={big ? r.logoBig : undefined}>{(p) => <input {...p} type="file" accept="image/png,image/jpeg" className="text-sm" onChange={(e) => void logo(e.target.files?.[0])} />}</Field>
        {x.logo && <p className="mb-4 text-sm">{r.hasLogo} <button type="button" className="link min-h-6" onClick={() => setX({ ...x, logo: undefined })}>{r.dropLogo}</button></p>}
        {save.error && <Problem error={save.error} />}
        {role.admin && <Button type="submit" kind="primary" disabled={save.isPending}>{t.save}</Button>}
      </fieldset>
    </form>
  )
}
