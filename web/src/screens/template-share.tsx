import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team } from '../lib/api'
import { useAct } from '../lib/act'
import { Button, Copy, Dialog, Field, Problem } from '../ui/kit'
import { t } from '../texts'

const o = t.editor
type Kind = 'unlisted' | 'organization' | 'users'

/** Makes a link to a template, for those that are named. A template of which there is a link already says so itself. */
export function Share({ id, onClose }: { id: string; onClose: () => void }) {
  const [kind, setKind] = useState<Kind>('unlisted')
  const [ttl, setTTL] = useState('')
  const [who, setWho] = useState('')
  const names = who.split(/[\s,]+/).filter(Boolean)
  const made = useAct(() => body(platform.POST('/v1/template/share', { body: {
    template_id: id, share_type: kind, ttl: ttl || undefined, emails: kind === 'users' ? names : undefined, organizations: kind === 'organization' ? names : undefined,
  } })), ['shares'], undefined, { shown: true })
  const all = useQuery({ queryKey: ['shares', team.id], queryFn: () => body(platform.GET('/v1/template/share', { params: { query: { limit: 100, fields: 'template_id,name,share_type,id' } } })) })
  const stop = useAct((template_id: string) => platform.DELETE('/v1/template/share/{template_id}', { params: { path: { template_id } } }), ['shares'])
  const link = (share: string) => `${location.origin}/v1/template/share/${share}.yaml`
  return (
    <Dialog title={o.shareTitle} onClose={onClose} wide>
      {made.data ? (
        <div className="text-sm" role="status">
          <p>{o.shareMade[made.data.result.share_type] ?? ''}</p>
          <p className="mt-2 flex flex-wrap items-center gap-2"><code className="rounded-sm bg-panel px-2 py-1 [overflow-wrap:anywhere] select-all">{link(made.data.result.template_id)}</code><Copy text={link(made.data.result.template_id)} /></p>
          <p className="mt-2 text-muted">{o.shareUse}</p>
        </div>
      ) : (
        <form onSubmit={(e) => { e.preventDefault(); made.mutate() }}>
          <Field label={o.shareWho}>{(p) => <select {...p} autoFocus className="field" value={kind} onChange={(e) => setKind(e.target.value as Kind)}>{(['unlisted', 'organization', 'users'] as const).map((k) => <option key={k} value={k}>{o.shareKind[k]}</option>)}</select>}</Field>
          {kind !== 'unlisted' && <Field label={o.shareNames[kind]!} hint={o.shareNamesHint}>{(p) => <input {...p} className="field" required value={who} onChange={(e) => setWho(e.target.value)} />}</Field>}
          <Field label={o.shareEnds}>{(p) => <select {...p} className="field" value={ttl} onChange={(e) => setTTL(e.target.value)}>{Object.entries(o.shareTTL).map(([k, v]) => <option key={k} value={k}>{v}</option>)}</select>}</Field>
          {made.error && <Problem error={made.error} />}
          <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={made.isPending}>{o.share}</Button></div>
        </form>
      )}
      {(all.data?.results.length ?? 0) > 0 && (
        <section className="mt-4 border-t border-line pt-3">
          <h3 className="mb-1 text-sm font-semibold">{o.shared}</h3>
          <ul className="grid gap-1 text-sm">{all.data!.results.map((x) => (
            <li key={x.template_id} className="flex flex-wrap items-center gap-2"><span className="min-w-0 flex-1 truncate">{x.name}</span><span className="text-muted">{o.shareKind[x.share_type as Kind]}</span><Copy text={link(x.template_id!)} label={o.copyLink} /><Button disabled={stop.isPending} onClick={() => stop.mutate(x.template_id!)}>{o.unshare}</Button></li>
          ))}</ul>
        </section>
      )}
    </Dialog>
  )
}
